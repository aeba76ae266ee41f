/* What a launcher told a process: its rank in a job, and where it runs. */
#ifndef GV_TRACE_RANK_H
#define GV_TRACE_RANK_H

#include <stdint.h>

#define GV_RANK_TEXT_BYTES 96u

/* In the spool's header, so all of it has a fixed size. */
struct gv_rank {
    int32_t rank; /* -1: unknown, here and below */
    int32_t local_rank;
    int32_t world_size;
    int32_t reserved;
    char job[GV_RANK_TEXT_BYTES]; /* "": unknown, here and below */
    char host[GV_RANK_TEXT_BYTES];
    char container[GV_RANK_TEXT_BYTES];
};

#endif
