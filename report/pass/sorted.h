/*
 * Records of one size, put in the order of time: in memory as long as they are few, else in sorted
 * runs in a temporary file that are merged when they are read.
 *
 * A trace stores rows as they come: those of a thread in order, those of several threads in turns,
 * and a call that waited for ten seconds after what began meanwhile. So a run is nearly in order
 * already, hardly overlaps the next one, and at most 16 MB are in memory whatever the size.
 * One thread.
 */
#ifndef GV_PASS_SORTED_H
#define GV_PASS_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* How each record begins. What has the same time goes by its number. */
struct gv_pass_key {
    int64_t at_ns, id, end_ns;
};

struct gv_pass_sorted;

/* `bytes`: of a record, up to 32 words of 4. Close it in any case. 0 or -errno. */
int gv_pass_sorted_open(struct gv_pass_sorted **sorted, size_t bytes);
void gv_pass_sorted_close(struct gv_pass_sorted *sorted);

/* 0 or -errno. */
int gv_pass_sorted_add(struct gv_pass_sorted *sorted, const void *record);

/* Reads from the first record, maybe without some that end before a time; nothing can be added any
 * more. 0 or -errno. */
int gv_pass_sorted_begin(struct gv_pass_sorted *sorted, int64_t from_ns);

/* The record that is next, valid until the next call; NULL: the end. 0 or -errno. */
int gv_pass_sorted_next(struct gv_pass_sorted *sorted, const void **record);

#endif
