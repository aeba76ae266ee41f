#include "report/unwind/call_site.h"

#include <string.h>

#if defined(__aarch64__)

#define BL         0x94000000u
#define BL_MASK    0xfc000000u
#define BLR        0xd63f0000u /* with or without authentication */
#define BLR_MASK   0xfefff000u
#define CODE_BYTES 4

static const unsigned char signal_return[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

enum gv_call gv_call_before(struct gv_objects *objects, uint32_t generation, uint64_t returns,
                            uint64_t *target)
{
    uint32_t code;

    if (gv_objects_read(objects, generation, returns - CODE_BYTES, &code, CODE_BYTES) != CODE_BYTES)
        return GV_CALL_NONE;
    if ((code & BL_MASK) == BL) {
        *target = returns - CODE_BYTES + (uint64_t)((int64_t)(int32_t)(code << 6) >> 4);
        return GV_CALL_DIRECT;
    }
    return (code & BLR_MASK) == BLR ? GV_CALL_ANY : GV_CALL_NONE;
}

bool gv_call_is_stub(struct gv_objects *objects, uint32_t generation, uint64_t address)
{
    (void)objects, (void)generation, (void)address;
    return false; /* nobody asks */
}

#else

#define CODE_BYTES 7 /* the longest call, without prefixes */

/* mov $15, %rax; syscall */
static const unsigned char signal_return[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

/* Of `call *...`: 0xff, a byte that says where the operand is, and what that needs. */
static size_t indirect_bytes(const unsigned char *code)
{
    unsigned mode = code[1] >> 6, base = code[1] & 7;
    size_t bytes = 2;

    if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
        return 0;
    if (mode == 3)
        return bytes;
    if (base == 4) {
        base = code[2] & 7;
        bytes++;
    }
    return bytes + (mode == 1 ? 1 : mode == 2 || base == 5 ? 4 : 0);
}

enum gv_call gv_call_before(struct gv_objects *objects, uint32_t generation, uint64_t returns,
                            uint64_t *target)
{
    unsigned char code[CODE_BYTES + 1] = {0}; /* the longest one has no operand in the last byte */
    int32_t distance;

    if (gv_objects_read(objects, generation, returns - CODE_BYTES, code, CODE_BYTES) != CODE_BYTES)
        return GV_CALL_NONE;
    if (code[CODE_BYTES - 5] == 0xe8) {
        memcpy(&distance, code + CODE_BYTES - 4, sizeof(distance));
        *target = returns + (uint64_t)(int64_t)distance;
        return GV_CALL_DIRECT;
    }
    if (code[CODE_BYTES - 6] == 0xff && code[CODE_BYTES - 5] == 0x15)
        return GV_CALL_TABLE;
    for (size_t at = 0; at + 2 <= CODE_BYTES; at++)
        if (indirect_bytes(code + at) == CODE_BYTES - at)
            return GV_CALL_ANY;
    return GV_CALL_NONE;
}

/* jmp *TABLE(%rip), which endbr64 may precede, and a prefix */
bool gv_call_is_stub(struct gv_objects *objects, uint32_t generation, uint64_t address)
{
    static const unsigned char branch_end[] = {0xf3, 0x0f, 0x1e, 0xfa};
    unsigned char code[sizeof(branch_end) + 3];
    size_t at = 0;

    if (gv_objects_read(objects, generation, address, code, sizeof(code)) != sizeof(code))
        return false;
    if (memcmp(code, branch_end, sizeof(branch_end)) == 0)
        at += sizeof(branch_end);
    at += code[at] == 0xf2;
    return code[at] == 0xff && code[at + 1] == 0x25;
}

#endif

bool gv_call_is_signal_return(struct gv_objects *objects, uint32_t generation, uint64_t address)
{
    unsigned char code[sizeof(signal_return)];

    return gv_objects_read(objects, generation, address, code, sizeof(code)) == sizeof(code) &&
           memcmp(code, signal_return, sizeof(code)) == 0;
}
