/*
 * What a compiler generates for <<<>>>, written by hand: a fat binary and its kernel registered
 * before main, code loaded inside the first launch, kernels identified by their host function's
 * address.
 */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PTX                                                                                        \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                              \
    ".visible .entry first_registered()\n{\nret;\n}\n"                                             \
    ".visible .entry other_registered()\n{\nret;\n}\n"

/* One entry of uncompressed PTX. */
static const struct {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t size_bytes;
    struct {
        uint16_t kind, version;
        uint32_t header_bytes;
        uint64_t size_bytes;
        uint32_t compressed_bytes, unused;
        uint16_t minor, major;
        uint32_t arch;
        uint64_t name, flags, unpacked_bytes;
    } entry;
    char text[(sizeof(PTX) + 7) / 8 * 8];
} image = {
    .magic = 0xBA55ED50u,
    .version = 1,
    .header_bytes = 16,
    .size_bytes = sizeof(image) - 16,
    .entry = {.kind = 1,
              .version = 0x101,
              .header_bytes = sizeof(image.entry),
              .size_bytes = sizeof(image.text),
              .major = 7,
              .arch = 70},
    .text = PTX,
};

static const struct {
    uint32_t magic, version;
    const void *data;
    void *unused;
} wrapper = {0x466243b1u, 1, &image, NULL};

void **__cudaRegisterFatBinary(void *data);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);

static void first(void)
{
}

static void other(void)
{
}

static void **handle;

static void leave(void)
{
    __cudaUnregisterFatBinary(handle);
}

__attribute__((constructor)) static void registers(void)
{
    static char first_name[] = "first_registered", other_name[] = "other_registered";

    handle = __cudaRegisterFatBinary((void *)&wrapper);
    __cudaRegisterFunction(handle, (const char *)&first, first_name, first_name, -1, NULL, NULL,
                           NULL, NULL, NULL);
    __cudaRegisterFunction(handle, (const char *)&other, other_name, other_name, -1, NULL, NULL,
                           NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
    atexit(leave);
}

static void launch(void (*function)(void))
{
    dim3 one = {1, 1, 1};
    int result = (int)cudaLaunchKernel((const void *)function, one, one, NULL, 0, NULL);

    printf("launch: %d\n", result);
}

int main(void)
{
    launch(first);
    launch(first);
    launch(other);
    printf("synchronize: %d\n", (int)cudaDeviceSynchronize());
    return 0;
}
