/*
 * What the probe's calls stand on: a context, a kernel that keeps the GPU busy, memory, and code to
 * load. One per child, used by its first thread; only `loader` belongs to the second.
 *
 * Functions return 0 or what the driver said.
 */
#ifndef GV_PROBE_STAGE_H
#define GV_PROBE_STAGE_H

#include "report/probe/driver.h"

#include <stdint.h>

#define GV_PROBE_SMALL  4096u
#define GV_PROBE_MIDDLE 65536u
#define GV_PROBE_MEGA   (1u << 20)
#define GV_PROBE_LARGE  (16u << 20)

/* A cubin. Each copy that is loaded differs in `tag`, lest a driver knows it again. */
struct gv_probe_code {
    unsigned char *bytes;
    size_t size;
    size_t tag_at; /* 0: it has none */
};

/* What one call works on; made by its prepare, gone with its clean. */
struct gv_probe_made {
    const void *image;
    CUmodule module;
    CUfunction function;
    CUlibrary library;
    CUkernel kernel;
    CUkernel second;
    CUlinkState link;
    CUdeviceptr memory;
    void *host;
    CUstream stream;
    CUevent event;
    CUgraph graph;
    CUgraphExec graph_exec;
    CUcontext context;
};

struct gv_probe_stage {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction spin;
    CUfunction empty;
    CUstream busy;  /* non-blocking, as is `other` */
    CUstream other; /* never has anything to do */
    CUevent ended;  /* recorded behind the kernel */
    CUevent early;  /* recorded long ago */
    CUdeviceptr memory;
    char *pinned;
    char *pageable;
    struct gv_probe_code code;
    struct gv_probe_code loader;
    char *ptx; /* the last one that was written */
    uint64_t serial;
    size_t stack_bytes; /* as it was */
    size_t limit_bytes; /* the largest that was set */
    size_t depot_bytes; /* the largest local memory so far */
    struct gv_probe_made made;
};

int gv_probe_stage_open(struct gv_probe_stage *stage, int gpu);

/* Starts the kernel, for so long. */
int gv_probe_stage_busy(struct gv_probe_stage *stage, int64_t ns);

/* Makes a cubin, or what the driver's linker gives, for the stage's whole life. */
int gv_probe_code_make(struct gv_probe_stage *stage, struct gv_probe_code *code);

/* Gives the code a tag that it never had. */
void gv_probe_code_renew(struct gv_probe_stage *stage, struct gv_probe_code *code);

/* PTX that no cache has seen, in stage->ptx: a kernel "late", "second", and a word "late_tag". */
int gv_probe_write_ptx(struct gv_probe_stage *stage);

/* PTX with a kernel "deep" that needs stage->depot_bytes of local memory, in stage->ptx. */
int gv_probe_write_deep(struct gv_probe_stage *stage);

#endif
