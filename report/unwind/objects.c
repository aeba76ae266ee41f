#include "report/unwind/objects.h"

#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OBJECTS_MOST 65536u
#define LATE_MOST    2u
#define LISTED       UINT32_MAX /* `removed` of an object that is still in the list */

struct gv_objects {
    struct gv_mapped_pages *pages;
    struct gv_object **object; /* by `low`; those of several generations may overlap */
    size_t count, room;
    struct gv_object *last; /* that was found; NULL: none */
    uint32_t forgotten;     /* the last removal of those that were freed */
};

struct gv_objects *gv_objects_open(struct gv_mapped_pages *pages)
{
    struct gv_objects *objects = calloc(1, sizeof(*objects));

    if (objects)
        objects->pages = pages;
    return objects;
}

static void free_object(struct gv_object *object)
{
    gv_mapped_file_close(object->file);
    free((char *)object->object.path);
    free(object);
}

void gv_objects_close(struct gv_objects *objects)
{
    if (!objects)
        return;
    for (size_t i = 0; i < objects->count; i++)
        free_object(objects->object[i]);
    free(objects->object);
    free(objects);
}

/* ---- the list ---- */

static void measure_reach(struct gv_objects *objects)
{
    uint64_t reach = 0;

    for (size_t i = 0; i < objects->count; i++) {
        if (objects->object[i]->object.high > reach)
            reach = objects->object[i]->object.high;
        objects->object[i]->reach = reach;
    }
    objects->last = NULL;
}

/* How many begin at or below an address. */
static size_t count_below(const struct gv_objects *objects, uint64_t address)
{
    size_t low = 0, high = objects->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (objects->object[middle]->object.low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct gv_object *find_listed(struct gv_objects *objects, uint64_t base)
{
    for (size_t i = 0; i < objects->count; i++)
        if (objects->object[i]->object.base == base && objects->object[i]->removed == LISTED)
            return objects->object[i];
    return NULL;
}

static bool is_same(const struct gv_unwind_object *one, const struct gv_unwind_object *other)
{
    return one->low == other->low && one->high == other->high &&
           one->build_id_bytes == other->build_id_bytes &&
           memcmp(one->build_id, other->build_id, one->build_id_bytes) == 0 &&
           strcmp(one->path, other->path) == 0;
}

static bool is_switch(const char *path)
{
    static const char *const names[] = {
#define SWITCH(name) name,
#include "report/unwind/switches.def"
#undef SWITCH
    };
    const char *name = gv_text_base(path);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static struct gv_object *copy_object(const struct gv_unwind_object *object, uint32_t generation)
{
    struct gv_object *copy = calloc(1, sizeof(*copy));

    if (!copy)
        return NULL;
    *copy = (struct gv_object){.object = *object, .added = generation, .removed = LISTED};
    copy->switches = is_switch(object->path);
    copy->object.path = strdup(object->path);
    if (!copy->object.path) {
        free(copy);
        return NULL;
    }
    return copy;
}

static int grow(struct gv_objects *objects)
{
    size_t room = objects->room ? 2 * objects->room : 64;

    if (objects->count < objects->room)
        return 0;
    if (objects->count >= OBJECTS_MOST)
        return -ENOSPC;
    struct gv_object **grown = realloc(objects->object, room * sizeof(struct gv_object *));
    if (!grown)
        return -ENOMEM;
    objects->object = grown;
    objects->room = room;
    return 0;
}

int gv_objects_add(struct gv_objects *objects, uint32_t generation,
                   const struct gv_unwind_object *object)
{
    struct gv_object *there = find_listed(objects, object->base);

    if (object->low >= object->high || object->build_id_bytes > GV_UNWIND_BUILD_ID)
        return -EINVAL;
    if (there && is_same(&there->object, object))
        return 0;
    int error = grow(objects);
    struct gv_object *copy = error ? NULL : copy_object(object, generation);
    if (!copy)
        return error ? error : -ENOMEM;
    if (there)
        there->removed = generation;
    size_t at = count_below(objects, object->low);
    memmove(&objects->object[at + 1], &objects->object[at],
            (objects->count - at) * sizeof(struct gv_object *));
    objects->object[at] = copy;
    objects->count++;
    measure_reach(objects);
    return 0;
}

void gv_objects_remove(struct gv_objects *objects, uint32_t generation, uint64_t base)
{
    struct gv_object *object = find_listed(objects, base);

    if (object)
        object->removed = generation;
}

void gv_objects_forget(struct gv_objects *objects, uint32_t generation)
{
    size_t kept = 0;

    for (size_t i = 0; i < objects->count; i++) {
        struct gv_object *object = objects->object[i];
        if (object->removed == LISTED || object->removed > generation) {
            objects->object[kept++] = object;
            continue;
        }
        if (object->removed > objects->forgotten)
            objects->forgotten = object->removed;
        free_object(object);
    }
    objects->count = kept;
    measure_reach(objects);
}

uint32_t gv_objects_era(struct gv_objects *objects, uint32_t generation)
{
    uint32_t era = objects->forgotten;

    for (size_t i = 0; i < objects->count; i++) {
        uint32_t removed = objects->object[i]->removed;
        if (removed <= generation && removed > era)
            era = removed;
    }
    return era;
}

/* ---- what is at an address ---- */

/* `late`: the change that listed it had begun. A thread does not wait for another one that is
 * adding what both have seen, and each change is one more generation, or two if it was asked to go
 * on. */
static bool holds(const struct gv_object *object, uint32_t generation, uint64_t address,
                  uint32_t late)
{
    return object->object.low <= address && address < object->object.high &&
           object->added <= (uint64_t)generation + late && generation < object->removed;
}

static struct gv_object *find(const struct gv_objects *objects, uint32_t generation,
                              uint64_t address, uint32_t late)
{
    for (size_t i = count_below(objects, address); i > 0; i--) {
        struct gv_object *object = objects->object[i - 1];
        if (object->reach <= address)
            break;
        if (holds(object, generation, address, late))
            return object;
    }
    return NULL;
}

struct gv_object *gv_objects_find(struct gv_objects *objects, uint32_t generation, uint64_t address)
{
    struct gv_object *object = objects->last;

    if (object && holds(object, generation, address, 0))
        return object;
    object = find(objects, generation, address, 0);
    if (object)
        return objects->last = object;
    /* What was there may be forgotten. */
    return generation < objects->forgotten ? NULL : find(objects, generation, address, LATE_MOST);
}

struct gv_mapped_file *gv_objects_file(struct gv_objects *objects, struct gv_object *object)
{
    if (!object->file && !object->refused)
        object->refused =
            gv_mapped_file_open(objects->pages, object->object.path, object->object.build_id,
                                object->object.build_id_bytes, &object->file) != -EAGAIN &&
            !object->file;
    return object->file;
}

size_t gv_objects_read(struct gv_objects *objects, uint32_t generation, uint64_t address, void *to,
                       size_t size)
{
    struct gv_object *object = gv_objects_find(objects, generation, address);
    struct gv_mapped_file *file = object ? gv_objects_file(objects, object) : NULL;

    return file ? gv_mapped_file_read(file, address - object->object.base, to, size) : 0;
}

bool gv_objects_is_code(struct gv_objects *objects, uint32_t generation, uint64_t address)
{
    struct gv_object *object = gv_objects_find(objects, generation, address);
    struct gv_mapped_file *file = object ? gv_objects_file(objects, object) : NULL;

    return file && gv_mapped_file_is_code(file, address - object->object.base);
}
