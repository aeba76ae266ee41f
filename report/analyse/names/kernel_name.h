/* A kernel's name as people call it. */
#ifndef GV_ANALYSE_NAMES_KERNEL_NAME_H
#define GV_ANALYSE_NAMES_KERNEL_NAME_H

#include <sqlite3.h>
#include <stddef.h>

#define GV_KERNEL_NAME_BYTES 1024
/* As much of a name is looked at. */
#define GV_KERNEL_NAME_LONG 8192
/* What is wider fills a summary. */
#define GV_KERNEL_NAME_WIDE 80u

/*
 * As it is written in C++, without the type that it returns and without its parameters:
 * _Z5saxpyifPKfPf and void saxpy(int, float, float const*, float*) both give saxpy. Cut to fit,
 * between characters. `name` may be anything, NULL too: an empty name.
 */
void gv_kernel_name_qualified(const char *name, char *out, size_t size);

/*
 * To be read only: without namespaces and the parameters of lambdas, and, while it is too wide,
 * without the innermost template arguments: elementwise_kernel<main::{lambda#2}, 4>, or
 * elementwise_kernel<...>. Kernels that are known (gv_kernel_names_learn) and would look alike keep
 * more.
 */
void gv_kernel_name_short(const char *name, char *out, size_t size);

/* The same in about `width` columns, whatever other kernels look like. */
void gv_kernel_name_within(const char *name, unsigned int width, char *out, size_t size);

/* A function of the host: as it is, unless it is too wide; then like a kernel, with its namespaces.
 */
void gv_function_name_short(const char *name, char *out, size_t size);

/* How much of a kernel's name to show, least first. */
enum gv_kernel_name_part {
    GV_KERNEL_NAME_FITTING,  /* as many of the nested template arguments as make it fit */
    GV_KERNEL_NAME_PLAIN,    /* all of them */
    GV_KERNEL_NAME_LAMBDAS,  /* and all lambdas that are in each other */
    GV_KERNEL_NAME_SCOPED,   /* and namespaces: as gv_kernel_name_qualified() */
    GV_KERNEL_NAME_COMPLETE, /* and the parameters, which tell overloaded ones apart */
};

void gv_kernel_name_of(const char *name, enum gv_kernel_name_part part, char *out, size_t size);

#define GV_KERNEL_NAMES_MOST 10000

/* Adds a trace's kernels to those that are known, up to GV_KERNEL_NAMES_MOST, so that no two of
 * them have the same short name. Without memory, or if the trace cannot be read, they stay unknown.
 * One thread; they are known as long as the process lives. */
void gv_kernel_names_learn(sqlite3 *trace);

/* Shortens short names (gv_kernel_name_short) to about `width` columns so that different ones stay
 * different. Each is the caller's, from malloc. */
void gv_kernel_names_fit(char **names, size_t count, unsigned int width);

#endif
