/*
 * The verdict: a headline, and findings of the classes of verdict.def, most important first. Texts
 * contain names from the trace: escape them for printing.
 */
#ifndef GV_ANALYSE_VERDICT_VERDICT_H
#define GV_ANALYSE_VERDICT_VERDICT_H

#include "report/analyse/verdict/text.h"

#include <stdio.h>

#define GV_VERDICT_NEXT_BYTES 2048
#define GV_VERDICT_MOST       16u
/* The number of findings shown. */
#define GV_VERDICT_TOLD 3u

enum gv_verdict_class {
#define GV_VERDICT(name, text, threshold, of, meaning, next) GV_VERDICT_##name,
#include "report/analyse/verdict/verdict.def"
    GV_VERDICT_CLASSES
};

struct gv_finding {
    enum gv_verdict_class class;
    double weight; /* the share of the run that it concerns */
    char evidence[GV_VERDICT_TEXT_BYTES];
    const char *next; /* what to do; FILE in it is the trace */
    size_t idle;      /* of GV_VERDICT_IDLE_LINE: its number in the facts */
};

struct gv_verdict {
    char headline[GV_VERDICT_TEXT_BYTES];
    struct gv_finding findings[GV_VERDICT_MOST];
    size_t count;
};

/* What a finding of the class IDLE_LINE would save at most. */
int64_t gv_verdict_idle_saves(const struct gv_run_facts *facts, const struct gv_finding *finding);

void gv_verdict_make(const struct gv_run_facts *facts, struct gv_verdict *verdict);

const char *gv_verdict_name(enum gv_verdict_class class);
double gv_verdict_threshold(enum gv_verdict_class class);
/* What the threshold is of. */
const char *gv_verdict_of(enum gv_verdict_class class);
const char *gv_verdict_meaning(enum gv_verdict_class class);
const char *gv_verdict_next(enum gv_verdict_class class);
/* What to do, with the trace's path. Returns `out`. */
const char *gv_verdict_next_of(const struct gv_finding *finding, const char *path,
                               char out[GV_VERDICT_NEXT_BYTES]);

/* --explain-verdict. */
void gv_verdict_explain(FILE *out, int columns);

#endif
