/*
 * Reads an ELF file by addresses, with pread: a mapped file that is truncated would kill the
 * process. All files of an unwinder share a small cache of pages and one descriptor. The file may
 * hold anything, and may change: what was replaced since it was opened is not read any more.
 */
#ifndef GV_UNWIND_MAPPED_FILE_H
#define GV_UNWIND_MAPPED_FILE_H

#include "report/unwind/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

struct gv_mapped_pages;

#define GV_MAPPED_SEGMENTS 16u

/* What one stack may cost: the first deep one of Python needs a quarter. A page that is not in
 * the cache counts as many reads. */
#define GV_MAPPED_READS      50000u
#define GV_MAPPED_PAGE_READS 50u

struct gv_mapped_segment {
    uint64_t address, bytes, offset; /* only what is in the file */
    bool executable;
};

struct gv_mapped_file {
    struct gv_mapped_pages *pages;
    char *path;
    const unsigned char *image; /* of the vdso; NULL: a file */
    uint32_t number;
    uint64_t size, device, inode;
    struct timespec changed;
    uint32_t segments;
    struct gv_mapped_segment segment[GV_MAPPED_SEGMENTS];
    uint64_t table; /* address of the entries in .eh_frame_hdr, sorted by address */
    uint64_t header;
    uint32_t entries; /* 0: no table */
};

/* Whether a path means another file in another process: libraries in memory are loaded from
 * /proc/self/fd/N. In the collector that may be the trace, and closing that again would drop
 * SQLite's lock on it. */
static inline bool gv_mapped_path_is_of_process(const char *path)
{
    size_t digits = strncmp(path, "/proc/", 6) == 0 ? strspn(path + 6, "0123456789") : 0;

    /* As files of another container are reached: /proc/PID/root is the same for everybody. */
    if (digits && strncmp(path + 6 + digits, "/root/", 6) == 0)
        return false;
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/fd/", 8) == 0;
}

#define GV_BUILD_ID_NOTES 4096u /* of a segment of notes, where a build id must be */

/* The build id among the notes of a segment, of this alignment. Its length; 0: none. */
size_t gv_build_id_find(const unsigned char *notes, uint64_t bytes, uint64_t align,
                        uint8_t build_id[GV_UNWIND_BUILD_ID]);

/* NULL: no memory. */
struct gv_mapped_pages *gv_mapped_pages_open(void);
void gv_mapped_pages_close(struct gv_mapped_pages *pages);
/* To be called before each stack. */
void gv_mapped_pages_begin(struct gv_mapped_pages *pages);
/* Closes the descriptor. */
void gv_mapped_pages_rest(struct gv_mapped_pages *pages);
/* How many reads failed so far that could succeed another time. */
uint64_t gv_mapped_pages_failures(const struct gv_mapped_pages *pages);

/* Opens a file of this machine with this build id (NULL: any); a path without a slash means the
 * vdso of this process. 0, -EAGAIN: no descriptor or memory is free now, or another -errno: no such
 * file. */
int gv_mapped_file_open(struct gv_mapped_pages *pages, const char *path, const uint8_t *build_id,
                        size_t build_id_bytes, struct gv_mapped_file **file);
void gv_mapped_file_close(struct gv_mapped_file *file);

/* Reads up to `size` bytes within one segment. Returns how many. */
size_t gv_mapped_file_read(struct gv_mapped_file *file, uint64_t address, void *to, size_t size);
bool gv_mapped_file_is_code(const struct gv_mapped_file *file, uint64_t address);

#endif
