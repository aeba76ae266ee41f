/*
 * The driver's own look-ups: it answers, and what it answers is swapped for our wrapper.
 */
#ifndef GV_BIND_LOOKUP_HOOKS_H
#define GV_BIND_LOOKUP_HOOKS_H

#include "preload/bind/cuda_headers.h"

CUresult gv_hook_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion,
                                  cuuint64_t flags);
CUresult gv_hook_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                     cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *symbolStatus);

#endif
