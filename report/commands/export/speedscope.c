/* A file for speedscope: one profile, a sample for each stack, weighed by its time. */
#include "report/commands/export/flame.h"

#include "report/show/json.h"
#include "report/store/array.h"
#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GV_SPEEDSCOPE_SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* Of every file that is written here. */
static const char speedscope_begins[] =
    "{\n  \"$schema\": \"" GV_SPEEDSCOPE_SCHEMA "\",\n  \"exporter\": \"gpuverify ";

/* Frames with one name are one frame of the file, wherever they are in the tree. */
struct speedscope {
    struct gv_json json;
    const struct gv_flame **frames; /* sorted by name */
    size_t count, room;
};

static int speedscope_order(const void *left, const void *right)
{
    const struct gv_flame *one = *(const struct gv_flame *const *)left;
    const struct gv_flame *other = *(const struct gv_flame *const *)right;

    return strcmp(one->name, other->name);
}

static int speedscope_collect(struct speedscope *file, const struct gv_flame *frame)
{
    int error = 0;

    if (frame->parent) {
        error = gv_array_room(&file->frames, file->count, &file->room, sizeof(frame));
        if (!error)
            file->frames[file->count++] = frame;
    }
    for (size_t i = 0; i < frame->count && !error; i++)
        error = speedscope_collect(file, frame->children[i]);
    return error;
}

static void speedscope_unite(struct speedscope *file)
{
    size_t kept = 0;

    qsort(file->frames, file->count, sizeof(file->frames[0]), speedscope_order);
    for (size_t i = 0; i < file->count; i++)
        if (kept == 0 || strcmp(file->frames[kept - 1]->name, file->frames[i]->name) != 0)
            file->frames[kept++] = file->frames[i];
    file->count = kept;
}

static void speedscope_stack(struct speedscope *file, const struct gv_flame *frame)
{
    const struct gv_flame **found;

    if (!frame->parent)
        return;
    speedscope_stack(file, frame->parent);
    found = bsearch(&frame, file->frames, file->count, sizeof(frame), speedscope_order);
    gv_json_number(&file->json, NULL, found - file->frames);
}

static void speedscope_samples(struct speedscope *file, const struct gv_flame *frame)
{
    if (frame->kind == GV_FLAME_LEAF) {
        gv_json_open(&file->json, NULL, '[');
        speedscope_stack(file, frame);
        gv_json_close(&file->json, ']');
    }
    for (size_t i = 0; i < frame->count; i++)
        speedscope_samples(file, frame->children[i]);
}

static void speedscope_weights(struct speedscope *file, const struct gv_flame *frame)
{
    if (frame->kind == GV_FLAME_LEAF)
        gv_json_number(&file->json, NULL, frame->ns);
    for (size_t i = 0; i < frame->count; i++)
        speedscope_weights(file, frame->children[i]);
}

static void speedscope_profile(struct speedscope *file, const struct gv_weighed *what,
                               const struct gv_flame *root)
{
    gv_json_open(&file->json, NULL, '{');
    gv_json_text(&file->json, "type", "sampled");
    gv_json_text(&file->json, "name", what->title);
    gv_json_text(&file->json, "unit", "nanoseconds");
    gv_json_number(&file->json, "startValue", 0);
    gv_json_number(&file->json, "endValue", root->ns);
    gv_json_open(&file->json, "samples", '[');
    speedscope_samples(file, root);
    gv_json_close(&file->json, ']');
    gv_json_open(&file->json, "weights", '[');
    speedscope_weights(file, root);
    gv_json_close(&file->json, ']');
    gv_json_close(&file->json, '}');
}

static void speedscope_write(struct speedscope *file, const struct gv_weighed *what,
                             const struct gv_flame *root, FILE *out)
{
    char name[GV_FLAME_NAME_BYTES * 2], range[GV_FLAME_NAME_BYTES];

    gv_text_escape(range, sizeof(range), what->range ? what->range : "");
    snprintf(name, sizeof(name), "%s of %s%s%s", what->title, root->name, *range ? " in " : "",
             range);
    gv_json_begin(&file->json, out, '{');
    gv_json_text(&file->json, "$schema", GV_SPEEDSCOPE_SCHEMA);
    gv_json_text(&file->json, "exporter", "gpuverify " GV_VERSION);
    gv_json_text(&file->json, "name", name);
    gv_json_number(&file->json, "activeProfileIndex", 0);
    gv_json_open(&file->json, "shared", '{');
    gv_json_open(&file->json, "frames", '[');
    for (size_t i = 0; i < file->count; i++) {
        gv_json_open(&file->json, NULL, '{');
        gv_json_text(&file->json, "name", file->frames[i]->name);
        gv_json_close(&file->json, '}');
    }
    gv_json_close(&file->json, ']');
    gv_json_close(&file->json, '}');
    gv_json_open(&file->json, "profiles", '[');
    speedscope_profile(file, what, root);
    gv_json_close(&file->json, ']');
    gv_json_end(&file->json, '}');
}

int gv_export_speedscope(sqlite3 *trace, const struct gv_weighed *what, FILE *out)
{
    struct speedscope file = {0};
    struct gv_flame *root;
    int error = gv_flame_read(trace, what, &root);

    if (!error)
        error = speedscope_collect(&file, root);
    if (!error) {
        speedscope_unite(&file);
        speedscope_write(&file, what, root, out);
    }
    free(file.frames);
    gv_flame_free(root);
    return error;
}

bool gv_export_is_speedscope(const char *head)
{
    return strncmp(head, speedscope_begins, strlen(speedscope_begins)) == 0;
}
