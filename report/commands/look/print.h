/* Prints what was seen of a process: for people, or as JSON. 0 or -errno. */
#ifndef GV_COMMANDS_LOOK_PRINT_H
#define GV_COMMANDS_LOOK_PRINT_H

#include "report/look/watch.h"

#include <stdio.h>

int gv_look_print(const struct gv_look *look, FILE *out);
int gv_look_print_json(const struct gv_look *look, FILE *out);

#endif
