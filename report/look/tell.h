/* What was seen of a process (watch.h), in words. The texts are not escaped. */
#ifndef GV_LOOK_TELL_H
#define GV_LOOK_TELL_H

#include "report/look/watch.h"

#define GV_LOOK_SAID_BYTES 2048u

/* "waits for the GPU in cuStreamSynchronize at train.py:88 step", "is sleeping at train.py:5 nap".
 */
void gv_look_say(const struct gv_look *look, const struct gv_look_part *part, char *out,
                 size_t size);

/* The same of a thread alone: "is running Python at train.py:9 f (without a CPU in 3)". */
void gv_look_say_alone(const struct gv_look *look, const struct gv_look_part *part, char *out,
                       size_t size);

/* The thread that says most of what the process does with its GPU; NULL: nothing was seen. */
const struct gv_look_thread *gv_look_focus(const struct gv_look *look);

/* Whether it is worth a line: not one of CUDA's own, nor one that only waits for others. */
bool gv_look_matters(const struct gv_look *look, const struct gv_look_thread *focus,
                     const struct gv_look_thread *thread);

/* One sentence on what it does, and what to do; `advice` may be empty. `busy`: percent of the
 * process's GPUs, as the driver says; -1: not known. */
void gv_look_sum_up(const struct gv_look *look, int busy, char summary[GV_LOOK_SAID_BYTES],
                    char advice[GV_LOOK_SAID_BYTES]);

#endif
