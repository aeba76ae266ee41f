#include "cupti/loaded.h"

#include "cupti/output.h"
#include "trace/mix.h"

#include <stdatomic.h>

/* The module's thread is woken when half of them are taken. */
#define PLACES 4096u

enum state { FREE, TAKEN, READY };

static struct place {
    _Atomic uint32_t state;
    struct gv_record_gpu_module loaded;
} places[PLACES];
static _Atomic uint32_t next;    /* where to start the search for a free entry */
static _Atomic uint32_t waiting; /* READY, or being filled */

bool gv_loaded_note(struct gv_record_gpu_module *loaded, const void *image)
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

static void take(struct place *place)
{
    union gv_record record;

    if (atomic_load(&place->state) != READY)
        return;
    record.gpu_module = place->loaded;
    record.head = (struct gv_record_head){.kind = GV_RECORD_GPU_MODULE};
    atomic_fetch_sub(&waiting, 1);
    atomic_store(&place->state, FREE);
    gv_output_write(&record);
}

/* The oldest first. An entry that a thread is filling waits for the next time. */
void gv_loaded_write(void)
{
    uint32_t oldest = atomic_load(&next);

    for (uint32_t i = 0; i < PLACES && atomic_load(&waiting) > 0; i++)
        take(&places[(oldest + i) % PLACES]);
}
