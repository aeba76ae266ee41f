#include "report/unwind/tables.h"

#include <errno.h>
#include <string.h>

/* Older ones guess the caller of a function that signs its return address (aarch64). */
#if defined(__aarch64__) && defined(GV_HAS_LIBUNWIND)
#include <libunwind.h>
#define KNOWS_SIGNED (UNW_VERSION >= UNW_VERSION_CODE(1, 8))
#else
#define KNOWS_SIGNED 0
#endif

#if defined(__aarch64__)
#define REGISTERS      97u
#define RETURN_ADDRESS 30u
#else
#define REGISTERS      17u
#define RETURN_ADDRESS 16u
#endif

#define PROGRAM_BYTES    16384u
#define EXPRESSION_BYTES 128u
#define REMEMBERED       32u

/* ---- bytes ---- */

/* A part of the file. What does not fit in it sets `bad`. */
struct bytes {
    struct gv_mapped_file *file;
    uint64_t at, end;
    bool bad;
};

static uint64_t take(struct bytes *bytes, size_t size)
{
    uint64_t value = 0;

    if (bytes->bad || bytes->at > bytes->end || size > bytes->end - bytes->at ||
        gv_mapped_file_read(bytes->file, bytes->at, &value, size) != size) {
        bytes->bad = true;
        return 0;
    }
    bytes->at += size;
    return value;
}

/* Both signed and unsigned ones, whose values differ only above the last bit that is stored. */
static uint64_t take_leb128(struct bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take(bytes, 1);
        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    bytes->bad = true;
    return 0;
}

static void take_register(struct bytes *bytes)
{
    if (take_leb128(bytes) >= REGISTERS)
        bytes->bad = true;
}

static void skip(struct bytes *bytes, uint64_t size)
{
    if (bytes->at > bytes->end || size > bytes->end - bytes->at)
        bytes->bad = true;
    else
        bytes->at += size;
}

/* Encodings of pointers */
#define ENCODING_SIZE(encoding) ((encoding)&0x0f)
#define ENCODING_BASE(encoding) ((encoding)&0x70)
#define ENCODING_PCREL          0x10
#define ENCODING_OMIT           0xff

/* How many bytes; 0: another encoding. */
static size_t pointer_bytes(uint64_t encoding)
{
    static const uint8_t bytes[16] = {[0x00] = 8, [0x03] = 4, [0x04] = 8, [0x0b] = 4, [0x0c] = 8};

    return encoding == ENCODING_OMIT ? 0 : bytes[ENCODING_SIZE(encoding)];
}

/* ---- programs ---- */

/* Where values are: only what neither loops nor divides. */
static void check_expression(struct bytes *bytes)
{
    uint64_t size = take_leb128(bytes);
    struct bytes inner = {bytes->file, bytes->at, bytes->at + size, false};

    if (size > EXPRESSION_BYTES)
        bytes->bad = true;
    skip(bytes, size);
    while (!bytes->bad && !inner.bad && inner.at < inner.end) {
        uint64_t operation = take(&inner, 1);
        switch (operation) {
        case 0x08: /* const1u */
        case 0x09: /* const1s */
            skip(&inner, 1);
            break;
        case 0x0a: /* const2u */
        case 0x0b: /* const2s */
            skip(&inner, 2);
            break;
        case 0x0c: /* const4u */
        case 0x0d: /* const4s */
            skip(&inner, 4);
            break;
        case 0x10: /* constu */
        case 0x11: /* consts */
        case 0x23: /* plus_uconst */
            take_leb128(&inner);
            break;
        case 0x06: /* deref */
        case 0x12: /* dup */
        case 0x1a: /* and */
        case 0x1c: /* minus */
        case 0x1e: /* mul */
        case 0x1f: /* neg */
        case 0x20: /* not */
        case 0x21: /* or */
        case 0x22: /* plus */
        case 0x24: /* shl */
        case 0x25: /* shr */
        case 0x29: /* eq */
        case 0x2a: /* ge */
        case 0x2b: /* gt */
        case 0x2c: /* le */
        case 0x2d: /* lt */
        case 0x2e: /* ne */
            break;
        default:
            if (operation >= 0x70 && operation < 0x70 + 32 && operation - 0x70 < REGISTERS)
                take_leb128(&inner);                            /* breg */
            else if (!(operation >= 0x30 && operation <= 0x4f)) /* lit */
                inner.bad = true;
        }
    }
    bytes->bad |= inner.bad;
}

/* `cfa`: whether it is known where the frame is, without which nothing is. `remembered`: how many
 * states. */
static void check_operation(struct bytes *bytes, bool *cfa, unsigned *remembered)
{
    uint64_t operation = take(bytes, 1);

    switch (operation >> 6) {
    case 1: /* advance_loc */
        bytes->bad |= !*cfa;
        return;
    case 2: /* offset */
        if ((operation & 0x3f) >= REGISTERS)
            bytes->bad = true;
        take_leb128(bytes);
        return;
    case 3: /* restore */
        if ((operation & 0x3f) >= REGISTERS)
            bytes->bad = true;
        return;
    }
    switch (operation) {
    case 0x00: /* nop */
        break;
    case 0x02: /* advance_loc1 */
        bytes->bad |= !*cfa;
        skip(bytes, 1);
        break;
    case 0x03: /* advance_loc2 */
        bytes->bad |= !*cfa;
        skip(bytes, 2);
        break;
    case 0x04: /* advance_loc4 */
        bytes->bad |= !*cfa;
        skip(bytes, 4);
        break;
    case 0x0c: /* def_cfa */
    case 0x12: /* def_cfa_sf */
        *cfa = true;
        take_register(bytes);
        take_leb128(bytes);
        break;
    case 0x05: /* offset_extended */
    case 0x11: /* offset_extended_sf */
    case 0x2f: /* negative_offset_extended */
        take_register(bytes);
        take_leb128(bytes);
        break;
    case 0x06: /* restore_extended */
    case 0x07: /* undefined */
    case 0x08: /* same_value */
    case 0x0d: /* def_cfa_register */
        take_register(bytes);
        break;
    case 0x09: /* register */
        take_register(bytes);
        take_register(bytes);
        break;
    case 0x0a: /* remember_state */
        if (++*remembered > REMEMBERED)
            bytes->bad = true;
        break;
    case 0x0b: /* restore_state */
        if ((*remembered)-- == 0)
            bytes->bad = true;
        break;
    case 0x0e: /* def_cfa_offset */
    case 0x13: /* def_cfa_offset_sf */
    case 0x2e: /* args_size */
        take_leb128(bytes);
        break;
    case 0x0f: /* def_cfa_expression */
        *cfa = true;
        check_expression(bytes);
        break;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        take_register(bytes);
        check_expression(bytes);
        break;
    case 0x2d: /* negate_ra_state */
        bytes->bad |= !KNOWS_SIGNED;
        break;
    default:
        bytes->bad = true;
    }
}

static bool check_program(struct bytes *bytes, bool *cfa)
{
    unsigned remembered = 0;

    if (bytes->bad || bytes->at > bytes->end || bytes->end - bytes->at > PROGRAM_BYTES)
        return false;
    while (!bytes->bad && bytes->at < bytes->end)
        check_operation(bytes, cfa, &remembered);
    return !bytes->bad;
}

/* ---- entries ---- */

/* The bytes of an entry, after its length. */
static struct bytes open_entry(struct gv_mapped_file *file, uint64_t address)
{
    struct bytes bytes = {file, address, address + 4, false};
    uint64_t size = take(&bytes, 4);

    /* A larger number says that the size is in the next eight bytes. */
    bytes.bad |= size == 0 || size >= 0xfffffff0u;
    bytes.end = bytes.at + size;
    return bytes;
}

/* What the functions of one compilation share. */
static bool check_common(struct gv_mapped_file *file, uint64_t address, uint64_t *encoding,
                         bool *cfa)
{
    struct bytes bytes = open_entry(file, address);
    char letters[8] = "";

    bytes.bad |= take(&bytes, 4) != 0;
    uint64_t version = take(&bytes, 1);
    bytes.bad |= version != 1 && version != 3;
    for (size_t i = 0; !bytes.bad && (letters[i] = (char)take(&bytes, 1)) != '\0';)
        bytes.bad |= ++i == sizeof(letters);
    if (bytes.bad || letters[0] != 'z')
        return false;
    take_leb128(&bytes); /* the factors of code and data */
    take_leb128(&bytes);
    bytes.bad |= (version == 1 ? take(&bytes, 1) : take_leb128(&bytes)) != RETURN_ADDRESS;
    uint64_t size = take_leb128(&bytes), program = bytes.at + size;
    *encoding = 0;
    for (const char *letter = letters + 1; *letter; letter++) {
        uint64_t value = strchr("PLR", *letter) ? take(&bytes, 1) : 0;
        if (*letter == 'P')
            skip(&bytes, pointer_bytes(value));
        else if (*letter == 'R')
            *encoding = value;
        else
            bytes.bad |= !strchr("LSBG", *letter);
    }
    /* libunwind does not skip what is left. */
    return bytes.at == program && check_program(&bytes, cfa);
}

static int check_entry(struct gv_mapped_file *file, uint64_t address, struct gv_table_entry *entry)
{
    struct bytes bytes = open_entry(file, address);
    uint64_t encoding, common = bytes.at;
    bool cfa = false;

    common -= take(&bytes, 4);
    if (bytes.bad || common >= address || !check_common(file, common, &encoding, &cfa))
        return -EINVAL;
    size_t pointer = pointer_bytes(encoding);
    uint64_t base = ENCODING_BASE(encoding) == ENCODING_PCREL ? bytes.at : 0;
    if (!pointer || encoding & 0x80 || (ENCODING_BASE(encoding) && !base))
        return -EINVAL;
    uint64_t start = take(&bytes, pointer), size = take(&bytes, pointer);
    if (pointer == 4)
        start = (uint64_t)(int64_t)(int32_t)start;
    entry->start = base + start;
    entry->end = entry->start + size;
    skip(&bytes, take_leb128(&bytes));
    return check_program(&bytes, &cfa) && cfa ? 0 : -EINVAL;
}

/* An entry: where the function starts, and where its entry is, both relative to the header. */
static bool read_row(struct gv_mapped_file *file, uint64_t row, int32_t place[2])
{
    size_t size = 2 * sizeof(int32_t);

    return gv_mapped_file_read(file, file->table + row * size, place, size) == size;
}

int gv_table_find(struct gv_mapped_file *file, uint64_t address, struct gv_table_entry *entry)
{
    uint64_t low = 0, high = file->entries;
    int64_t wanted = (int64_t)(address - file->header);
    int32_t place[2];

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (!read_row(file, middle, place))
            return -EINVAL;
        if (place[0] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return -ENOENT;
    if (!read_row(file, low - 1, place))
        return -EINVAL;
    entry->at = file->table + 8 * (low - 1);
    int error = check_entry(file, file->header + (uint64_t)(int64_t)place[1], entry);
    return error ? error : address < entry->start || address >= entry->end ? -ENOENT : 0;
}
