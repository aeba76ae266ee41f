/*
 * A file for a trace that a command writes: a finished trace of the user's is replaced, any other
 * file is left alone, also one that comes to be there meanwhile: the trace of a program that has
 * just begun, for instance.
 */
#ifndef GV_COMMANDS_OUTPUT_TRACE_H
#define GV_COMMANDS_OUTPUT_TRACE_H

#include "report/show/output_file.h"

/* The file has mode 0600; it is not the standard output. 0; or -errno after a message. */
int gv_output_trace_open(struct gv_output_file *output, const char *path);
int gv_output_trace_close(struct gv_output_file *output);

#endif
