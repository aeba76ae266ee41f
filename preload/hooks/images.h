/*
 * The kind of code in an image, its size, and a hash to recognise it.
 *
 * Programs load images without giving a length, so it is read from the image's headers, which the
 * driver has accepted before. The hash is gv_mix_image()'s.
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

/* `bytes` is the image's size if the caller knows it, otherwise 0. */
void gv_image_inspect(const void *image, size_t bytes, struct gv_image *result);

/* The start of the image that a wrapper points to, or `image` itself. NULL stays NULL. */
const void *gv_image_data(const void *image);

/* The same for a file. If it cannot be read, everything stays unknown. */
void gv_image_inspect_file(const char *path, struct gv_image *result);

#endif
