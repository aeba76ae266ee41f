#include "cupti/shapes.h"

#include "cupti/output.h"
#include "trace/mix.h"
#include "trace/spool.h"

#include <string.h>

#define NAMES  16384u
#define SHAPES 16384u
#define WAYS   4u

struct name_place {
    uint64_t hash;
    uint32_t number; /* 0: free */
};

struct shape_place {
    struct gv_shape shape;
    uint32_t number; /* 0: free */
};

static struct name_place names[NAMES];
static struct shape_place shapes[SHAPES];
static uint32_t names_numbered, shapes_numbered;

static bool write_name(const char *name, uint32_t bytes, uint32_t number)
{
    union gv_record *record = gv_output_next();

    if (!record)
        return false;
    record->gpu_name.head.kind = GV_RECORD_GPU_NAME;
    record->gpu_name.head.flags = bytes ? GV_RECORD_MORE : 0;
    record->gpu_name.number = number;
    record->gpu_name.text_bytes = bytes;
    gv_output_publish();
    return gv_output_text(name, bytes);
}

uint32_t gv_shapes_name(const char *name)
{
    uint32_t bytes = name ? (uint32_t)strnlen(name, GV_RECORD_TEXT_LIMIT) : 0;
    uint64_t hash = gv_mix_bytes(0, name, bytes);
    struct name_place *places = &names[hash % (NAMES / WAYS) * WAYS];
    struct name_place *place = &places[hash >> 32 & (WAYS - 1)];

    if (!name)
        return 0;
    for (uint32_t i = 0; i < WAYS; i++)
        if (places[i].number && places[i].hash == hash)
            return places[i].number;
    for (uint32_t i = 0; i < WAYS; i++)
        if (!places[i].number)
            place = &places[i];
    if (!write_name(name, bytes, names_numbered + 1))
        return 0;
    place->hash = hash;
    place->number = ++names_numbered;
    return place->number;
}

static bool write_shape(const struct gv_shape *shape, uint32_t number)
{
    union gv_record *record = gv_output_next();

    if (!record)
        return false;
    record->gpu_shape.head.kind = GV_RECORD_GPU_SHAPE;
    record->gpu_shape.number = number;
    record->gpu_shape.name = shape->name;
    memcpy(record->gpu_shape.grid, shape->grid, sizeof shape->grid);
    memcpy(record->gpu_shape.block, shape->block, sizeof shape->block);
    record->gpu_shape.static_shared_bytes = shape->static_shared_bytes;
    record->gpu_shape.dynamic_shared_bytes = shape->dynamic_shared_bytes;
    record->gpu_shape.local_bytes = shape->local_bytes;
    record->gpu_shape.registers = shape->registers;
    gv_output_publish();
    return true;
}

uint32_t gv_shapes_number(const struct gv_shape *shape)
{
    uint64_t hash = gv_mix_bytes(0, shape, sizeof *shape);
    struct shape_place *places = &shapes[hash % (SHAPES / WAYS) * WAYS];
    struct shape_place *place = &places[hash >> 32 & (WAYS - 1)];

    for (uint32_t i = 0; i < WAYS; i++)
        if (places[i].number && memcmp(&places[i].shape, shape, sizeof *shape) == 0)
            return places[i].number;
    for (uint32_t i = 0; i < WAYS; i++)
        if (!places[i].number)
            place = &places[i];
    if (!write_shape(shape, shapes_numbered + 1))
        return 0;
    place->shape = *shape;
    place->number = ++shapes_numbered;
    return place->number;
}
