/* Where a program is, in PATH. */
#ifndef GV_COMMANDS_PROGRAM_PATH_H
#define GV_COMMANDS_PROGRAM_PATH_H

#include <limits.h>

/* Finds a program as a shell does; a name with a slash is only resolved. 0 or -errno. */
int gv_program_find(const char *name, char path[PATH_MAX]);

#endif
