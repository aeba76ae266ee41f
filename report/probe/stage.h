/*
 * What the probe's calls need: a context, a kernel that keeps the GPU busy, memory, and code to
 * load. One per child, used by its first thread; only `loader` belongs to the second thread.
 *
 * Functions return 0 or the driver's error.
 */
#ifndef GV_PROBE_STAGE_H
#define GV_PROBE_STAGE_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

/* The driver and the runtime are opened at run time, so that gpuverify starts on machines without
 * them. -ENOENT: no driver. */
int gv_probe_driver_open(void);

/* "580.159.04", or "". */
void gv_probe_driver_version(char *out, size_t size);

/* A function of the driver or the runtime; one that this machine lacks returns 500 (not found). */
void *gv_probe_find(const char *symbol);

#define GV_PROBE_TEXT(symbol) #symbol
/* It is looked up once in each place that calls it: GV_CUDA(cuInit)(0). cuda.h turns cuMemAlloc
 * into cuMemAlloc_v2 here too. */
#define GV_CUDA(symbol)                                                                            \
    ({                                                                                             \
        static __typeof__(symbol) *function;                                                       \
        if (!function)                                                                             \
            function = (__typeof__(symbol) *)gv_probe_find(GV_PROBE_TEXT(symbol));                 \
        function;                                                                                  \
    })

/* The newest cuda.h does not declare this one, and none declares the runtime's. */
CUresult cuCtxCreate_v2(CUcontext *, unsigned int, CUdevice);
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMallocHost(void **, size_t);
int cudaFreeHost(void *);
int cudaHostRegister(void *, size_t, unsigned int);
int cudaHostUnregister(void *);
int cudaMemcpyAsync(void *, const void *, size_t, int, CUstream);
int cudaDeviceSetLimit(int, size_t);
int cudaRuntimeGetVersion(int *);
int cudaSetDevice(int);

/* Returns CUDA's error, if any. */
#define GV_PROBE_TRY(call)                                                                         \
    do {                                                                                           \
        int try_result = (int)(call);                                                              \
        if (try_result)                                                                            \
            return try_result;                                                                     \
    } while (0)

#define GV_PROBE_SMALL  4096u
#define GV_PROBE_MIDDLE 65536u
#define GV_PROBE_MEGA   (1u << 20)
#define GV_PROBE_LARGE  (16u << 20)
#define GV_PROBE_HOST   (128u << 20)
#define GV_PROBE_MUCH   (1024u << 20)

/* A cubin. Each loaded copy has another `tag`, so that no driver recognises it. */
struct gv_probe_code {
    unsigned char *bytes;
    size_t size;
    size_t tag_at; /* 0: none */
};

/* What one call works on: made by its prepare, freed by its clean. */
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
    CUstream other; /* always idle */
    CUevent ended;  /* recorded behind the kernel */
    CUevent early;  /* recorded long ago */
    CUdeviceptr memory;
    char *pinned;
    char *pageable;
    struct gv_probe_code code;
    struct gv_probe_code loader;
    char *ptx; /* the last one written */
    uint64_t serial;
    size_t stack_bytes; /* the original value */
    size_t limit_bytes; /* the largest set so far */
    size_t depot_bytes; /* the largest local memory so far */
    struct gv_probe_made made;
};

/* Makes all of it on the GPU of that number. Nothing is freed: the child's end does that. */
int gv_probe_stage_open(struct gv_probe_stage *stage, int gpu);

/* Starts the kernel for that long. */
int gv_probe_stage_busy(struct gv_probe_stage *stage, int64_t ns);

/* Makes a cubin, or what the driver's linker returns, for the stage's lifetime. */
int gv_probe_code_make(struct gv_probe_stage *stage, struct gv_probe_code *code);

/* Gives the code a new tag. */
void gv_probe_code_renew(struct gv_probe_stage *stage, struct gv_probe_code *code);

/* Makes PTX that no cache has, in stage->ptx: a kernel "late", "second", and a word "late_tag". */
int gv_probe_write_ptx(struct gv_probe_stage *stage);

/* Makes PTX with a kernel "deep" that needs stage->depot_bytes of local memory, in stage->ptx. */
int gv_probe_write_deep(struct gv_probe_stage *stage);

/* The steps before, as and after a call that is measured, named in report/probe/calls.def. */
#define GV_PROBE_STEPS_OF(prepare, act, clean)                                                     \
    int gv_probe_##prepare(struct gv_probe_stage *stage);                                          \
    int gv_probe_##act(struct gv_probe_stage *stage);                                              \
    int gv_probe_##clean(struct gv_probe_stage *stage);
#define GV_PROBE_BESIDE(name, text, ...)              GV_PROBE_STEPS_OF(__VA_ARGS__)
#define GV_PROBE_CALL(beside, cause, call, what, ...) GV_PROBE_STEPS_OF(__VA_ARGS__)
#include "report/probe/calls.def"

#endif
