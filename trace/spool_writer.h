/*
 * The program's half of a spool: makes the file, hands out segments and slots, grows.
 *
 * Needs only libc. Making a spool takes some system calls. Everything else is lock-free and may run
 * on any thread. Growing is the only slow step, unless the reader has prepared the segments: about
 * 0.2 ms per GV_SPOOL_GROWTH_SEGMENTS segments, on one thread, while the others use what is free.
 */
#ifndef GV_TRACE_SPOOL_WRITER_H
#define GV_TRACE_SPOOL_WRITER_H

#include "trace/spool.h"

#include <stdbool.h>
#include <stddef.h>

/* Segments from here on leave the program's memory when their threads have finished with them. */
#define GV_SPOOL_RESIDENT_SEGMENTS 1024u

struct gv_spool_writer {
    struct gv_spool_header *header; /* the mapping; NULL: none */
    struct gv_spool_slot *slots;
    struct gv_spool_segment *segments;
    unsigned char *ring;             /* of copied stacks; NULL: no room for one */
    struct gv_spool_object *objects; /* as many as have storage; NULL: no room */
    size_t mapped_bytes;
    _Atomic uint32_t fresh;    /* segments below this number have been used */
    _Atomic uint32_t refusals; /* requests until growing is tried again */
    _Atomic uint32_t *bell;    /* rung when it grew on its own: the reader is late; NULL: none */
    char path[GV_SPOOL_PATH_BYTES];
};

/*
 * Makes and maps a spool of at most `limit_mb` at `path`, which must not exist. Writes `names`
 * behind the header, and fills in magic, version, identity and geometry; the caller fills in the
 * rest. One thread at a time. 0, or -errno with no file and no mapping.
 */
int gv_spool_writer_create(struct gv_spool_writer *writer, const char *path, uint64_t limit_mb,
                           uint64_t identity, const struct gv_spool_name *names,
                           uint32_t names_count);

/* Unmaps, and unlinks if `discard`. */
void gv_spool_writer_close(struct gv_spool_writer *writer, bool discard);

/* The thread whose records a segment has. */
struct gv_spool_owner {
    uint64_t thread;
    uint64_t first_record;
    uint32_t tid;
    uint32_t sequence;
    char comm[GV_SPOOL_COMM_BYTES];
};

/*
 * Which records still fit into a nearly full spool. The last segments are divided into shares of
 * a sixteenth of all that it may have. The last share is only for CODE, the one before it
 * only for CODE and GPU, and so on. So no flood of one kind takes the room of the more important
 * ones.
 */
enum gv_spool_room {
    GV_ROOM_CODE, /* loads, unloads, contexts, names */
    GV_ROOM_GPU,
    GV_ROOM_SYNC,
    GV_ROOM_WORK, /* launches, copies, allocations */
    GV_ROOM_REST, /* streams and events: a program may make millions of these calls a second */
};

/* About how many segments are free. */
uint32_t gv_spool_writer_left(const struct gv_spool_writer *writer);

/* Whether nothing would be free: cheaper than gv_spool_writer_take(), which may then still fail. */
bool gv_spool_writer_is_full(struct gv_spool_writer *writer, enum gv_spool_room room);

/*
 * Takes a free segment for this thread, state OPEN and nothing published. NULL: none for such a
 * record. Records of a room after `*open_to` must not be written into it.
 */
struct gv_spool_segment *gv_spool_writer_take(struct gv_spool_writer *writer,
                                              enum gv_spool_room room, enum gv_spool_room *open_to,
                                              const struct gv_spool_owner *owner);

/* How much of a text is written: its length, or GV_RECORD_TEXT_LIMIT. NULL: 0. */
uint32_t gv_spool_text_bytes(const char *text);

/* Makes the TEXT record of a text's bytes from `at` on. The last one has MORE if `more`. */
void gv_spool_text_piece(union gv_record *record, const char *text, uint32_t at, uint32_t bytes,
                         bool more);

/* Closes a segment: no more records will come. */
void gv_spool_writer_leave(struct gv_spool_writer *writer, struct gv_spool_segment *segment);

/* Give storage to a word of the ring, or to GV_SPOOL_OBJECTS_GROWTH more objects: a few system
 * calls. One thread at a time. 0, -ENOSPC or another -errno. */
int gv_spool_writer_add_word(struct gv_spool_writer *writer, uint32_t word);
int gv_spool_writer_add_objects(struct gv_spool_writer *writer);

/* A slot for a thread's call in flight; NULL if all are in use. */
struct gv_spool_slot *gv_spool_writer_slot(struct gv_spool_writer *writer,
                                           const struct gv_spool_owner *owner);

#endif
