/*
 * Has what looks like a CPython 3.12 from outside, and is none: lists of threads and frames that go
 * round, line tables that are long. Has tens of thousands of mappings, which change all the time.
 * Prints "ready", and goes on until it is killed.
 */
#include "e2e.h"

#include "trace/python_layout.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS     300u
#define MAPPINGS    60000u
#define FILES       3000u
#define TABLE_BYTES 65000u
#define PAGE        4096u
#define SHOWN       __attribute__((visibility("default")))

/* Of CPython. */
SHOWN char _PyRuntime[8192], PyCode_Type[8], PyUnicode_Type[8], PyBytes_Type[8];
SHOWN unsigned long Py_Version = 0x030c00f0;

static char interpreter[8192], states[THREADS][512], cframe[64], frames[2][128], code[512];
static char text[128], table[TABLE_BYTES + 64];

static void put(char *at, uint16_t offset, const void *pointer)
{
    char *volatile object =
        at; /* a compiler that knows it says that it is too small for others' offsets */

    if (offset != GV_PYTHON_NONE)
        memcpy(object + offset, &pointer, sizeof(pointer));
}

static void put_number(char *at, uint16_t offset, uint64_t number)
{
    put(at, offset, (const void *)(uintptr_t)number); // NOLINT(performance-no-int-to-ptr)
}

static void forge(const struct gv_python_layout *layout)
{
    put(_PyRuntime, layout->interpreters, interpreter);
    put(interpreter, layout->next_interpreter, interpreter);
    put(interpreter, layout->threads, states[0]);
    put(cframe, layout->cframe_frame, frames[0]);
    for (unsigned i = 0; i < 2; i++) {
        put(frames[i], layout->code, code);
        put(frames[i], layout->previous, frames[1 - i]);
        put_number(frames[i], layout->instruction,
                   (uint64_t)(uintptr_t)code + layout->code_bytes + UINT32_MAX / 2);
    }
    put(code, layout->type, PyCode_Type);
    put(code, layout->filename, text);
    put(code, layout->name, text);
    put(code, layout->qualname, text);
    put(code, layout->line_table, table);
    put(text, layout->type, PyUnicode_Type);
    put_number(text, layout->type + 8, 3);
    put_number(text, layout->type + 24, 1u << 5 | 1u << 6 | 1u << 2);
    memcpy(text + layout->ascii_bytes, "<a>", 3);
    put(table, layout->type, PyBytes_Type);
    put_number(table, layout->type + 8, TABLE_BYTES);
    memset(table + layout->type + 24, 0xf8, TABLE_BYTES); /* of no line */
}

static void *rest(void *state)
{
    struct gv_python_layout layout;

    gv_python_layout_find(12, 0, NULL, NULL, &layout);
    put_number(state, layout.native_id, (uint64_t)syscall(SYS_gettid));
    prctl(PR_SET_NAME, "\033[2J\377");
    for (;;)
        pause();
    return NULL;
}

static void *change(void *unused)
{
    for (;;) {
        char *pages = mmap(NULL, 16 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        usleep(200);
        munmap(pages, 16 * PAGE);
    }
    return unused;
}

static void map(void)
{
    int fd = open("/proc/self/exe", O_RDONLY);

    for (unsigned i = 0; i < FILES; i++)
        (void)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    for (unsigned i = 0; i < MAPPINGS; i++)
        (void)mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
    struct gv_python_layout layout;
    pthread_attr_t small;
    pthread_t thread;

    REQUIRE(gv_python_layout_find(12, 0, NULL, NULL, &layout));
    forge(&layout);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (unsigned i = 0; i < THREADS; i++) {
        put(states[i], layout.frame, cframe);
        put(states[i], layout.next_thread, states[(i + 1) % THREADS]);
        REQUIRE(pthread_create(&thread, &small, rest, states[i]) == 0);
    }
    put_number(states[0], layout.native_id, (uint64_t)getpid());
    map();
    REQUIRE(pthread_create(&thread, &small, change, NULL) == 0);
    usleep(100000);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
