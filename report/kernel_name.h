/* A kernel's name as people call it. */
#ifndef GV_REPORT_KERNEL_NAME_H
#define GV_REPORT_KERNEL_NAME_H

#include <stddef.h>

#define GV_KERNEL_NAME_BYTES 1024

/*
 * As it is written in C++, without the type that it returns and without its parameters:
 * _Z5saxpyifPKfPf and void saxpy(int, float, float const*, float*) both give saxpy. Cut to fit,
 * between characters. `name` may be anything, NULL too: an empty name.
 */
void gv_kernel_name_qualified(const char *name, char *out, size_t size);
/* The same without namespaces, lambdas and their parameters, to be read only. */
void gv_kernel_name_short(const char *name, char *out, size_t size);

#endif
