/*
 * libcupti, looked for and opened at run time, and its functions by name (functions.def).
 *
 * Used by the thread that starts the module, before any other; constant afterwards.
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
    uint32_t version; /* as cuptiGetVersion() says */
    char path[GV_SPOOL_PATH_BYTES];
#include "cupti/functions.def"
};

extern struct gv_cupti_library gv_cupti;

/*
 * Opens `given`, or the first libcupti that can be found if it is "": the one that is mapped
 * already, one beside a mapped libcudart, in CUDA_HOME, in Python's packages, where the loader or
 * the system's toolkit has one. Libraries of the driver's major version are tried first. 0, or
 * -errno and a line in `why`.
 */
int gv_cupti_library_open(const char *given, int driver_version, char *why, size_t why_bytes);

#endif
