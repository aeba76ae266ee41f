#include "report/commands/export/flame.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse/time_sum.h"
#include "report/commands_export_flame.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct gv_weighed gv_weighed[GV_WEIGHED_COUNT] = {
#define GV_WEIGHED(name, title, leaf) {title, leaf, sql_##name, NULL},
#include "report/commands/export/weighed.def"
};

/* The stack of the row before: most stacks have several leaves. */
struct flame_reading {
    sqlite3 *trace;
    struct gv_flame *root;
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

/* Moves *at to its child of that name, which is made if it is new. While a tree is read, children
 * are in the order of flame_order(). */
static int flame_enter(struct gv_flame **at, const char *text, enum gv_flame_kind kind)
{
    struct gv_flame *parent = *at, *child = flame_new(text && *text ? text : "?");
    size_t low = 0, high = parent->count;

    if (!child)
        return -ENOMEM;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = flame_order(parent->children[middle], child->name, kind);
        if (order == 0) {
            *at = parent->children[middle];
            gv_flame_free(child);
            return 0;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (gv_array_room(&parent->children, parent->count, &parent->room, sizeof(struct gv_flame *))) {
        gv_flame_free(child);
        return -ENOMEM;
    }
    child->parent = parent;
    child->kind = kind;
    memmove(parent->children + low + 1, parent->children + low,
            (parent->count++ - low) * sizeof(struct gv_flame *));
    parent->children[low] = child;
    *at = child;
    return 0;
}

/* "forward (model.py:41)", "gemm (libtorch_cuda.so)", "libtorch_cuda.so+0x12f0". */
static int flame_frame(void *context, sqlite3_stmt *row)
{
    struct gv_flame **at = context;
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
    return flame_enter(at, name, (enum gv_flame_kind)sqlite3_column_int(row, 5));
}

/* Enters the frames of a stack, and where the graph was captured that it launches. */
static int flame_stack(struct flame_reading *reading)
{
    char place[GV_FLAME_NAME_BYTES - 16] = "", name[GV_FLAME_NAME_BYTES];
    int error = 0;

    reading->at = reading->root;
    if (reading->stack_known)
        error = gv_database_each(reading->trace, sql_frames, &reading->stack, 1, flame_frame,
                                 &reading->at);
    if (!error && reading->at == reading->root)
        error = flame_enter(&reading->at, "unknown line", GV_FLAME_NATIVE);
    if (!error && reading->capture_known)
        error = gv_stack_text(reading->trace, reading->capture, 1, place, sizeof(place));
    if (error || !place[0])
        return error;
    snprintf(name, sizeof(name), "captured at %s", place);
    return flame_enter(&reading->at, name, GV_FLAME_OWN);
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
        error = flame_enter(&frame, (const char *)sqlite3_column_text(row, 2), GV_FLAME_LEAF);
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

int gv_flame_read(sqlite3 *trace, const struct gv_weighed *what, struct gv_flame **root)
{
    struct flame_reading reading = {.trace = trace};
    int error;

    *root = NULL;
    error = gv_database_each(trace, "SELECT (SELECT value FROM meta WHERE key = 'program')", NULL,
                             0, flame_root, root);
    reading.root = *root;
    if (!error)
        error = gv_database_each(trace, what->sql, NULL, 0, flame_row, &reading);
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
