/*
 * Stands in for what entry_points.c needs of the library, and provides libraries for it to find in
 * the folder GV_RACES.
 */
#ifndef GV_TESTS_LOOKUPS_H
#define GV_TESTS_LOOKUPS_H

#include "preload/bind/entry_points.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *const gv_hooks_driver[GV_DRIVER_COUNT] = {[GV_ID_cuInit] = (void *)1};
void *const gv_hooks_runtime0[GV_RUNTIME_COUNT] = {[GV_ID_cudaDeviceSynchronize - GV_DRIVER_COUNT] =
                                                       (void *)2};
void *const gv_hooks_runtime1[GV_RUNTIME_COUNT] = {[GV_ID_cudaDeviceSynchronize - GV_DRIVER_COUNT] =
                                                       (void *)2};
void *const gv_hooks_runtime2[GV_RUNTIME_COUNT] = {[GV_ID_cudaDeviceSynchronize - GV_DRIVER_COUNT] =
                                                       (void *)2};
void *const gv_hooks_runtime3[GV_RUNTIME_COUNT] = {[GV_ID_cudaDeviceSynchronize - GV_DRIVER_COUNT] =
                                                       (void *)2};
void *const gv_hooks_nccl[GV_NCCL_COUNT] = {[GV_ID_ncclAllReduce - GV_CUDA_COUNT] = (void *)3};

bool gv_process_records_runtime(void);
bool gv_process_is_ours(void);

bool gv_process_records_runtime(void)
{
    return true;
}

bool gv_process_is_ours(void)
{
    return true;
}

static void *open_library(const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/lib%s.so", getenv("GV_RACES"), name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static uintptr_t place_in(void *library)
{
    return (uintptr_t)dlsym(library, "gv_here");
}

#endif
