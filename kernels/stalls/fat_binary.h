/* A fat binary with one entry of uncompressed PTX, as the tool fatbinary writes it. */
#ifndef GV_KERNELS_STALLS_FAT_BINARY_H
#define GV_KERNELS_STALLS_FAT_BINARY_H

#include <stdint.h>

struct gv_fat_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t text_bytes;
    uint32_t compressed_bytes, options;
    uint16_t minor, major;
    uint32_t arch;
    uint64_t name, flags, unpacked_bytes, unused, options_end, unused_too;
};

/* GV_FAT_BINARY(NAME, "PTX"); */
#define GV_FAT_BINARY(NAME, PTX)                                                                   \
    static const struct {                                                                          \
        uint32_t magic;                                                                            \
        uint16_t version, header_bytes;                                                            \
        uint64_t size_bytes;                                                                       \
        struct gv_fat_entry entry;                                                                 \
        char text[(sizeof(PTX) + 15) / 8 * 8];                                                     \
    } NAME = {                                                                                     \
        .magic = 0xBA55ED50u,                                                                      \
        .version = 1,                                                                              \
        .header_bytes = 16,                                                                        \
        .size_bytes = sizeof(NAME) - 16,                                                           \
        .entry = {.kind = 1,                                                                       \
                  .version = 0x101,                                                                \
                  .header_bytes = sizeof(struct gv_fat_entry),                                     \
                  .text_bytes = sizeof(NAME.text),                                                 \
                  .options = 0x40,                                                                 \
                  .major = 7,                                                                      \
                  .arch = 70,                                                                      \
                  .flags = 0x11, /* 64 bits, Linux */                                              \
                  .options_end = 0x48},                                                            \
        .text = PTX,                                                                               \
    }

_Static_assert(sizeof(struct gv_fat_entry) == 80, "as the driver reads it");

#endif
