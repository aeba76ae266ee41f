/* NCCL's header; without it, as much of its types as the hooks need. */
#ifndef GV_BIND_NCCL_HEADERS_H
#define GV_BIND_NCCL_HEADERS_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#if __has_include(<nccl.h>) && __has_include(<cuda_fp16.h>)
#include <nccl.h>
#else
typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef struct ncclConfig ncclConfig_t;
typedef int ncclResult_t;
typedef int ncclDataType_t;
typedef int ncclRedOp_t;
#endif

#endif
