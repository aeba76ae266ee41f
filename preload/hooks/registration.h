/*
 * What compiled CUDA code tells its shared libcudart before main(): which host function stands for
 * which kernel. Remembered for the names of launches; nothing is recorded, and nothing costs more
 * than a table entry, since importing PyTorch registers tens of thousands.
 */
#ifndef GV_HOOKS_REGISTRATION_H
#define GV_HOOKS_REGISTRATION_H

#include <cuda_runtime_api.h>

typedef void gv_register_function(void **, const char *, char *, const char *, int, uint3 *,
                                  uint3 *, dim3 *, dim3 *, int *);

void gv_registration_add(void **fatbin, const char *host_function, const char *device_name);

/* The library that registered is going: its names lie in what will be unmapped. */
void gv_registration_end(void **fatbin);

void gv_registration_alias(const void *kernel, const void *host_function);

#endif
