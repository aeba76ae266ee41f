/*
 * What is true of a run beside its ledger (facts.def): whether it used the GPU at all, ran out of
 * memory, hangs. Texts contain names from the trace: escape them for printing.
 */
#ifndef GV_ANALYSE_FACTS_FACTS_H
#define GV_ANALYSE_FACTS_FACTS_H

#include "report/analyse/facts/run_facts.h"
#include "report/analyse/facts/text.h"

enum gv_fact_name {
#define GV_FACT(name, text, next) GV_FACT_##name,
#include "report/analyse/facts/facts.def"
    GV_FACT_COUNT
};

struct gv_fact {
    enum gv_fact_name name;
    int64_t process; /* 0: of several, or not known */
    const char *text, *next;
    char detail[GV_FACTS_SENTENCE_BYTES];
};

struct gv_fact_list {
    struct gv_fact facts[GV_FACT_COUNT];
    size_t count;
};

/* In the order of facts.def. */
void gv_facts_make(const struct gv_run_facts *run, struct gv_fact_list *list);

/* Writes them into a finished trace, whose totals are kept. 0 or -errno. */
int gv_facts_keep(sqlite3 *trace);
/* Provides the table run_fact of a trace that has none of its own, after gv_totals_ensure() for all
 * of it. 0 or -errno. */
int gv_facts_ensure(sqlite3 *trace);

#endif
