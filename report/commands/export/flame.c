#include "report/commands/export/flame.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/stack_text.h"
#include "report/store/time_sum.h"
#include "report/commands_export_flame.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

const struct gv_weighed gv_weighed[GV_WEIGHED_COUNT] = {
#define GV_WEIGHED(name, title, leaf) {title, leaf, sql_##name, NULL, NULL},
#include "report/commands/export/weighed.def"
};

/* `at` is of the row before: most stacks have several leaves. */
struct flame_reading {
    sqlite3 *trace;
    struct gv_flame *root;
    void *tree; /* all below the root, for tsearch() */
    sqlite3_stmt *frames;
    struct gv_flame *at; /* its innermost frame; NULL: there was no row yet */
    bool stack_known, capture_known;
    int64_t stack, capture;
};

static int flame_order(const struct gv_flame *one, const char *name, enum gv_flame_kind kind)
{
    if (one->kind != kind)
        return one->kind < kind ? -1 : 1;
    return strcmp(one->name, name);
}

/* A new frame; NULL: there is no memory. */
static struct gv_flame *flame_new(const char *text)
{
    struct gv_flame *frame = calloc(1, sizeof(*frame));
    char name[GV_FLAME_NAME_BYTES];

    gv_text_escape(name, sizeof(name), text);
    if (frame && !(frame->name = strdup(name))) {
        free(frame);
        return NULL;
    }
    return frame;
}

static int flame_identity(const void *left, const void *right)
{
    const struct gv_flame *one = left, *other = right;

    if (one->parent != other->parent)
        return (uintptr_t)one->parent < (uintptr_t)other->parent ? -1 : 1;
    return flame_order(one, other->name, other->kind);
}

/* Moves *at to its child of that name, which is made if it is new. */
static int flame_enter(struct flame_reading *reading, struct gv_flame **at, const char *text,
                       enum gv_flame_kind kind)
{
    struct gv_flame *parent = *at, *child = flame_new(text && *text ? text : "?"), **found;

    if (!child || gv_array_room(&parent->children, parent->count, &parent->room, sizeof(child))) {
        gv_flame_free(child);
        return -ENOMEM;
    }
    child->parent = parent;
    child->kind = kind;
    found = (struct gv_flame **)tsearch(child, &reading->tree, flame_identity);
    if (found && *found == child)
        parent->children[parent->count++] = child;
    else
        gv_flame_free(child);
    if (found)
        *at = *found;
    return found ? 0 : -ENOMEM;
}

/* "forward (model.py:41)", "gemm (libtorch_cuda.so)", "libtorch_cuda.so+0x12f0". */
static int flame_frame(void *context, sqlite3_stmt *row)
{
    struct flame_reading *reading = context;
    const char *function = (const char *)sqlite3_column_text(row, 0);
    const char *library = gv_text_base((const char *)sqlite3_column_text(row, 1));
    const char *file = gv_text_base((const char *)sqlite3_column_text(row, 2));
    char name[GV_FLAME_NAME_BYTES], place[GV_FLAME_NAME_BYTES / 3],
        short_name[GV_KERNEL_NAME_BYTES];

    if (file)
        snprintf(place, sizeof(place), "%s:%" PRId64, file, (int64_t)sqlite3_column_int64(row, 3));
    else if (function)
        snprintf(place, sizeof(place), "%s", library ? library : "");
    else
        snprintf(place, sizeof(place), "%s+0x%" PRIx64, library ? library : "?",
                 (uint64_t)sqlite3_column_int64(row, 4));
    if (function) {
        gv_function_name_short(function, short_name, sizeof(short_name));
        snprintf(name, sizeof(name), place[0] ? "%s (%s)" : "%s", short_name, place);
    } else {
        snprintf(name, sizeof(name), "%s", place);
    }
    return flame_enter(reading, &reading->at, name, (enum gv_flame_kind)sqlite3_column_int(row, 5));
}

/* Enters the frames of a stack, and where the graph was captured that it launches. */
static int flame_stack(struct flame_reading *reading)
{
    char place[GV_FLAME_NAME_BYTES - 16] = "", name[GV_FLAME_NAME_BYTES];
    int error = 0;

    reading->at = reading->root;
    if (reading->stack_known)
        error = gv_database_rows(reading->frames, &reading->stack, 1, flame_frame, reading);
    if (!error && reading->at == reading->root)
        error = flame_enter(reading, &reading->at, "unknown line", GV_FLAME_NATIVE);
    if (!error && reading->capture_known)
        error = gv_stack_text(reading->trace, reading->capture, 1, place, sizeof(place));
    if (error || !place[0])
        return error;
    snprintf(name, sizeof(name), "captured at %s", place);
    return flame_enter(reading, &reading->at, name, GV_FLAME_OWN);
}

static bool flame_number(sqlite3_stmt *row, int column, int64_t *number)
{
    *number = sqlite3_column_int64(row, column);
    return sqlite3_column_type(row, column) == SQLITE_INTEGER;
}

static int flame_row(void *context, sqlite3_stmt *row)
{
    struct flame_reading *reading = context, last = *reading;
    struct gv_flame *frame;
    int error = 0;

    reading->stack_known = flame_number(row, 0, &reading->stack);
    reading->capture_known = flame_number(row, 1, &reading->capture);
    if (!last.at || reading->stack_known != last.stack_known || reading->stack != last.stack ||
        reading->capture_known != last.capture_known || reading->capture != last.capture)
        error = flame_stack(reading);
    frame = reading->at;
    if (!error)
        error =
            flame_enter(reading, &frame, (const char *)sqlite3_column_text(row, 2), GV_FLAME_LEAF);
    for (; frame && !error; frame = frame->parent) {
        frame->ns = gv_time_sum(frame->ns, gv_time_column_duration(row, 3));
        frame->samples = gv_time_sum(frame->samples, gv_time_column_duration(row, 4));
    }
    return error;
}

static int flame_longer(const void *left, const void *right)
{
    const struct gv_flame *one = *(struct gv_flame *const *)left;
    const struct gv_flame *other = *(struct gv_flame *const *)right;

    if (one->ns != other->ns)
        return one->ns > other->ns ? -1 : 1;
    return flame_order(one, other->name, other->kind);
}

static void flame_sort(struct gv_flame *frame)
{
    if (frame->count > 0)
        qsort(frame->children, frame->count, sizeof(struct gv_flame *), flame_longer);
    for (size_t i = 0; i < frame->count; i++)
        flame_sort(frame->children[i]);
}

static int flame_root(void *context, sqlite3_stmt *row)
{
    struct gv_flame **root = context;
    const char *program = (const char *)sqlite3_column_text(row, 0);

    *root = flame_new(program ? program : "?");
    return *root ? 0 : -ENOMEM;
}

/* The tree of children has it. */
static void flame_stays(void *frame)
{
    (void)frame;
}

int gv_flame_read(sqlite3 *trace, const struct gv_weighed *what, struct gv_flame **root)
{
    struct flame_reading reading = {.trace = trace};
    int error;

    *root = NULL;
    error = gv_database_each(trace, "SELECT (SELECT value FROM meta WHERE key = 'program')", NULL,
                             0, flame_root, root);
    reading.root = *root;
    if (!error)
        error = gv_database_compile(trace, sql_frames, &reading.frames);
    if (!error)
        error = gv_database_each(trace, what->sql, NULL, 0, flame_row, &reading);
    sqlite3_finalize(reading.frames);
    tdestroy(reading.tree, flame_stays);
    if (!error && (*root)->ns == 0)
        error = -ENODATA;
    if (!error)
        flame_sort(*root);
    return error;
}

void gv_flame_free(struct gv_flame *root)
{
    for (size_t i = 0; root && i < root->count; i++)
        gv_flame_free(root->children[i]);
    if (root) {
        free(root->children);
        free(root->name);
    }
    free(root);
}
