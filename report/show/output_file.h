/* Writes a file completely or not at all: writes a temporary file beside it, then renames it. A
 * signal that ends the process removes the temporary file; the struct stays where it is until it is
 * closed. */
#ifndef GV_SHOW_OUTPUT_FILE_H
#define GV_SHOW_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct gv_output_file {
    FILE *out;
    char path[PATH_MAX];
    char part[PATH_MAX]; /* "": written in place, because it is no regular file, or to stdout */
    struct gv_output_file *volatile older; /* of those that a signal removes */
};

/* "-", or a name of stdout. */
bool gv_output_file_is_stdout(const char *path);
/* Whether two paths lead to the same file, which exists. */
bool gv_output_file_is_same(const char *path, const char *other);
/* The file gets the mode of the one that it replaces, or else `mode` as the umask allows. 0 or
 * -errno. */
int gv_output_file_open(struct gv_output_file *file, const char *path, mode_t mode);
/* Makes an empty file that is only dropped: name-XXXXXX in the folder for large temporary files;
 * its path is file->part. 0 or -errno. */
int gv_output_file_temporary(struct gv_output_file *file, const char *name);
/* 0, or -errno of anything since it was opened; then the old file is unchanged. */
int gv_output_file_close(struct gv_output_file *file);
/* Instead of closing it: the old file is unchanged. */
void gv_output_file_drop(struct gv_output_file *file);

#endif
