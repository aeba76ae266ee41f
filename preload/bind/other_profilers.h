/*
 * Profilers inside the program, such as torch.profiler: CUPTI serves one, and where that is us it
 * refuses them its callbacks; its records it gives to who asked last. Their calls are seen, not
 * changed, so that the trace can say whose profile lacks the GPU, and why.
 */
#ifndef GV_BIND_OTHER_PROFILERS_H
#define GV_BIND_OTHER_PROFILERS_H

/* For an answer of dlsym(): what to hand out instead of `found`, or `found`. NULL for our own
 * export where no libcupti stands behind it. Any thread; allocates nothing. */
void *gv_other_profilers_swap(const char *name, void *found);

#endif
