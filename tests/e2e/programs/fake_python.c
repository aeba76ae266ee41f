/*
 * Imitates the memory of a Python 3.9 with two functions of one file, `inner` called by `outer`.
 * FAKE_PYTHON selects a defect: `cycle`, the frames never end; `code`, a frame's code is something
 * else; `name`, a name is not a string; `line`, no line is known; `state`, the thread's state
 * cannot be read; `version`, it is unknown. With the prefix `later-`, the defect appears only from
 * the second work on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN const char *Py_GetVersion(void);
SHOWN void *PyGILState_GetThisThreadState(void);
SHOWN void fake_python_run(void (*work)(void));

SHOWN long PyCode_Type[64] = {[21] = 1 << 12}; /* it is ready */
SHOWN long PyUnicode_Type[64];
SHOWN long PyBytes_Type[64];
SHOWN char _PyRuntime[512];

struct text {
    void *reserved, *type;
    int64_t length, hash;
    uint32_t state;
    char padding[12];
    char characters[32];
};

struct bytes {
    void *reserved, *type;
    int64_t length, hash;
    signed char data[8];
};

union code {
    struct {
        char before_type[8];
        void *type;
        char before_line[24];
        int32_t first_line;
        char before_names[60];
        void *filename, *name, *lines;
    } is;
    char bytes[256];
};

union frame {
    struct {
        char before_previous[24];
        void *previous, *code;
        char before_instruction[64];
        int32_t instruction;
    } is;
    char bytes[256];
};

static struct text file, inner_name, outer_name;
static struct bytes lines = {.type = PyBytes_Type, .length = 2, .data = {0, 3}};
static union code inner_code, outer_code;
static union frame inner_frame, outer_frame;
static struct {
    char before_frame[24];
    void *frame;
} thread;
static void *thread_state = &thread;

static void set_text(struct text *text, const char *characters)
{
    text->type = PyUnicode_Type;
    text->length = (int64_t)strlen(characters);
    text->state = 1u << 2 | 1u << 5 | 1u << 6; /* one byte each, in one piece, ASCII */
    strcpy(text->characters, characters);
}

static void set_function(union frame *frame, union code *code, struct text *name, int32_t line)
{
    frame->is.code = code;
    code->is.type = PyCode_Type;
    code->is.first_line = line;
    code->is.filename = &file;
    code->is.name = name;
    code->is.lines = &lines;
}

static void spoil(const char *how)
{
    static const char later[] = "later-";
    static int runs;

    if (strncmp(how, later, strlen(later)) == 0)
        how = runs ? how + strlen(later) : "";
    runs++;
    if (strcmp(how, "cycle") == 0)
        outer_frame.is.previous = &inner_frame;
    else if (strcmp(how, "code") == 0)
        outer_frame.is.code = &file;
    else if (strcmp(how, "name") == 0)
        outer_code.is.name = &lines;
    else if (strcmp(how, "line") == 0)
        inner_code.is.lines = outer_code.is.lines = NULL;
    else if (strcmp(how, "state") == 0)
        thread_state = (void *)8;
}

const char *Py_GetVersion(void)
{
    const char *how = getenv("FAKE_PYTHON");

    return how && strcmp(how, "version") == 0 ? "3.8.99 (fake)" : "3.9.99 (fake)";
}

void *PyGILState_GetThisThreadState(void)
{
    return thread_state;
}

/* Runs the work "in Python". */
void fake_python_run(void (*work)(void))
{
    const char *how = getenv("FAKE_PYTHON");

    set_text(&file, "/no/such/fake.py");
    set_text(&inner_name, "inner");
    set_text(&outer_name, "outer");
    set_function(&inner_frame, &inner_code, &inner_name, 10);
    set_function(&outer_frame, &outer_code, &outer_name, 20);
    inner_frame.is.previous = &outer_frame;
    thread.frame = &inner_frame;
    spoil(how ? how : "");
    work();
    thread.frame = NULL;
}
