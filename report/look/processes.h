/* Several processes at a glance: those that use a GPU here, or the ranks that a launcher started.
 * One thread. */
#ifndef GV_LOOK_PROCESSES_H
#define GV_LOOK_PROCESSES_H

#include "report/look/gpus.h"
#include "report/look/tell.h"

#define GV_LOOK_PROCESSES 128u /* more are not looked at */
#define GV_LOOK_ENDING                                                                             \
    "is ending: its memory is gone, but something keeps it, such as a driver that ends its work"
/* Why one may not answer. */
#define GV_LOOK_SILENT "something keeps its memory locked, such as a driver in trouble"

struct gv_look_process {
    uint32_t pid;
    uint64_t start; /* as gv_outside_start() */
    int64_t rank;   /* as its environment says; -1: none */
    int64_t bytes;  /* of the GPUs' memory; -1: not known */
    int busy;       /* percent; -1: not known */
    char command[GV_LOOK_TEXT_BYTES];
    char said[GV_LOOK_SAID_BYTES]; /* what it does, or why that cannot be seen */
    char did[GV_LOOK_SAID_BYTES]; /* of its thread that says most: "waits for the GPU in ..."; "" */
    bool waits;                   /* for the GPU, or for other ranks */
    unsigned looks;               /* in which it was looked at; 0: it was not */
};

struct gv_look_processes {
    size_t count;
    struct gv_look_process process[GV_LOOK_PROCESSES];
};

/* Those with CUDA: all that can be seen until then, or `root` and what descends from it; and those
 * of which that cannot be read, because they do not answer. Returns how many it had no time for. */
size_t gv_look_processes_find(struct gv_look_processes *processes, uint32_t root,
                              const struct gv_look_gpus *gpus, uint64_t end_ns);
/* Looks at each, one after the other; they share the looks. Who has ended meanwhile is left out. */
void gv_look_processes_watch(struct gv_look_processes *processes, unsigned looks, int64_t step_ns,
                             uint64_t end_ns);

/* Which rank others wait for: "Rank 2 may hold up the others: it is sleeping at train.py:50. Ranks
 * 0, 1, 3: each waits for the GPU in ...". Empty: nothing to say. */
void gv_look_ranks_say(const struct gv_look_processes *processes, char out[GV_LOOK_SAID_BYTES]);

#endif
