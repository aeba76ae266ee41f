#include "report/show/rows_fit.h"

#include "trace/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What is cut shorter than this says too little: then a column is left away. */
#define GV_FIT_LEAST 12u
/* So many rows decide where a column is cut. */
#define GV_FIT_ROWS 1000u
/* Parts in which a width is shared between a text's start and its end. */
#define GV_FIT_PARTS 4u

bool gv_column_is_text(const struct gv_rows *rows, size_t column)
{
    return rows->columns[column].kind == GV_COLUMN_TEXT;
}

/* Takes columns away from the widest until the first `shown` fit. False: they do not. */
static bool gv_fit_shrink(const struct gv_rows *rows, size_t shown, struct gv_row_fit *fits)
{
    for (;;) {
        size_t widest = shown;
        unsigned int total = 0;
        for (size_t i = 0; i < shown; i++) {
            total += fits[i].width + (i ? GV_CELL_GAP : 0);
            if (gv_column_is_text(rows, i) && fits[i].width > GV_FIT_LEAST &&
                (widest == shown || fits[i].width > fits[widest].width))
                widest = i;
        }
        if (total <= rows->width)
            return true;
        if (widest == shown)
            return false;
        fits[widest].width--;
    }
}

static int gv_fit_compare(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;

    return (one > other) - (one < other);
}

/* Of the characters [from, to) of a text. */
static uint64_t gv_fit_hash(uint64_t hash, const char *text, size_t from, size_t to)
{
    size_t character = 0;

    for (const char *at = text; *at; at++) {
        character += at > text && ((unsigned char)*at & 0xc0) != 0x80;
        if (character >= from && character < to)
            hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    }
    return hash;
}

/* How many of a column's texts still differ when they are cut so. */
static size_t gv_fit_different(char *const *texts, size_t step, size_t rows, unsigned int width,
                               unsigned int head, uint64_t *hashes)
{
    unsigned int tail = width - GV_CELL_CUT_WIDTH - head;
    size_t different = 0;

    for (size_t i = 0; i < rows; i++) {
        const char *text = texts[i * step];
        size_t columns = gv_text_width(text);
        bool whole = columns <= width;
        uint64_t hash = UINT64_C(14695981039346656037);
        hash = gv_fit_hash(hash, text, 0, whole ? columns : head);
        hashes[i] = whole ? hash : gv_fit_hash(hash * 31, text, columns - tail, columns);
    }
    qsort(hashes, rows, sizeof(*hashes), gv_fit_compare);
    for (size_t i = 0; i < rows; i++)
        different += i == 0 || hashes[i] != hashes[i - 1];
    return different;
}

void gv_row_fit_halve(struct gv_row_fit *fit)
{
    unsigned int room = fit->width > GV_CELL_CUT_WIDTH ? fit->width - GV_CELL_CUT_WIDTH : 0;

    fit->head = room - room / 2;
}

/* Keeps of a column's texts what tells them apart: more of the start, or more of the end. */
static void gv_fit_head(char *const *texts, size_t step, size_t rows, struct gv_row_fit *fit)
{
    unsigned int room = fit->width - GV_CELL_CUT_WIDTH;
    size_t most = 0;
    uint64_t *hashes = malloc(rows * sizeof(*hashes));

    gv_row_fit_halve(fit);
    if (!hashes)
        return;
    for (unsigned int i = 0; i <= GV_FIT_PARTS; i++) {
        /* Half, then more of the start and more of the end in turn. */
        unsigned int part = i % 2 ? GV_FIT_PARTS / 2 + (i + 1) / 2 : GV_FIT_PARTS / 2 - i / 2;
        unsigned int head = room - room * (GV_FIT_PARTS - part) / GV_FIT_PARTS;
        size_t different = gv_fit_different(texts, step, rows, fit->width, head, hashes);
        if (different > most) {
            most = different;
            fit->head = head;
        }
    }
    free(hashes);
}

size_t gv_rows_fit(const struct gv_rows *rows, char *const *texts, size_t count,
                   struct gv_row_fit *fits)
{
    size_t shown = rows->count, lines = count / (rows->count ? rows->count : 1);
    unsigned int *whole = calloc(rows->count + 1, sizeof(*whole));

    if (!whole)
        return shown;
    for (size_t i = 0; i < rows->count; i++)
        whole[i] = fits[i].width;
    while (!gv_fit_shrink(rows, shown, fits) && shown > 1) {
        shown--;
        for (size_t i = 0; i < rows->count; i++)
            fits[i].width = whole[i];
    }
    for (size_t i = 0; i < shown; i++)
        if (fits[i].width < whole[i] && lines == 0)
            gv_row_fit_halve(&fits[i]);
        else if (fits[i].width < whole[i])
            gv_fit_head(texts + i, rows->count, lines < GV_FIT_ROWS ? lines : GV_FIT_ROWS,
                        &fits[i]);
    free(whole);
    return shown;
}
