/* Shortens kernel names for people. */
#ifndef GV_ANALYSE_NAMES_KERNEL_NAME_H
#define GV_ANALYSE_NAMES_KERNEL_NAME_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#define GV_KERNEL_NAME_BYTES 1024
/* The part of a name that is read. */
#define GV_KERNEL_NAME_LONG 8192
/* Wider names fill a summary. */
#define GV_KERNEL_NAME_WIDE 80u

/*
 * The C++ name without return type and parameters: _Z5saxpyifPKfPf and void saxpy(int, float, float
 * const*, float*) both give saxpy. Cut to fit, between characters. `name` may be anything; NULL is
 * an empty name.
 */
void gv_kernel_name_qualified(const char *name, char *out, size_t size);

/*
 * For reading: without namespaces and parameters of lambdas, and, while it is too wide, without the
 * innermost template arguments: elementwise_kernel<main::{lambda#2}, 4>, or
 * elementwise_kernel<...>. Known kernels (gv_kernel_names_learn) that would look alike keep more.
 */
void gv_kernel_name_short(const char *name, char *out, size_t size);

/* A host function: without parameters, and shortened like a kernel if it is too wide; without
 * namespaces only if it still is. */
void gv_function_name_short(const char *name, char *out, size_t size);

/* How much of a kernel's name to keep, least first. */
enum gv_kernel_name_part {
    GV_KERNEL_NAME_FITTING,  /* as many nested template arguments as fit */
    GV_KERNEL_NAME_PLAIN,    /* all of them */
    GV_KERNEL_NAME_LAMBDAS,  /* and all nested lambdas */
    GV_KERNEL_NAME_SCOPED,   /* and namespaces: as gv_kernel_name_qualified() */
    GV_KERNEL_NAME_COMPLETE, /* and the parameters, which distinguish overloads */
};

void gv_kernel_name_of(const char *name, enum gv_kernel_name_part part, char *out, size_t size);

#define GV_KERNEL_NAMES_MOST 10000

/* Learns a trace's kernels, up to GV_KERNEL_NAMES_MOST, so that no two of them have the same
 * short name. Without memory, or if the trace cannot be read, they stay unknown. One thread;
 * they stay known while the process lives. */
void gv_kernel_names_learn(sqlite3 *trace);

/* Shortens short names (gv_kernel_name_short) to about `width` columns, and keeps different ones
 * different. The caller frees each. */
void gv_kernel_names_fit(char **names, size_t count, unsigned int width);

/* Whether it is a kernel of NCCL's, by its linked or any other form of its name: ncclDevKernel_...,
 * before NCCL 2.20 ncclKernel_... */
bool gv_kernel_is_collective(const char *name);

#endif
