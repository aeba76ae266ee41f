#include "report/analyse/names/runtime_frames.h"

#include "report/analyse/names/demangle.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names may be longer; the start is enough. */
#define GV_RUNTIME_NAME_BYTES 512
#define GV_RUNTIME_STUB       "__device_stub_"

static const char *const runtime_libraries[] = {
#define GV_RUNTIME_LIBRARY(glob) glob,
#define GV_RUNTIME_FILE(glob)
#define GV_RUNTIME_FUNCTION(glob)
#define GV_RUNTIME_LINKED(glob)
#include "report/analyse/names/runtime_frames.def"
    NULL,
};

static const char *const runtime_files[] = {
#define GV_RUNTIME_LIBRARY(glob)
#define GV_RUNTIME_FILE(glob) glob,
#define GV_RUNTIME_FUNCTION(glob)
#define GV_RUNTIME_LINKED(glob)
#include "report/analyse/names/runtime_frames.def"
    NULL,
};

static const char *const runtime_functions[] = {
#define GV_RUNTIME_LIBRARY(glob)
#define GV_RUNTIME_FILE(glob)
#define GV_RUNTIME_FUNCTION(glob) glob,
#define GV_RUNTIME_LINKED(glob)
#include "report/analyse/names/runtime_frames.def"
    NULL,
};

static const char *const runtime_linked[] = {
#define GV_RUNTIME_LIBRARY(glob)
#define GV_RUNTIME_FILE(glob)
#define GV_RUNTIME_FUNCTION(glob)
#define GV_RUNTIME_LINKED(glob) glob,
#include "report/analyse/names/runtime_frames.def"
    NULL,
};

static bool runtime_matches(const char *const *globs, const char *text)
{
    for (; text && *globs; globs++)
        if (fnmatch(*globs, text, 0) == 0)
            return true;
    return false;
}

/* "cudaError cudaMalloc<float>(float**, unsigned long)" gives "cudaMalloc", and
 * "void (anonymous namespace)::fill(int)" "(anonymous namespace)::fill". */
static void runtime_plain(const char *function, char out[GV_RUNTIME_NAME_BYTES])
{
    static const char unnamed[] = "(anonymous namespace)";
    size_t used = 0, depth = 0;

    for (const char *at = function; *at && used + sizeof(unnamed) < GV_RUNTIME_NAME_BYTES; at++) {
        if (depth == 0 && strncmp(at, unnamed, sizeof(unnamed) - 1) == 0) {
            memcpy(out + used, unnamed, sizeof(unnamed) - 1);
            used += sizeof(unnamed) - 1;
            at += sizeof(unnamed) - 2;
        } else if (depth == 0 && *at == '(') {
            break;
        } else if (depth == 0 && *at == ' ') {
            used = 0; /* the return type */
        } else {
            depth += *at == '<';
            if (depth == 0)
                out[used++] = *at;
            depth -= *at == '>' && depth > 0;
        }
    }
    out[used] = '\0';
}

bool gv_runtime_frame_is(const struct gv_runtime_frame *frame)
{
    char plain[GV_RUNTIME_NAME_BYTES];

    runtime_plain(frame->function ? frame->function : "", plain);
    return runtime_matches(runtime_libraries, frame->library) ||
           runtime_matches(runtime_files, frame->file) ||
           runtime_matches(runtime_functions, plain) ||
           (!frame->file && runtime_matches(runtime_linked, plain));
}

/* The function's own name in a linked name, "_ZN6detail4fillIfEEvT_" or "_Z4fillPf". Returns its
 * length, or 0. */
static size_t runtime_linked_name(const char *linked, const char **name)
{
    size_t length = 0;

    linked += strcspn(linked, "0123456789");
    while (*linked >= '1' && *linked <= '9') {
        char *rest;
        length = strtoul(linked, &rest, 10);
        if (length > strlen(rest))
            return 0;
        *name = rest;
        linked = rest + length;
        linked += *linked == 'L'; /* the next one is in its own file */
    }
    return length;
}

/* Stubs are called __device_stub_ and the kernel's linked name, or for a template
 * SCOPE::__wrapper__device_stub_ and its plain name. */
bool gv_runtime_kernel_is(const char *outer, const char *inner)
{
    char linked[GV_RUNTIME_NAME_BYTES], room[GV_RUNTIME_NAME_BYTES];
    char plain[GV_RUNTIME_NAME_BYTES];
    const char *stub = inner ? strstr(inner, GV_RUNTIME_STUB) : NULL;

    if (!stub || !outer)
        return false;
    stub += sizeof(GV_RUNTIME_STUB) - 1;
    snprintf(linked, sizeof(linked), "%.*s", (int)strcspn(stub, "(<"), stub);
    runtime_plain(outer, plain);
    const char *scope = strrchr(plain, ':'), *name = scope ? scope + 1 : plain;
    const char *kernel = gv_demangle(linked, room, sizeof(room));
    if (kernel != linked && strchr(outer, '('))
        return strcmp(kernel, outer) == 0;
    if (kernel != linked) /* extern "C": the stub has the parameters */
        return strncmp(kernel, plain, strlen(plain)) == 0 && kernel[strlen(plain)] == '(';
    /* For names with a lambda, nvcc generates another scheme. */
    const char *own = linked;
    size_t length = strncmp(linked, "_Z", 2) ? strlen(linked) : runtime_linked_name(linked, &own);
    return length > 0 && strlen(name) == length && memcmp(own, name, length) == 0;
}

struct gv_runtime_marking {
    struct gv_database *database;
    int64_t stack;
    char inner[GV_RUNTIME_NAME_BYTES]; /* the function of the frame before, in the same stack */
};

static int runtime_mark(void *context, sqlite3_stmt *row)
{
    struct gv_runtime_marking *marking = context;
    int64_t stack = sqlite3_column_int64(row, 0), depth = sqlite3_column_int64(row, 1);
    const struct gv_runtime_frame frame = {
        .function = (const char *)sqlite3_column_text(row, 2),
        .library = (const char *)sqlite3_column_text(row, 3),
        .file = (const char *)sqlite3_column_text(row, 4),
    };
    const char *inner = stack == marking->stack ? marking->inner : "";
    bool runtime = gv_runtime_frame_is(&frame) || gv_runtime_kernel_is(frame.function, inner);

    marking->stack = stack;
    snprintf(marking->inner, sizeof(marking->inner), "%s", frame.function ? frame.function : "");
    return runtime
               ? gv_database_run(marking->database, GV_STATEMENT_FRAME_RUNTIME, "ii", stack, depth)
               : 0;
}

int gv_runtime_frames_mark(struct gv_database *database)
{
    static const char sql[] = "SELECT stack, depth, function, library, file FROM frame"
                              " WHERE kind <> 'python' ORDER BY stack, depth";
    struct gv_runtime_marking marking = {.database = database};

    return gv_database_each(database->handle, sql, NULL, 0, runtime_mark, &marking);
}
