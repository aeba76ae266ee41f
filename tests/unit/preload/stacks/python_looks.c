/* Reads Python's threads, from a thread that Python does not know, and the calling thread: a
 * library for test_python_threads.py. */
#include "preload/base/log.h"
#include "preload/base/own_work.h"
#include "preload/stacks/python_take.h"
#include "preload/stacks/python_threads.h"
#include "preload/stacks/stack_objects.h"
#include "preload/stacks/stacks.h"
#include "report/collect/python_lines.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
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
    bool found; /* what the looks were to end with; of the calling thread: the top is known */
    uint32_t began;
    uint32_t stacks; /* looks that had one */
    struct gv_python_gil gil;
    bool directly;         /* of the calling thread: it is not read through the Linux kernel */
    char text[TEXT_BYTES]; /* distinct stacks, each line "file:function:line", innermost first, with
                              an empty line after each stack */
};

SHOWN void python_look_start(struct look *look);
SHOWN void python_look_wait(void);
SHOWN void python_look_own(struct look *look); /* at the calling thread */
SHOWN size_t python_look_bytes(void);

_Thread_local struct gv_own_work gv_own_work __attribute__((tls_model("initial-exec")));
static struct look *now;
static pthread_t thread;

void gv_log(enum gv_setting_log level, const char *format, ...)
{
    (void)level;
    (void)format;
}

uint32_t gv_stack_objects_generation(void)
{
    return 1;
}

/* ---- what is written ---- */

#define RECORDS (1u << 16)
#define CODES   4096u

static union gv_record records[RECORDS];
static struct gv_spool_segment segment;
static struct gv_thread writer = {
    .next = records, .end = records + RECORDS, .segment = &segment, .open_to = GV_ROOM_REST};

bool gv_thread_next_segment(struct gv_thread *full, enum gv_spool_room room)
{
    (void)full;
    (void)room;
    return false;
}

bool gv_thread_write_text(struct gv_thread *to, const char *text, uint32_t bytes, bool more)
{
    (void)more;
    for (uint32_t at = 0; at < bytes; at += GV_RECORD_TEXT_BYTES) {
        uint32_t left = bytes - at;
        union gv_record record = {.head = {.kind = GV_RECORD_TEXT}};

        record.head.api = (uint16_t)(left < GV_RECORD_TEXT_BYTES ? left : GV_RECORD_TEXT_BYTES);
        memcpy(record.text.text, text + at, record.head.api);
        if (!gv_thread_write(to, GV_ROOM_CODE, &record))
            return false;
    }
    return true;
}

struct code {
    struct gv_record_python_code record;
    char text[4096];
};

/* The code object with this number, of those written. */
static const struct code *code_of(uint32_t number)
{
    static struct code codes[CODES];
    static union gv_record *read = records;
    static uint32_t number_now;
    static size_t used;

    for (; read < writer.next; read++)
        if (read->head.kind == GV_RECORD_PYTHON_CODE) {
            number_now = read->python_code.number % CODES;
            codes[number_now].record = read->python_code;
            used = 0;
        } else if (used + read->head.api <= sizeof codes[number_now].text) {
            memcpy(codes[number_now].text + used, read->text.text, read->head.api);
            used += read->head.api;
        }
    return &codes[number % CODES];
}

static void tell(const struct gv_python_position *position, unsigned count)
{
    static char stack[STACK_BYTES];
    size_t used = 0;

    stack[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        const struct code *code = code_of(position[i].code);
        const struct gv_record_python_code *record = &code->record;
        size_t names = (size_t)record->file_bytes + record->function_bytes;
        struct gv_python_table table = {.data = (const uint8_t *)code->text + names,
                                        .bytes = record->table_bytes,
                                        .minor = record->minor,
                                        .first_line = record->first_line};
        int line = gv_python_line(&table, position[i].instruction);

        if (names + record->table_bytes > sizeof code->text)
            line = -1;
        if (line || !record->is_interpreters)
            used += (size_t)snprintf(stack + used, sizeof stack - used, "%.*s:%.*s:%d\n",
                                     record->file_bytes, code->text, record->function_bytes,
                                     code->text + record->file_bytes, line);
        if (position[i].left_out)
            used +=
                (size_t)snprintf(stack + used, sizeof stack - used, "::%u\n", position[i].left_out);
    }
    snprintf(stack + used, sizeof stack - used, "\n");
    if (!strstr(now->text, stack) && strlen(now->text) + strlen(stack) < sizeof now->text)
        strcat(now->text, stack);
}

/* Instead of writing them. */
uint32_t gv_stacks_write_positions(struct gv_thread *unused,
                                   const struct gv_python_position *position, unsigned count)
{
    (void)unused;
    for (unsigned i = 0; i < count; i++)
        if (!position[i].code)
            return 0;
    if (now->names)
        tell(position, count);
    return count;
}

/* ---- looks ---- */

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
        now->stacks += gv_python_look_stack(&writer, now->tid ? now->tid : now->gil.holder) != 0;
    gv_python_look_end();
    return found;
}

static void *work(void *unused)
{
    for (uint32_t i = 0; i < now->times && !now->found; i++) {
        now->found = look_once();
        if (now->pause_us)
            usleep(now->pause_us);
    }
    return unused;
}

void python_look_own(struct look *look)
{
    struct gv_python_position position[GV_STACK_POSITIONS];
    struct gv_python python;
    uint64_t low, high, top;
    unsigned count;

    now = look;
    writer.tid = (uint32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < look->times; i++)
        if (gv_python_take(&writer, position, &count, &low, &high) && count) {
            look->stacks++;
            if (!look->names)
                continue;
            tell(position, count);
            look->found = gv_python_top(&writer, &top) && top == gv_python_top_of(position);
        }
    if (gv_python_runtime_enter(&python, writer.tid)) {
        look->directly = python.way == GV_PYTHON_DIRECTLY;
        gv_python_runtime_leave();
    }
    now = NULL;
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
