/* The notes of the summary: what else to know of a trace. */
#ifndef GV_COMMANDS_SUMMARY_NOTES_H
#define GV_COMMANDS_SUMMARY_NOTES_H

#include "report/commands/summary/subject.h"

/* Each note begins with this. */
#define GV_SUMMARY_NOTE "  !"

/* Print notes, each on a line of its own if `columns` is INT_MAX. The first are results that break
 * the context. `named`: printed commands name the trace. 0 or -errno. */
int gv_summary_print_broken(const struct gv_summary *summary, bool named);
int gv_summary_print_notes(const struct gv_summary *summary, bool named);

#endif
