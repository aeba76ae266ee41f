/*
 * What a session does now, for `gpuverify top` and `gpuverify metrics`: rows of a name and a
 * number, that the collector keeps in a file beside the session's,
 *
 *     <spool directory>/<session id>.live
 *
 * live.def lists the kinds of rows. The collector writes the page several times a second; who reads
 * it takes a copy that was not written meanwhile (a seqlock). It is only read and written, never
 * mapped: another process of the user may cut or fill it, so a reader bounds all that is in it.
 */
#ifndef GV_COLLECT_LIVE_PAGE_H
#define GV_COLLECT_LIVE_PAGE_H

#include <stdint.h>

#define GV_LIVE_SUFFIX     ".live"
#define GV_LIVE_ROWS       768u
#define GV_LIVE_TEXT_BYTES 201
/* Of a GPU: for how long it was busy in each of the last times of GV_LIVE_LEVEL_NS, up to at_ns. A
 * time has the place that its number leaves, divided by GV_LIVE_LEVELS. */
#define GV_LIVE_LEVELS   40
#define GV_LIVE_LEVEL_NS INT64_C(200000000)

struct gv_live_row {
    char kind[15]; /* "": no row now */
    char one[GV_LIVE_TEXT_BYTES], two[GV_LIVE_TEXT_BYTES];
    uint32_t levels[GV_LIVE_LEVELS];
    int64_t count, ns;
    int64_t before_count, before_ns; /* the same at the page's before_ns */
    int64_t at_ns;                   /* when it last changed */
};

/* Times are since the session's start. */
struct gv_live_page {
    char magic[8];
    uint64_t sequence;         /* odd while it is written */
    int64_t now_ns, before_ns; /* when it was written; two to three seconds before, or the start */
    int64_t clock_ns;          /* the same of CLOCK_MONOTONIC */
    int64_t call_ns, look_ns, gpu_ns; /* the newest of each; 0: none */
    uint32_t count;
    uint32_t ended; /* 1: nothing more will come */
    struct gv_live_row rows[GV_LIVE_ROWS];
};

/* The file; with `makes` for writing, and made if it is not there. The descriptor, or -errno. */
int gv_live_page_open(const char *directory, const char *session, int makes);
void gv_live_page_remove(const char *directory, const char *session);

/* The first page->count rows are written. 0 or -errno. */
int gv_live_page_write(int fd, struct gv_live_page *page);
/* All texts end, and numbers are at most 2^61. 0; -EAGAIN: it is not there yet, or is written all
 * the time; -EPROTO: not such a page; or -errno. */
int gv_live_page_read(int fd, struct gv_live_page *page);

/* The row of this kind and name (NULL: any); NULL: none. Look for the next one `after` one; NULL:
 * the first. */
const struct gv_live_row *gv_live_page_find(const struct gv_live_page *page, const char *kind,
                                            const char *one, const struct gv_live_row *after);

#endif
