/*
 * Runs a fuzz target without libFuzzer: first the inputs in the given files, then random ones:
 * ROUNDS of them, or as many as fit in SECONDS.
 *
 *    fuzz_driver ROUNDS SECONDS [FILE...]
 *
 * The random numbers are the same each time, so failures can be repeated. A failure names its
 * round. FUZZ_SEED selects other numbers.
 */
#include "kernels/random.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DRIVER_INPUT_BYTES 256u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t driver_state;

static int driver_stored(const char *path)
{
    static uint8_t data[1u << 16];
    FILE *file = fopen(path, "rb");

    if (!file) {
        perror(path);
        return 1;
    }
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    return 0;
}

/* Half the damage hits the header's numbers, half anything. Values are often extreme ones. */
static size_t driver_make(uint8_t *data)
{
    static const uint8_t extremes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    size_t size = gv_random(&driver_state) % DRIVER_INPUT_BYTES;

    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)gv_random(&driver_state);
        if (i % 10 >= 3 && gv_random(&driver_state) % 2)
            data[i] = extremes[gv_random(&driver_state) % sizeof(extremes)];
        if (i % 10 == 2)
            data[i] &= 1;
        if (gv_random(&driver_state) % 2 && i % 10 == 1)
            data[i] &= 1;
    }
    for (size_t i = 0; i + 2 < size; i += 10)
        if (gv_random(&driver_state) % 2)
            data[i + 1] = data[i + 2] = 0;
    return size;
}

int main(int argc, char **argv)
{
    const char *seed = getenv("FUZZ_SEED");
    uint8_t data[DRIVER_INPUT_BYTES];
    time_t end;
    long rounds = argc > 1 ? atol(argv[1]) : 1000, round;

    driver_state = seed ? strtoull(seed, NULL, 0) | 1 : 0x9e3779b97f4a7c15u;
    end = time(NULL) + (argc > 2 ? atol(argv[2]) : 5);
    for (int i = 3; i < argc; i++)
        if (driver_stored(argv[i]))
            return 1;
    for (round = 0; round < rounds && time(NULL) < end; round++)
        LLVMFuzzerTestOneInput(data, driver_make(data));
    printf("%ld random inputs, %d stored ones\n", round, argc > 3 ? argc - 3 : 0);
    return 0;
}
