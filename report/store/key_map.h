/* A hash map from three numbers to one; it grows as needed. One thread. */
#ifndef GV_STORE_KEY_MAP_H
#define GV_STORE_KEY_MAP_H

#include <stddef.h>
#include <stdint.h>

struct gv_key {
    uint64_t part[3];
};

struct gv_key_entry {
    struct gv_key key;
    int64_t value; /* 0: the slot is empty */
};

struct gv_key_map {
    struct gv_key_entry *entries;
    size_t places; /* a power of two, or 0 */
    size_t used;
};

/* The value of a key, or 0. */
int64_t gv_key_map_find(const struct gv_key_map *map, const struct gv_key *key);
/* Adds a new key; value must not be 0. 0 or -ENOMEM. */
int gv_key_map_add(struct gv_key_map *map, const struct gv_key *key, int64_t value);
/* Removes a key, if it exists. */
void gv_key_map_remove(struct gv_key_map *map, const struct gv_key *key);
void gv_key_map_free(struct gv_key_map *map);

#endif
