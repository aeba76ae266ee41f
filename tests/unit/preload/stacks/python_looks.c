/* Looks at Python's threads from a thread that Python does not know: a library for
 * test_python_threads.py. */
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

#define SHOWN       __attribute__((visibility("default")))
#define TEXT_BYTES  (1 << 20)
#define STACK_BYTES (1 << 15)

/* What test_python_threads.py asks for, and what was seen. */
struct look {
    uint32_t pid;
    uint32_t tid;    /* whose frames; 0: the holder's */
    uint32_t waiter; /* looks end when this thread waits for the GIL */
    uint32_t times;
    uint32_t pause_us;
    bool names;      /* false: as if all stacks were known */
    bool collecting; /* looks end when also the garbage collector runs */
    /* seen: */
    bool found; /* what the looks were to end with */
    uint32_t began;
    uint32_t stacks; /* looks that had one */
    struct gv_python_gil gil;
    uint64_t took_ns;
    char text[TEXT_BYTES]; /* distinct stacks, each line "file:function:line", innermost first, with
                              an empty line after each stack */
};

SHOWN void python_look_start(struct look *look);
SHOWN void python_look_wait(void);
SHOWN size_t python_look_bytes(void);

_Thread_local struct gv_own_work gv_own_work __attribute__((tls_model("initial-exec")));
static struct look *now;
static pthread_t thread;

void gv_log(enum gv_setting_log level, const char *format, ...)
{
    (void)level;
    (void)format;
}

/* Instead of writing them. */
uint32_t gv_stacks_write_python(struct gv_thread *unused, const struct gv_python *python,
                                const struct gv_python_frame *frames, unsigned count)
{
    static char stack[STACK_BYTES];
    struct gv_python_place place;
    size_t used = 0;

    (void)unused;
    stack[0] = '\0';
    gv_python_frames_bring(python, frames, count, now->names);
    for (unsigned i = 0; i < count; i++) {
        uint64_t hash;

        if (!gv_python_frame_hash(python, &frames[i], &hash) ||
            (now->names && !gv_python_place(python, &frames[i], &place)))
            return 0;
        if (hash && now->names)
            used += (size_t)snprintf(stack + used, sizeof stack - used, "%.*s:%.*s:%d\n",
                                     (int)place.file_bytes, place.file, (int)place.function_bytes,
                                     place.function, place.line);
        if (frames[i].left_out && now->names)
            used +=
                (size_t)snprintf(stack + used, sizeof stack - used, "::%u\n", frames[i].left_out);
    }
    snprintf(stack + used, sizeof stack - used, "\n");
    if (now->names && !strstr(now->text, stack) &&
        strlen(now->text) + strlen(stack) < sizeof now->text)
        strcat(now->text, stack);
    return count;
}

static uint64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool waits_for_gil(void)
{
    unsigned long address = 0;
    long number = -1;
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", now->waiter);
    file = fopen(path, "re");
    if (!file)
        return false;
    if (fscanf(file, "%ld %lx", &number, &address) != 2)
        number = -1;
    fclose(file);
    return number == SYS_futex && address >= now->gil.low && address < now->gil.high;
}

static bool look_once(void)
{
    bool found = false;

    if (!gv_python_look_begin(now->pid, &now->gil))
        return false;
    now->began++;
    if (now->waiter)
        found = now->gil.holder && waits_for_gil() && (!now->collecting || now->gil.collects);
    if (found || !now->waiter)
        now->stacks += gv_python_look_stack(NULL, now->tid ? now->tid : now->gil.holder) != 0;
    gv_python_look_end();
    return found;
}

static void *work(void *unused)
{
    uint64_t start_ns = now_ns();

    for (uint32_t i = 0; i < now->times && !now->found; i++) {
        now->found = look_once();
        if (now->pause_us)
            usleep(now->pause_us);
    }
    now->took_ns = now_ns() - start_ns;
    return unused;
}

void python_look_start(struct look *look)
{
    now = look;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        now = NULL;
}

void python_look_wait(void)
{
    if (now)
        pthread_join(thread, NULL);
    now = NULL;
}

size_t python_look_bytes(void)
{
    return sizeof(struct look);
}
