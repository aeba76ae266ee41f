/*
 * Idle times of an open trace for the commands: rows of the view `idle`, with the names that they
 * refer to. Texts belong to the row and come from the trace: escape them for printing.
 */
#ifndef GV_ANALYSE_IDLE_LISTED_H
#define GV_ANALYSE_IDLE_LISTED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unknown values are 0, or NULL for a text. */
struct gv_idle_listed {
    int64_t id;
    int64_t process, pid;
    int64_t device; /* -1: not seen */
    int64_t thread, tid;
    int64_t start_ns, duration_ns, gap, gaps, samples, stack; /* gap 0: of several */
    int64_t previous_call, next_call;
    char *reason, *detail, *confidence;
    char *previous_name, *next_name, *next_kernel; /* of these calls */
    char *thread_name;
};

struct gv_idle_list {
    struct gv_idle_listed *rows;
    size_t count, room;
};

struct gv_idle_filter {
    const char *reasons; /* accounts and phases, " a b "; NULL: all */
    int64_t least_ns;
    int64_t id;     /* 0: all */
    int64_t pid;    /* 0: all */
    int64_t tid;    /* 0: all */
    int64_t device; /* -1: all; else also those of a device that was not seen */
    bool by_start;  /* in the order of time, or else longest first */
};

/* 0 or -errno. Free *rows in any case. */
int gv_idle_listed_read(sqlite3 *trace, const struct gv_idle_filter *filter,
                        struct gv_idle_list *rows);
void gv_idle_listed_free(struct gv_idle_list *rows);

#endif
