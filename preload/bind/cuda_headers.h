/*
 * NVIDIA's headers with every exact symbol declared: also the older variants that they hide, and
 * the private calls of compiled CUDA code to its libcudart.
 */
#ifndef GV_BIND_CUDA_HEADERS_H
#define GV_BIND_CUDA_HEADERS_H

#define __CUDA_API_VERSION_INTERNAL 1

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdint.h>

#endif
