/*
 * Profilers inside the program, such as torch.profiler. CUPTI serves one: if that is us, it refuses
 * them its callbacks; its records go to whoever asked last. We watch their calls without changing
 * them, so that the trace can say whose profile lacks the GPU, and why.
 */
#ifndef GV_BIND_OTHER_PROFILERS_H
#define GV_BIND_OTHER_PROFILERS_H

/* For an answer of dlsym(): the address to return instead of `found`, or `found`. NULL for our
 * own export if no libcupti is behind it. Any thread; allocates nothing. */
void *gv_other_profilers_swap(const char *name, void *found);

#endif
