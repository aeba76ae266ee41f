/*
 * What kind of code an image is, how large, and a hash to know it again by.
 *
 * The images that programs load carry no length; it is read from their own headers, which the
 * driver has accepted before we look. The hash is gv_mix_image()'s.
 */
#ifndef GV_HOOKS_IMAGES_H
#define GV_HOOKS_IMAGES_H

#include "trace/spool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_image {
    enum gv_image_kind kind;
    bool knows_bytes;
    uint64_t bytes;
    uint64_t hash; /* 0: unknown */
};

/* `bytes` is the image's size where the caller knows it, otherwise 0. */
void gv_image_inspect(const void *image, size_t bytes, struct gv_image *result);

/* Where an image in memory itself begins, which a wrapper only points to. NULL stays NULL. */
const void *gv_image_data(const void *image);

/* The same for a file. One that cannot be read leaves everything unknown. */
void gv_image_inspect_file(const char *path, struct gv_image *result);

#endif
