/*
 * Overlapping copies and kernels on four streams. Each block goes to the GPU, a kernel writes its
 * first word, and the block comes back. First with pinned memory, then with pageable memory, whose
 * copies are not asynchronous.
 *
 *     copy_pipeline [BLOCKS]      default 32, of 1 MB
 */
#include "kernels/ordinary/workload.h"

#define STREAMS     4
#define BLOCK_BYTES (1u << 20)

static void run(struct gv_workload *workload, CUstream *streams, unsigned char *memory,
                unsigned long blocks, const char *kind)
{
    CUdeviceptr device[STREAMS];
    for (int i = 0; i < STREAMS; i++)
        CHECK(cuMemAlloc(&device[i], BLOCK_BYTES));
    for (unsigned long i = 0; i < blocks * BLOCK_BYTES; i++)
        memory[i] = (unsigned char)(i * 7);
    uint64_t start_ns = gv_clock_ns();
    for (unsigned long i = 0; i < blocks; i++) {
        CUstream stream = streams[i % STREAMS];
        unsigned char *block = memory + i * BLOCK_BYTES;
        CHECK(cuMemcpyHtoDAsync(device[i % STREAMS], block, BLOCK_BYTES, stream));
        gv_workload_fill(workload, stream, device[i % STREAMS], (uint32_t)i);
        CHECK(cuMemcpyDtoHAsync(block, device[i % STREAMS], BLOCK_BYTES, stream));
    }
    double queued_ms = gv_clock_ms_since(start_ns);
    for (int i = 0; i < STREAMS; i++)
        CHECK(cuStreamSynchronize(streams[i]));
    printf("%lu blocks of %s memory: queued in %.3f ms, done after %.3f ms\n", blocks, kind,
           queued_ms, gv_clock_ms_since(start_ns));
    for (unsigned long i = 0; i < blocks * BLOCK_BYTES; i++) {
        uint32_t word = (uint32_t)(i / BLOCK_BYTES);
        unsigned long at = i % BLOCK_BYTES;
        bool written = at < sizeof(word) && !workload->simulated;
        unsigned char wanted = (unsigned char)(written ? word >> (8 * at) : i * 7);
        if (memory[i] != wanted) {
            printf("wrong: byte %lu is %u, %u expected\n", i, memory[i], wanted);
            exit(1);
        }
    }
    for (int i = 0; i < STREAMS; i++)
        CHECK(cuMemFree(device[i]));
}

int main(int argc, char **argv)
{
    unsigned long blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 32;
    struct gv_workload workload;
    CUstream streams[STREAMS];
    void *pinned;

    gv_workload_open(&workload, 0);
    for (int i = 0; i < STREAMS; i++)
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    CHECK(cuMemHostAlloc(&pinned, blocks * BLOCK_BYTES, 0));
    run(&workload, streams, pinned, blocks, "pinned");
    CHECK(cuMemFreeHost(pinned));
    unsigned char *pageable = malloc(blocks * BLOCK_BYTES);
    if (!pageable)
        return 1;
    run(&workload, streams, pageable, blocks, "pageable");
    free(pageable);
    gv_claim("kernels", 2 * blocks, "fill");
    gv_claim("streams", STREAMS, "fill");
    gv_claim("copies", 2 * blocks, "host to device");
    gv_claim("copies", 2 * blocks, "device to host");
    gv_claim("bytes", 2 * blocks * BLOCK_BYTES, "host to device");
    gv_claim("bytes", 2 * blocks * BLOCK_BYTES, "device to host");
    for (int i = 0; i < STREAMS; i++)
        CHECK(cuStreamDestroy(streams[i]));
    gv_workload_close(&workload);
    return 0;
}
