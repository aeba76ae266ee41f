/*
 * Loads of code, which CUPTI reports on the calling thread. They stay here until the module's
 * thread writes them into the spool.
 */
#ifndef GV_CUPTI_LOADED_H
#define GV_CUPTI_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_loaded {
    uint64_t at_ns;
    uint64_t hash;
    uint64_t bytes;
    uint32_t module;
    uint32_t correlation;
    uint32_t tid;
};

/* Any thread, also a signal handler in the middle of it. Reads `image` before it returns. True: the
 * module's thread should write soon. */
bool gv_loaded_note(struct gv_loaded *loaded, const void *image);

/* The module's thread. */
void gv_loaded_write(void);

#endif
