/*
 * Handles a CUDA call's name in our dlsym(). It runs inside every such look-up: no allocation, no
 * output, no lock except the dynamic loader's, which dlsym() takes too.
 */
#ifndef GV_BIND_DLSYM_FILTER_H
#define GV_BIND_DLSYM_FILTER_H

#include <stdbool.h>
#include <stdint.h>

extern void *(*gv_real_dlsym)(void *handle, const char *name);
extern void *(*gv_real_dlvsym)(void *handle, const char *name, const char *version);
extern void *(*gv_libcs_dlsym)(void *handle, const char *name); /* once another library has it */

/* Returned in two registers; dlsym_stubs.S knows the layout. */
struct gv_dlsym_answer {
    void *address;
    uintptr_t answered; /* 0: let the real dlsym() answer the program itself */
};

/* of_another: the look-up of a library with a dlsym() of its own, which took ours for libc's. */
struct gv_dlsym_answer gv_dlsym_filter(void *handle, const char *name, const char *version,
                                       uintptr_t caller, bool of_another);

/* (dlsym_stubs.S) Ours with libc's behind it, for such libraries. */
void *gv_dlsym_of_another(void *handle, const char *name);

/* Fills in the two pointers above, from libc's own symbols (before glibc 2.34: libdl's). */
void gv_dlsym_find_real(void);

/* (other_profilers.c) For dlsym()'s answer about a call of CUPTI: the address to return instead of
 * `found`, or `found`. NULL for our own export if no libcupti is behind it. Any thread; allocates
 * nothing. */
void *gv_other_profilers_swap(const char *name, void *found);

#endif
