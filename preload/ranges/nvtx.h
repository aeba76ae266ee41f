/* NVTX: our functions in the program's modules, and in front of another tool's. */
#ifndef GV_RANGES_NVTX_H
#define GV_RANGES_NVTX_H

/* From the constructor: sets NVTX_INJECTION64_PATH to libgpuverify-nvtx.so, unless
 * GPUVERIFY_RANGES=off. Another tool's path goes to GPUVERIFY_NVTX_TOOL. */
void gv_nvtx_offer(void);

#endif
