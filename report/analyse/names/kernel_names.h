/*
 * The kernels of the traces that this process reads, so that two of them never have the same short
 * name.
 *
 * One thread only. Lives as long as the process.
 */
#ifndef GV_ANALYSE_NAMES_KERNEL_NAMES_H
#define GV_ANALYSE_NAMES_KERNEL_NAMES_H

#include <sqlite3.h>
#include <stddef.h>

/* Adds a trace's kernels to those that are known, up to GV_KERNEL_NAMES_MOST. Without memory, or of
 * a trace that cannot be read, they stay unknown. */
void gv_kernel_names_learn(sqlite3 *trace);

#define GV_KERNEL_NAMES_MOST 10000

/* The short name of a kernel that would otherwise look like another one; NULL: none does. `name` as
 * it is linked or written. The answer lives until more are learnt. */
const char *gv_kernel_names_find(const char *name);

/* Shortens short names (gv_kernel_name_short) to about `width` columns so that different ones stay
 * different. Each is the caller's, from malloc. */
void gv_kernel_names_fit(char **names, size_t count, unsigned int width);

#endif
