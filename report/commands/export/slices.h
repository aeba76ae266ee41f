/*
 * Slices of a timeline in bounded memory, and as compact text.
 *
 * As many slices as fit are kept as they are. Of a longer trace, short neighbours are merged: those
 * of one track that begin in the same stretch of time. A longer trace has longer stretches, so that
 * the text never exceeds its limit.
 *
 * The text is a sequence of numbers, in a code that needs no escaping in JSON, with one character
 * for numbers below GV_SLICES_HALF. The digits are those of gv_slices_digits, the least first, and
 * count 1, HALF, HALF * HALF, ... times their value. A digit of the upper half of them says that
 * the number continues.
 *
 * A signed number n is 2n, or -2n - 1 if it is negative.
 */
#ifndef GV_COMMANDS_EXPORT_SLICES_H
#define GV_COMMANDS_EXPORT_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is kept at most: 100 MB, and 16 MB of text. */
#define GV_SLICES_MOST       (UINT32_C(1) << 21)
#define GV_SLICES_TEXT_BYTES (UINT32_C(16) << 20)
/* Slices of a group, which a page draws as one from afar. */
#define GV_SLICES_GROUP 32u
/* The unit of times in the text. */
#define GV_SLICES_UNIT_SHIFT 4u
#define GV_SLICES_HALF       45u

/* For example one call. `link` is another id that it has, such as that of a call; 0: none. */
struct gv_slice {
    int64_t start_ns, duration_ns, id, link;
    uint32_t track, name;
    uint32_t count; /* how many were merged; id and name are those of the longest */
    float busy_ns;  /* of these together */
};

struct gv_slices {
    struct gv_slice *list;
    size_t count, room;
    unsigned int
        merged_shift; /* neighbours that begin in the same 2^shift ns are merged; 0: none are */
};

/* A text that grows. */
struct gv_slices_text {
    char *bytes;
    size_t count, room;
    int error; /* -ENOMEM: nothing more is added */
};

/* 0 or -ENOMEM. */
int gv_slices_add(struct gv_slices *slices, const struct gv_slice *slice);
/* After the last one: sorts them by track and start, and merges these like those before. */
void gv_slices_sort(struct gv_slices *slices);
/* Merges more of the sorted ones. */
void gv_slices_merge(struct gv_slices *slices);
void gv_slices_free(struct gv_slices *slices);

/* Writes the sorted slices of one track, from `first` on, as `body`, and their groups as `index`.
 * Names are numbers from 1. Returns 0 or -ENOMEM. For each group
 * the index has
 *
 *     start, from 0 or the start of the group before; duration; busy share, from 0 to HALF - 1;
 * name of the longest; bytes of the body; id and link of its first, signed, from those of the group
 * before
 *
 * and the body for each slice
 *
 *     start, from the start of the slice before; duration; name, or 0 for several: then count, busy
 *     share, name; id, signed, from the one before; 0, or 1 more than link, signed, from the one
 * before
 */
int gv_slices_write(const struct gv_slices *slices, size_t first, size_t count, bool links,
                    struct gv_slices_text *index, struct gv_slices_text *body);

extern const char gv_slices_digits[];

#endif
