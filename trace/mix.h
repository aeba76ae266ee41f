/* Hashes of words, of bytes, and of images of code. */
#ifndef GV_TRACE_MIX_H
#define GV_TRACE_MIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Use the upper half for tables, because a single multiplication spreads bits upwards. */
static inline uint64_t gv_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    return hash ^ hash >> 32;
}

static inline uint64_t gv_mix_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t word = 0;

        memcpy(&word, at + done, bytes - done < sizeof word ? bytes - done : sizeof word);
        hash = gv_mix(hash, word);
    }
    return gv_mix(hash, bytes);
}

#define GV_MIX_SAMPLES      64u
#define GV_MIX_SAMPLE_BYTES 1024u
#define GV_MIX_IMAGE_BYTES  ((uint64_t)GV_MIX_SAMPLES * GV_MIX_SAMPLE_BYTES)

/* Hashes the size, and all of a small image, or samples from a large one with its first and last
 * bytes: 300 MB cost no more than 300 kB. Never 0. */
static inline uint64_t gv_mix_image(const void *image, uint64_t bytes)
{
    const unsigned char *at = image;
    uint64_t hash = gv_mix(0, bytes);

    if (bytes <= GV_MIX_IMAGE_BYTES) {
        hash = gv_mix_bytes(hash, at, bytes);
    } else {
        for (uint64_t i = 0; i + 1 < GV_MIX_SAMPLES; i++)
            hash = gv_mix_bytes(hash, at + (bytes - GV_MIX_SAMPLE_BYTES) / (GV_MIX_SAMPLES - 1) * i,
                                GV_MIX_SAMPLE_BYTES);
        hash = gv_mix_bytes(hash, at + bytes - GV_MIX_SAMPLE_BYTES, GV_MIX_SAMPLE_BYTES);
    }
    return hash ? hash : 1;
}

#endif
