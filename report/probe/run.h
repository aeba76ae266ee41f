/* The probe's child: measures one row after the other and reports each through a pipe. */
#ifndef GV_PROBE_RUN_H
#define GV_PROBE_RUN_H

#include "report/probe/probe.h"

enum gv_probe_message_kind {
    GV_PROBE_READY,  /* the machine is known; measuring starts */
    GV_PROBE_ROW,    /* row `call` is done */
    GV_PROBE_FAILED, /* no results: `error`, with `text` */
};

/* Small enough for one write to a pipe. */
struct gv_probe_message {
    int32_t kind;
    int32_t call;
    int32_t error;
    char text[GV_PROBE_TEXT_BYTES];
    struct gv_probe_row row;
    struct gv_probe_machine machine;
};

/* Measures the rows from `first` on, writes to the descriptor, and ends the process. */
void gv_probe_run(const struct gv_probe_request *request, enum gv_probe_mode mode, int first,
                  int out) __attribute__((noreturn));

#endif
