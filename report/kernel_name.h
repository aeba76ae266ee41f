/* A kernel's name as people call it. */
#ifndef GV_REPORT_KERNEL_NAME_H
#define GV_REPORT_KERNEL_NAME_H

#include <limits.h>
#include <stddef.h>

#define GV_KERNEL_NAME_BYTES 1024
/* As much of a name is looked at. */
#define GV_KERNEL_NAME_LONG 8192

/*
 * As it is written in C++, without the type that it returns and without its parameters:
 * _Z5saxpyifPKfPf and void saxpy(int, float, float const*, float*) both give saxpy. Cut to fit,
 * between characters. `name` may be anything, NULL too: an empty name.
 */
void gv_kernel_name_qualified(const char *name, char *out, size_t size);

/*
 * To be read only: without namespaces and the parameters of lambdas, and, while it is too wide,
 * without the innermost template arguments: elementwise_kernel<main::{lambda#2}, 4>, or
 * elementwise_kernel<...>. Kernels that are known to be of one trace (report/kernel_names.h) and
 * would look alike keep more.
 */
void gv_kernel_name_short(const char *name, char *out, size_t size);

/* A function of the host: as it is, unless it is too wide; then like a kernel, with its namespaces. */
void gv_function_name_short(const char *name, char *out, size_t size);

/* As many of the nested template arguments as make the name fit; and all that there is. */
#define GV_KERNEL_NAME_FITTING UINT_MAX
#define GV_KERNEL_NAME_WHOLE   (UINT_MAX - 1)

/* The name with so much of it; each level has as much as the one before, or more. Returns the
 * level. */
unsigned int gv_kernel_name_at(const char *name, unsigned int level, char *out, size_t size);

#endif
