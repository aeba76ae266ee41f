#include "cupti/loaded.h"

#include "cupti/output.h"
#include "trace/mix.h"
#include "trace/spool.h"

#include <stdatomic.h>

/* The module's thread is woken when half of them are taken. */
#define PLACES 4096u

enum state { FREE, TAKEN, READY };

static struct place {
    _Atomic uint32_t state;
    struct gv_loaded loaded;
} places[PLACES];
static _Atomic uint32_t next;    /* where to start the search for a free entry */
static _Atomic uint32_t waiting; /* READY, or being filled */

bool gv_loaded_note(struct gv_loaded *loaded, const void *image)
{
    loaded->hash = image && loaded->bytes ? gv_mix_image(image, loaded->bytes) : 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        struct place *place = &places[atomic_fetch_add(&next, 1) % PLACES];
        uint32_t free = FREE;

        if (!atomic_compare_exchange_strong(&place->state, &free, TAKEN))
            continue;
        uint32_t before = atomic_fetch_add(&waiting, 1);
        place->loaded = *loaded;
        atomic_store(&place->state, READY);
        return before >= PLACES / 2;
    }
    gv_output_count_lost();
    return true;
}

static bool take(struct place *place, struct gv_loaded *loaded)
{
    if (atomic_load(&place->state) != READY)
        return false;
    *loaded = place->loaded;
    atomic_fetch_sub(&waiting, 1);
    atomic_store(&place->state, FREE);
    return true;
}

static void write_one(const struct gv_loaded *loaded)
{
    union gv_record *record = gv_output_next();

    if (!record)
        return;
    record->gpu_module = (struct gv_record_gpu_module){
        .head = {.kind = GV_RECORD_GPU_MODULE},
        .at_ns = loaded->at_ns,
        .bytes = loaded->bytes,
        .hash = loaded->hash,
        .module = loaded->module,
        .correlation = loaded->correlation,
        .tid = loaded->tid,
    };
    gv_output_publish();
}

/* The oldest first. An entry that a thread is filling waits for the next time. */
void gv_loaded_write(void)
{
    uint32_t oldest = atomic_load(&next);
    struct gv_loaded loaded;

    if (atomic_load(&waiting) == 0)
        return;
    for (uint32_t i = 0; i < PLACES; i++)
        if (take(&places[(oldest + i) % PLACES], &loaded))
            write_one(&loaded);
}
