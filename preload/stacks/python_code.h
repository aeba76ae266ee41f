#ifndef GV_STACKS_PYTHON_CODE_H
#define GV_STACKS_PYTHON_CODE_H
#include "preload/base/thread.h"
#include "trace/mix.h"
#include <stdbool.h>
static inline bool gv_python_take(struct gv_thread *thread, struct gv_python_position *position, unsigned *count, uint64_t *low, uint64_t *high)
{ (void)thread;(void)position;(void)low;(void)high; *count=0; return true; }
static inline bool gv_python_top(struct gv_thread *thread, uint64_t *top) { (void)thread; *top=0; return true; }
static inline uint64_t gv_python_top_of(const struct gv_python_position *p) { return gv_mix(p->code, p->instruction); }
#endif
