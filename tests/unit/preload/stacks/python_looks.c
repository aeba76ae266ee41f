/* Looks at Python's threads from a thread that Python does not know, as a library that a test in
 * Python loads: test_python_threads.py. */
#include "preload/base/log.h"
#include "preload/base/own_work.h"
#include "preload/stacks/python_threads.h"
#include "preload/stacks/stacks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SHOWN      __attribute__((visibility("default")))
#define TEXT_BYTES 65536

/* One look, or `times` of them. */
struct look {
    uint32_t pid;
    uint32_t tid; /* whose frames; 0: the holder's, if any */
    uint32_t times;
    uint32_t began; /* looks that found Python */
    struct gv_python_gil gil;
    uint64_t took_ns;        /* all of them */
    char frames[TEXT_BYTES]; /* "file:function:line", one a line, innermost first */
};

SHOWN void python_look(struct look *look);
SHOWN size_t python_look_bytes(void);

_Thread_local struct gv_own_work gv_own_work __attribute__((tls_model("initial-exec")));
static struct look *now;

void gv_log(enum gv_setting_log level, const char *format, ...)
{
    (void)level;
    (void)format;
}

/* Instead of writing them. */
uint32_t gv_stacks_write_python(struct gv_thread *thread, const struct gv_python *python,
                                const struct gv_python_frame *frames, unsigned count)
{
    struct gv_python_place place;
    size_t used = 0;

    (void)thread;
    now->frames[0] = '\0';
    gv_python_frames_bring(python, frames, count, now->times == 1);
    for (unsigned i = 0; i < count; i++) {
        uint64_t hash;

        if (!gv_python_frame_hash(python, &frames[i], &hash))
            return 0;
        if (!hash || now->times > 1)
            continue;
        if (!gv_python_place(python, &frames[i], &place))
            return 0;
        used += (size_t)snprintf(now->frames + used, sizeof now->frames - used, "%.*s:%.*s:%d\n",
                                 (int)place.file_bytes, place.file, (int)place.function_bytes,
                                 place.function, place.line);
    }
    return count;
}

static uint64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *work(void *unused)
{
    uint64_t start_ns = now_ns();

    now->frames[0] = '\0';
    now->began = 0;
    for (uint32_t i = 0; i < now->times; i++)
        if (gv_python_look_begin(now->pid, &now->gil)) {
            now->began++;
            gv_python_look_stack(NULL, now->tid ? now->tid : now->gil.holder);
            gv_python_look_end();
        }
    now->took_ns = now_ns() - start_ns;
    return unused;
}

void python_look(struct look *look)
{
    pthread_t thread;

    now = look;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_join(thread, NULL);
}

size_t python_look_bytes(void)
{
    return sizeof(struct look);
}
