/*
 * Finds and opens libcupti at run time, and looks up its functions (functions.def).
 *
 * The thread that starts the module uses it before any other thread. It is constant afterwards.
 */
#ifndef GV_CUPTI_LIBRARY_H
#define GV_CUPTI_LIBRARY_H

#include "trace/spool.h"

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

#define GV_CUPTI(name, type, parameters)       type(CUPTIAPI *name) parameters;
#define GV_CUPTI_NEWER(name, type, parameters) GV_CUPTI(name, type, parameters)
struct gv_cupti_library {
    void *handle;
    uint32_t version; /* as returned by cuptiGetVersion() */
    char path[GV_SPOOL_PATH_BYTES];
#include "cupti/functions.def"
};

extern struct gv_cupti_library gv_cupti;

/*
 * Opens `given`, or if that is "" the first libcupti found: already mapped, beside a mapped
 * libcudart, in CUDA_HOME, in Python's packages, by the loader, in the system's toolkit. Tries
 * libraries of the driver's major version first. Returns 0, or -errno with a line in `why`.
 */
int gv_cupti_library_open(const char *given, int driver_version, char *why, size_t why_bytes);

#endif
