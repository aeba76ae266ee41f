/*
 * The program's half of a spool: make the file, hand out segments and slots, grow.
 *
 * libc only. Making one takes some system calls; everything else is lock-free and may run on any
 * thread. Growing the file is the one slow step after that, about 0.2 ms for each
 * GV_SPOOL_GROWTH_SEGMENTS segments, by one thread while the others go on with what is free.
 */
#ifndef GV_TRACE_SPOOL_WRITER_H
#define GV_TRACE_SPOOL_WRITER_H

#include "trace/spool.h"

#include <stdbool.h>
#include <stddef.h>

#define GV_SPOOL_GROWTH_SEGMENTS 64u
/* Segments from here on are not kept in the program's memory when its threads are done with them.
 */
#define GV_SPOOL_RESIDENT_SEGMENTS 1024u

struct gv_spool_writer {
    struct gv_spool_header *header; /* the mapping; NULL: none */
    struct gv_spool_slot *slots;
    struct gv_spool_segment *segments;
    size_t mapped_bytes;
    _Atomic uint32_t fresh;    /* segments below this number have been in use */
    _Atomic uint32_t limit;    /* as far as the file can grow; less than asked for on a full disk */
    _Atomic uint32_t refusals; /* requests to go until growing is tried again */
    char path[GV_SPOOL_PATH_BYTES];
};

/*
 * Makes and maps a spool of at most `limit_mb` at `path`, which must not exist. `names` are written
 * behind the header. Of the header, magic, version, identity and geometry are filled in; the rest
 * is the caller's. One thread at a time. 0 or -errno; then there is no file and nothing mapped.
 */
int gv_spool_writer_create(struct gv_spool_writer *writer, const char *path, uint64_t limit_mb,
                           uint64_t identity, const struct gv_spool_name *names,
                           uint32_t names_count);

/* Unmaps, and unlinks if `discard`. */
void gv_spool_writer_close(struct gv_spool_writer *writer, bool discard);

/* Whose records a segment will hold. */
struct gv_spool_owner {
    uint64_t thread;
    uint64_t first_record;
    uint32_t tid;
    uint32_t sequence;
    char comm[GV_SPOOL_COMM_BYTES];
};

/*
 * Which records still find room in a spool that is nearly full. Of the last segments, one share
 * (struct gv_spool_header, reserve_segments) is refused to all but CODE, one more to all but CODE
 * and GPU, and so on: no flood of one kind takes the room of those before it.
 */
enum gv_spool_room {
    GV_ROOM_CODE, /* loads, unloads, contexts, and what names things */
    GV_ROOM_GPU,
    GV_ROOM_SYNC,
    GV_ROOM_WORK, /* launches, copies, allocations */
    GV_ROOM_REST, /* streams and events: a program may ask for them millions of times a second */
};

/* About how many segments can still be taken. */
uint32_t gv_spool_writer_left(const struct gv_spool_writer *writer);

/* Nothing would be taken now: cheaper to ask than gv_spool_writer_take(), which may then fail too.
 */
bool gv_spool_writer_is_full(struct gv_spool_writer *writer, enum gv_spool_room room);

/*
 * A free segment of this thread's, state OPEN and nothing published; NULL when there is none for
 * such a record. No room behind `*open_to` may write into it.
 */
struct gv_spool_segment *gv_spool_writer_take(struct gv_spool_writer *writer,
                                              enum gv_spool_room room, enum gv_spool_room *open_to,
                                              const struct gv_spool_owner *owner);

/* No more records will come into this segment. */
void gv_spool_writer_leave(struct gv_spool_writer *writer, struct gv_spool_segment *segment);

/* A slot for the calls in flight of a thread; NULL when all are taken. */
struct gv_spool_slot *gv_spool_writer_slot(struct gv_spool_writer *writer,
                                           const struct gv_spool_owner *owner);

#endif
