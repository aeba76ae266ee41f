/*
 * Measures which CUDA calls wait for a busy GPU on this machine, and which wait while another
 * thread loads code, or pins memory. Each loading mode runs in a child.
 */
#ifndef GV_PROBE_PROBE_H
#define GV_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define GV_PROBE_TEXT_BYTES 128

/* What goes on while a call is measured: a kernel runs; or another thread is inside a call, with
 * such a kernel (LOAD) or with an idle GPU. */
enum gv_probe_beside {
#define GV_PROBE_BESIDE(name, text, prepare, act, clean) GV_PROBE_BESIDE_##name,
#include "report/probe/calls.def"
    GV_PROBE_BESIDES
};

enum gv_probe_mode {
    GV_PROBE_LAZY,
    GV_PROBE_EAGER,
    GV_PROBE_MODES,
};

/* The status of a row; a positive one is CUDA's error. */
enum gv_probe_status {
    GV_PROBE_MEASURED = 0,
    GV_PROBE_NOT_REACHED = -1, /* out of time, or nothing could be measured */
    GV_PROBE_NOT_HERE = -2,    /* this machine's driver or runtime lacks the call */
    GV_PROBE_HUNG = -3,
    GV_PROBE_DIED = -4,
    GV_PROBE_UNCLEAR = -5, /* the other thread was not inside its call long enough */
    GV_PROBE_LAST_STATUS = GV_PROBE_UNCLEAR,
};

/* Words for the statuses that are not CUDA's errors, by the status without its sign. */
struct gv_probe_status_word {
    const char *key;  /* in JSON */
    const char *text; /* for people; of a row that was not measured */
};
extern const struct gv_probe_status_word gv_probe_status_words[1 - GV_PROBE_LAST_STATUS];

/* A row of report/probe/calls.def, without its steps. */
struct gv_probe_subject {
    enum gv_probe_beside beside;
    const char *cause;
    const char *call;
    const char *what;
};

#define GV_PROBE_CALL(beside, cause, call, what, prepare, act, clean) +1
enum {
    GV_PROBE_CALLS = 0
#include "report/probe/calls.def"
};

extern const struct gv_probe_subject gv_probe_subjects[GV_PROBE_CALLS];
extern const char *const gv_probe_mode_names[GV_PROBE_MODES];
extern const char *const gv_probe_beside_names[GV_PROBE_BESIDES];

struct gv_probe_row {
    int32_t status;
    int32_t rounds; /* beside it */
    int32_t waited; /* rounds in which the call waited */
    int64_t idle_ns;
    int64_t busy_ns;
    int64_t kernel_ns; /* how long the GPU was busy, or the other thread inside its call */
};

struct gv_probe_machine {
    char gpu[GV_PROBE_TEXT_BYTES];
    char driver[GV_PROBE_TEXT_BYTES]; /* "580.159.04", or empty: not known */
    int32_t cuda_version;             /* 13000, as from the driver */
    int32_t runtime_version;          /* 0: no libcudart */
};

/* Time limits, after which something counts as hung. */
struct gv_probe_limits {
    int64_t start_ms; /* for the driver; a driver that was not loaded yet is slow */
    int64_t call_ms;  /* for all rounds of one row */
    int64_t whole_ms; /* for everything; the rest is not measured */
};

struct gv_probe_request {
    int gpu;
    int64_t kernel_ns;
    struct gv_probe_limits limits;
};

struct gv_probe_result {
    struct gv_probe_machine machine;
    time_t when;
    int64_t kernel_ns;
    int64_t took_ns;
    struct gv_probe_row rows[GV_PROBE_MODES][GV_PROBE_CALLS];
};

/*
 * Measures. -ENODEV: there was nothing to measure, and a message gave the reason. It forks, so the
 * caller must have no other threads. No child outlives it, whatever the driver does.
 */
int gv_probe_measure(const struct gv_probe_request *request, struct gv_probe_result *result);

/* Whether the call waited in most rounds. */
bool gv_probe_waits(const struct gv_probe_row *row);

/* Print the whole result as a table or JSON. 0; -EIO: `out` has an error. */
int gv_probe_print(const struct gv_probe_result *result, bool markdown, FILE *out);
int gv_probe_print_json(const struct gv_probe_result *result, FILE *out);

/* report/probe/store.c: where results are. $XDG_DATA_HOME/gpuverify, or ~/.local/share/gpuverify.
 * -ENOENT: neither is known. */
int gv_probe_store_folder(char *out, size_t size);
/* The file for a machine's result in that folder. Makes the folder. */
int gv_probe_store_path(const struct gv_probe_machine *machine, char *out, size_t size);
/* Writes the whole file, or leaves the old one. */
int gv_probe_store_write(const struct gv_probe_result *result, const char *path);

/* What a child says; small enough for one write to a pipe. */
struct gv_probe_message {
    enum {
        GV_PROBE_READY,  /* the machine is known; measuring starts */
        GV_PROBE_ROW,    /* row `call` is done */
        GV_PROBE_FAILED, /* no results: `error`, with `text` */
    } kind;
    int32_t call;
    int32_t error;
    char text[GV_PROBE_TEXT_BYTES];
    struct gv_probe_row row;
    struct gv_probe_machine machine;
};

/* The child: measures the rows from `first` on, writes to the descriptor, and ends the process. */
void gv_probe_run(const struct gv_probe_request *request, enum gv_probe_mode mode, int first,
                  int out) __attribute__((noreturn));

#endif
