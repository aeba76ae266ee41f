/*
 * gpuverify top: what a running program does now, by the page that its collector keeps
 * (report/collect/live_page.h). Shared by its parts; one thread.
 */
#ifndef GV_COMMANDS_TOP_TOP_H
#define GV_COMMANDS_TOP_TOP_H

#include "report/commands/live_view.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#define GV_TOP_SECOND_NS INT64_C(1000000000)

#define GV_TOP_NAMES 256

/* What native places are called, as far as it was looked up. */
struct gv_top_names {
    int64_t until_ns;
    struct {
        char place[GV_LIVE_TEXT_BYTES], name[GV_LIVE_TEXT_BYTES]; /* "": free */
    } list[GV_TOP_NAMES];
};

struct gv_top {
    struct gv_live_view view;
    struct gv_top_names names;
    struct stat identity; /* of the trace */
    int64_t interval_ns, now_ns;
    bool ended, explains;
};

/* names.c: puts functions and lines for the addresses of native code. Not patient: for a moment. */
void gv_top_name(struct gv_top *top, bool patient);

/* draw.c: the picture, for so many rows (0: all) and columns. With colours: as stdout has them. */
void gv_top_draw(const struct gv_top *top, FILE *out, unsigned int rows, unsigned int columns);
/* One line, for a file. */
void gv_top_draw_line(const struct gv_top *top, FILE *out);

#endif
