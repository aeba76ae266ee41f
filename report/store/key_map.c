#include "report/store/key_map.h"

#include "trace/mix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GV_KEY_MAP_FIRST_PLACES 64u

/* The key's slot, or the empty slot for it. */
static struct gv_key_entry *key_map_place(const struct gv_key_map *map, const struct gv_key *key)
{
    size_t place = gv_mix_bytes(0, key, sizeof(*key)) & (map->places - 1);

    while (map->entries[place].value != 0 &&
           memcmp(&map->entries[place].key, key, sizeof(*key)) != 0)
        place = (place + 1) & (map->places - 1);
    return &map->entries[place];
}

int64_t gv_key_map_find(const struct gv_key_map *map, const struct gv_key *key)
{
    return map->places == 0 ? 0 : key_map_place(map, key)->value;
}

static int key_map_grow(struct gv_key_map *map)
{
    struct gv_key_map larger = {.places = map->places ? map->places * 2 : GV_KEY_MAP_FIRST_PLACES};

    larger.entries = calloc(larger.places, sizeof(*larger.entries));
    if (!larger.entries)
        return -ENOMEM;
    for (size_t i = 0; i < map->places; i++)
        if (map->entries[i].value != 0)
            *key_map_place(&larger, &map->entries[i].key) = map->entries[i];
    larger.used = map->used;
    free(map->entries);
    *map = larger;
    return 0;
}

int gv_key_map_add(struct gv_key_map *map, const struct gv_key *key, int64_t value)
{
    if ((map->used + 1) * 4 > map->places * 3) {
        int error = key_map_grow(map);
        if (error)
            return error;
    }
    struct gv_key_entry *place = key_map_place(map, key);
    place->key = *key;
    place->value = value;
    map->used++;
    return 0;
}

/* Moves up later entries that could not be found past the gap. */
void gv_key_map_remove(struct gv_key_map *map, const struct gv_key *key)
{
    struct gv_key_entry *gap = map->places ? key_map_place(map, key) : NULL;

    if (!gap || gap->value == 0)
        return;
    map->used--;
    for (size_t at = (size_t)(gap - map->entries);;) {
        at = (at + 1) & (map->places - 1);
        struct gv_key_entry *next = &map->entries[at];
        if (next->value == 0)
            break;
        size_t wanted = gv_mix_bytes(0, &next->key, sizeof(next->key)) & (map->places - 1);
        size_t from_gap = (at - (size_t)(gap - map->entries)) & (map->places - 1);
        if (((at - wanted) & (map->places - 1)) < from_gap)
            continue;
        *gap = *next;
        gap = next;
    }
    gap->value = 0;
}

void gv_key_map_free(struct gv_key_map *map)
{
    free(map->entries);
    memset(map, 0, sizeof(*map));
}
