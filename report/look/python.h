/*
 * The CPython interpreter of another process: its threads, their frames, and who has the GIL. It
 * stops no thread: what changes while it is read does not look like Python any more, and is left
 * out. Of a thread that somebody else has stopped, frames are copied, and read when it runs again.
 *
 * One thread. The memory may hold anything: all loops and texts are bounded.
 */
#ifndef GV_LOOK_PYTHON_H
#define GV_LOOK_PYTHON_H

#include "report/look/outside.h"
#include "trace/python_layout.h"

#define GV_LOOK_PYTHON_THREADS    1024u
#define GV_LOOK_PYTHON_FRAMES     128u
#define GV_LOOK_PYTHON_TEXT_BYTES 512u
#define GV_LOOK_PYTHON_COPIES     256u /* with those that are calls from C */
#define GV_LOOK_PYTHON_HEAD_BYTES 160u /* of a frame, up to the last field that is read */

struct gv_look_python_copy {
    uintptr_t at;
    unsigned char head[GV_LOOK_PYTHON_HEAD_BYTES];
};

struct gv_look_python {
    uint32_t pid;
    uint64_t low, high; /* the object that it is in; 0: the process has none */
    struct gv_python_layout layout;
    uintptr_t runtime, code_type, text_type, bytes_type;
    struct {
        uint32_t tid;
        uintptr_t state;
    } thread[GV_LOOK_PYTHON_THREADS];
    size_t threads;
    bool knows_gil;
    uintptr_t gil_low, gil_high; /* who waits for it, waits for an address in there */
    uint32_t holder;             /* tid; 0: nobody */
    bool collects;               /* the holder collects garbage */
    uint64_t late_ns;            /* nothing is read then; 0: there is time */
    struct gv_look_python_copy copy[GV_LOOK_PYTHON_COPIES]; /* the innermost first */
    size_t copies, head_bytes;
    uint32_t copied_tid; /* whose they are; 0: nobody's */
    const struct gv_look_python_copy *read_from;
};

struct gv_look_python_frame {
    char file[GV_LOOK_PYTHON_TEXT_BYTES], function[GV_LOOK_PYTHON_TEXT_BYTES];
    int32_t line;
};

/* 0; -ENOENT: the process has none; -ENOTSUP: one of a version that is not known. */
int gv_look_python_find(uint32_t pid, const struct gv_outside_objects *objects,
                        struct gv_look_python *python);
/* Reads its threads and the GIL anew. `tids`: the process's threads. */
void gv_look_python_threads(struct gv_look_python *python, const uint32_t *tids, size_t count);
/* Copies the frames of a thread that is stopped: the innermost so many, in about 1 us each and at
 * most 0.5 ms. */
void gv_look_python_copy(struct gv_look_python *python, uint32_t tid);
/* The frames of a thread, innermost first, as they were copied, or else as they are; 0: it runs no
 * Python, or that cannot be said now. The copies are used up. */
size_t gv_look_python_frames(struct gv_look_python *python, uint32_t tid,
                             struct gv_look_python_frame frames[GV_LOOK_PYTHON_FRAMES]);

#endif
