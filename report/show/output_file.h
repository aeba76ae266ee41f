/* A file that is there whole or not at all: it is written beside its place, and moved there. */
#ifndef GV_SHOW_OUTPUT_FILE_H
#define GV_SHOW_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct gv_output_file {
    FILE *out;
    char path[PATH_MAX];
    char part[PATH_MAX]; /* "": it is written in its place, which is no plain file; or to stdout */
};

/* "-", or a name that the system has for it. */
bool gv_output_file_is_stdout(const char *path);
/* 0 or -errno. */
int gv_output_file_open(struct gv_output_file *file, const char *path);
/* 0 or -errno of anything since it was opened; then the file is as it was. */
int gv_output_file_close(struct gv_output_file *file);

#endif
