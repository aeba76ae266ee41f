/*
 * Reads a spool (trace/spool.h) that another process writes or has left behind.
 *
 * It trusts nothing in the file. The geometry is checked once against the constants, and at every
 * refresh against the file's size, so no access leaves the mapping or the file. Values that the
 * writer may still change are read once, bounded, and returned as copies.
 *
 * One thread uses a reader. An exclusive flock() on the spool keeps other readers away.
 */
#ifndef GV_TRACE_SPOOL_READER_H
#define GV_TRACE_SPOOL_READER_H

#include "trace/spool.h"
#include "trace/spool_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_spool_reader {
    int fd;
    bool peeks; /* see gv_spool_reader_peek() */
    unsigned char *base;
    size_t mapped_bytes;
    uint32_t names_count; /* checked copies from the header, which is not read again */
    uint32_t names_offset;
    uint32_t slots_count;
    uint32_t slots_offset;
    uint32_t segments_offset;
    uint32_t segment_limit;
    uint64_t ring_offset; /* 0: the file has no stacks */
    uint64_t objects_offset;
    uint32_t segments;     /* readable segments at the last refresh */
    uint32_t prepared;     /* segments that gv_spool_reader_prepare() is done with */
    uint32_t free_least;   /* how many were free at least since the last gv_spool_reader_share() */
    uint32_t segments_cut; /* segments that should exist too; a living process may have just added
                              them */
};

/* Facts of the process from the header. Texts end with NUL. */
struct gv_spool_facts {
    char session[64];
    uint64_t identity;
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t process_start_ticks;
    uint64_t attached_ns;
    bool forked;
    struct gv_clock clock;
    uint32_t arguments_bytes; /* at most sizeof(arguments) - 1; NUL after each one */
    char executable[GV_SPOOL_PATH_BYTES];
    char arguments[GV_SPOOL_ARGUMENTS_BYTES + 1];
    char directory[GV_SPOOL_PATH_BYTES];
    char program[64];
    struct gv_rank rank; /* texts end with NUL */
};

/* A struct gv_own_cost_total, as read. */
struct gv_own_cost_counts {
    uint64_t count;
    uint64_t total_ns;
    uint64_t spared;
};

/* What changes while the process runs. */
struct gv_spool_status {
    bool exiting;  /* it waits for gv_spool_reader_set_drained() */
    bool dying;    /* because of a signal to itself */
    uint32_t ends; /* how often it began to end; read before the records */
    bool exit_code_known;
    int32_t exit_code;
    int32_t exit_signal; /* if it is dying */
    int32_t driver_version;
    uint32_t environment_reads; /* another number than before: read the variables again */
    uint64_t ended_ns;
    uint64_t threads_seen;
    uint64_t lost_calls[GV_SPOOL_CLASSES];
    uint64_t lost_names;
    uint64_t lost_loads;
    uint64_t lost_threads;
    uint64_t lost_stacks;
    uint64_t stacks_not_taken; /* the ring had no room */
    uint64_t lost_python_stacks;
    uint64_t lost_host_functions;
    uint64_t lost_ranges;
    uint64_t lost_graph_nodes;
    uint32_t gpu; /* enum gv_gpu_state */
    uint32_t cupti_version;
    uint64_t gpu_dropped;
    uint64_t gpu_lost;
    uint64_t gpu_started_ns;
    uint64_t gpu_flushed_ns;
    uint64_t gpu_unloaded_ns;
    bool gpu_finished;
    bool gpu_whole_graphs;
    bool gpu_failed;
    uint32_t changes; /* struct gv_spool_control */
    struct gv_own_cost_counts own_cost[GV_OWN_COST_COUNT];
};

struct gv_spool_view {
    uint32_t index;
    uint32_t sequence;
    uint64_t thread;
    uint64_t first_record;
    uint32_t tid;
    char comm[GV_SPOOL_COMM_BYTES];
};

/* A call that had not returned when it was read. */
struct gv_spool_flight {
    uint64_t thread;
    uint64_t start_ns;
    uint64_t detail;
    uint64_t stream;
    uint32_t api;
    uint32_t tid;
    char comm[GV_SPOOL_COMM_BYTES];
};

/* Opens and checks a spool. 0; -EAGAIN: its process has not finished making it; -EBUSY: another
 * reader has it; -EUCLEAN: damaged, or cut before its first segment; -EPROTO: not a spool, or
 * contradictory; -EPERM: not the caller's own regular file; or another -errno. */
int gv_spool_reader_open(struct gv_spool_reader *reader, int directory_fd, const char *name);
/* The same beside the reader that has it, and never -EBUSY: the spool is not locked, and cannot be
 * changed. Only for facts, status, names and flights. */
int gv_spool_reader_peek(struct gv_spool_reader *reader, int directory_fd, const char *name);
void gv_spool_reader_close(struct gv_spool_reader *reader);

/* Whether the process that writes it lives; not if it has become another program by exec and /proc
 * hides it. */
bool gv_spool_reader_process_lives(const struct gv_spool_reader *reader);

/* Whether the file has no name any more, because its process joined another session's collector. */
bool gv_spool_reader_is_discarded(const struct gv_spool_reader *reader);

/* Updates the file's size. 0 or -errno; -EPROTO: it has shrunk. */
int gv_spool_reader_refresh(struct gv_spool_reader *reader);

void gv_spool_reader_facts(const struct gv_spool_reader *reader, struct gv_spool_facts *facts);
void gv_spool_reader_status(const struct gv_spool_reader *reader, struct gv_spool_status *status);

/* "=VALUE"; "": the variable is not set. */
void gv_spool_reader_variable(const struct gv_spool_reader *reader, enum gv_environment variable,
                              char value[GV_SPOOL_VARIABLE_BYTES]);

/* A full note, below GV_SPOOL_NOTES; `text` ends with NUL. False: there is none. Give it back when
 * it is safe. */
bool gv_spool_reader_note(const struct gv_spool_reader *reader, uint32_t index,
                          struct gv_spool_note *note);
void gv_spool_reader_give_note_back(const struct gv_spool_reader *reader, uint32_t index);

/* Texts about the GPU side, ended by NUL; valid if `gpu` is not GV_GPU_UNKNOWN. */
void gv_spool_reader_gpu(const struct gv_spool_reader *reader, char why[GV_SPOOL_WHY_BYTES],
                         char library[GV_SPOOL_PATH_BYTES]);

/* The name and class of a call; "?" for an unknown number. */
void gv_spool_reader_name(const struct gv_spool_reader *reader, uint32_t api, char name[65],
                          char class_name[16]);
/* The name of a class by its number; false when no call has it. */
bool gv_spool_reader_class(const struct gv_spool_reader *reader, uint32_t class_index,
                           char class_name[16]);

/* Segment `index` (below reader->segments). False: it is free. */
bool gv_spool_reader_look(const struct gv_spool_reader *reader, uint32_t index,
                          struct gv_spool_view *view);
/* The number of readable records; *closed: there will be no more. */
uint32_t gv_spool_reader_published(const struct gv_spool_reader *reader, uint32_t index,
                                   bool *closed);
/* Copies a record below the number from gv_spool_reader_published(). Takes a POLL: its writer
 * then counts in another record. */
void gv_spool_reader_record(const struct gv_spool_reader *reader, uint32_t index, uint32_t record,
                            union gv_record *out);
/*
 * Gives the writer's next segments storage, and faults their pages in, so that its threads need
 * not. A step of GV_SPOOL_GROWTH_SEGMENTS; nothing if enough are prepared or free. For the spool of
 * a living process only. After a failure, such as a full disk, the writer is on its own.
 */
void gv_spool_reader_prepare(struct gv_spool_reader *reader);
/*
 * Tells the writer how much it may have now, and takes the storage of free segments that it has
 * not needed since the last time: half of them, or all if the spools have too much.
 * The writer gives them storage again. For the spool of a living process only.
 */
void gv_spool_reader_share(struct gv_spool_reader *reader, const struct gv_spool_memory *memory);
/* Gives a closed segment back to the writer. Call it when its records are safe. */
void gv_spool_reader_give_back(struct gv_spool_reader *reader, uint32_t index);

/* Slot `index` (below reader->slots_count). False: its thread is in no call, or between two. */
bool gv_spool_reader_flight(const struct gv_spool_reader *reader, uint32_t index,
                            struct gv_spool_flight *flight);

/* The generation of the process's list of objects, and how many entries it may have. */
uint32_t gv_spool_reader_objects(const struct gv_spool_reader *reader, uint32_t *count);
/* An entry, with a path that ends with NUL. False: it is free. */
bool gv_spool_reader_object(const struct gv_spool_reader *reader, uint32_t index,
                            struct gv_spool_object *object);
/* The process may use the entry again. Once its object is gone. */
void gv_spool_reader_free_object(const struct gv_spool_reader *reader, uint32_t index);

/* Reads a copied stack. `copy` has room for GV_STACK_COPY_MOST more. False: there is none with this
 * serial number. Free it when what was made of it is safe: it is cleared, and its room is the
 * process's again. */
bool gv_spool_reader_stack(const struct gv_spool_reader *reader, uint32_t chunk, uint64_t serial,
                           struct gv_stack_copy *copy);
void gv_spool_reader_free_stack(const struct gv_spool_reader *reader, uint32_t chunk,
                                uint64_t serial);

/* Whether copies of other threads' stacks wait to be read. */
bool gv_spool_reader_has_idle_stacks(const struct gv_spool_reader *reader);

/* The counters of one part, at any time. A damaged spool has any. */
void gv_spool_reader_own_cost(const struct gv_spool_reader *reader, enum gv_own_cost what,
                              struct gv_own_cost_counts *counts);

/* Of all threads. */
struct gv_spool_slot_counts {
    uint64_t unrecorded;    /* quick questions, which left no record */
    uint64_t stacks_spared; /* calls for which no stack was taken, to stay within the budget */
};
void gv_spool_reader_slot_counts(const struct gv_spool_reader *reader,
                                 struct gv_spool_slot_counts *counts);

/* Tells the process that everything that it published before its latest end is in the trace.
 * Pass a status that was read before the records. A later end needs another call. */
void gv_spool_reader_set_drained(struct gv_spool_reader *reader,
                                 const struct gv_spool_status *status);
/* Whether the process waits for that. */
bool gv_spool_reader_is_waiting(const struct gv_spool_reader *reader);

#endif
