/* Opens a file for a trace that a command writes: a finished trace of the user's is replaced, any
 * other file is left alone. */
#ifndef GV_COMMANDS_OUTPUT_TRACE_H
#define GV_COMMANDS_OUTPUT_TRACE_H

#include "report/show/output_file.h"

/* The file has mode 0600. 0; or -errno after a message. */
int gv_output_trace_open(struct gv_output_file *output, const char *path);

#endif
