/*
 * Names the native frames of a finished trace, from the mapped files, and marks those of CUDA. In
 * the caller's transaction. A frame that takes too long, or whose file is gone, keeps only its
 * offset in the file.
 */
#ifndef GV_COLLECT_STACK_NAMES_H
#define GV_COLLECT_STACK_NAMES_H

#include "report/store/database.h"

/* 0 or -errno. Leaves frames that have a name alone. */
int gv_stack_names_find(struct gv_database *database);
/* The same until about a time of gv_monotonic_ns(). */
int gv_stack_names_find_until(struct gv_database *database, uint64_t end_ns);

/* What is at a return address of a mapped file, as gv_frame_text() has it: "loop.c:26 load". 0;
 * -ENOENT: that is not known; or -errno. */
int gv_stack_names_at(const char *path, int64_t address, char *out, size_t size);

/* Size of the files that it would open: a gigabyte takes about a second. 0 or -errno. */
int gv_stack_names_bytes(struct gv_database *database, int64_t *bytes);

#endif
