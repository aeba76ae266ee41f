/*
 * Loads of code, which CUPTI reports on the calling thread. They stay here until the module's
 * thread writes them into the spool.
 */
#ifndef GV_CUPTI_LOADED_H
#define GV_CUPTI_LOADED_H

#include "trace/spool.h"

#include <stdbool.h>

/* Adds the image's hash. Any thread, also a signal handler in the middle of it. Reads `image`
 * before it returns. True: the module's thread should write soon. */
bool gv_loaded_note(struct gv_record_gpu_module *loaded, const void *image);

/* The module's thread. */
void gv_loaded_write(void);

#endif
