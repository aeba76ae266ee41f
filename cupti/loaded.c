#include "cupti/loaded.h"

#include "cupti/output.h"
#include "trace/spool.h"

#include <pthread.h>
#include <string.h>

/* As many as a program may load between two flushes. */
#define PLACES        4096u
#define SAMPLES       64u
#define SAMPLED_BYTES 1024u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gv_loaded places[PLACES];
static uint32_t first, count;

static uint64_t hash_bytes(uint64_t hash, const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The size and samples all over it: loading 300 MB must cost no more than loading 300 kB. */
static uint64_t hash_image(const unsigned char *image, uint64_t bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ bytes;

    if (bytes <= (uint64_t)SAMPLES * SAMPLED_BYTES)
        return hash_bytes(hash, image, bytes);
    for (uint64_t i = 0; i < SAMPLES; i++)
        hash = hash_bytes(hash, image + (bytes - SAMPLED_BYTES) / (SAMPLES - 1) * i, SAMPLED_BYTES);
    return hash;
}

void gv_loaded_note(struct gv_loaded *loaded, const void *image)
{
    loaded->hash = image && loaded->bytes ? hash_image(image, loaded->bytes) : 0;
    pthread_mutex_lock(&lock);
    if (count < PLACES)
        places[(first + count++) % PLACES] = *loaded;
    else
        gv_output_count_lost();
    pthread_mutex_unlock(&lock);
}

static bool take(struct gv_loaded *loaded)
{
    bool found;

    pthread_mutex_lock(&lock);
    found = count > 0;
    if (found) {
        *loaded = places[first];
        first = (first + 1) % PLACES;
        count--;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void gv_loaded_write(void)
{
    struct gv_loaded loaded;

    while (take(&loaded)) {
        union gv_record *record = gv_output_next();

        if (!record)
            continue;
        record->gpu_module = (struct gv_record_gpu_module){
            .head = {.kind = GV_RECORD_GPU_MODULE},
            .at_ns = loaded.at_ns,
            .bytes = loaded.bytes,
            .hash = loaded.hash,
            .module = loaded.module,
            .correlation = loaded.correlation,
            .tid = loaded.tid,
        };
        gv_output_publish();
    }
}
