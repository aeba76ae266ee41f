/*
 * Handles. Their memory is never freed, so that a dead handle can be recognised. With
 * GV_SIM_REUSE_HANDLES=1 the last one freed is reused first; otherwise one is reused only after
 * many others were freed.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define QUARANTINE 1024u

struct shelf {
    struct gv_sim_object *first, *last;
    size_t count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shelf shelves[GV_SIM_KINDS];

void *gv_sim_object_new(enum gv_sim_kind kind, size_t size_bytes)
{
    struct shelf *shelf = &shelves[kind];
    struct gv_sim_object *object = NULL;
    pthread_mutex_lock(&lock);
    if (shelf->first && (gv_sim_settings.reuse_handles || shelf->count > QUARANTINE)) {
        object = shelf->first;
        shelf->first = object->next_free;
        shelf->count--;
        if (!shelf->first)
            shelf->last = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (object)
        memset(object, 0, size_bytes);
    else
        object = calloc(1, size_bytes);
    if (!object)
        return NULL;
    object->mark = GV_SIM_ALIVE | kind;
    object->size_bytes = (uint32_t)size_bytes;
    return object;
}

void gv_sim_object_free(void *handle)
{
    struct gv_sim_object *object = handle;
    struct shelf *shelf = &shelves[object->mark & 0xffff];
    pthread_mutex_lock(&lock);
    object->mark &= 0xffff;
    if (gv_sim_settings.reuse_handles) {
        object->next_free = shelf->first;
        shelf->first = object;
        if (!shelf->last)
            shelf->last = object;
    } else {
        object->next_free = NULL;
        if (shelf->last)
            shelf->last->next_free = object;
        else
            shelf->first = object;
        shelf->last = object;
    }
    shelf->count++;
    pthread_mutex_unlock(&lock);
}
