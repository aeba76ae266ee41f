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

/* What follows an operation, by letters: 1, 2, 4 so many bytes; u a number in LEB128; r such a
 * number of a register; x an expression. NULL: the operation is not allowed. */

/* Where values are: only what neither loops nor divides. */
static const char *const expression_operands[256] = {
    [0x06] = "",           /* deref */
    [0x08 ... 0x09] = "1", /* const1u, const1s */
    [0x0a ... 0x0b] = "2",
    [0x0c ... 0x0d] = "4",
    [0x10 ... 0x11] = "u",                                     /* constu, consts */
    [0x12] = "",                                               /* dup */
    [0x1a] = "",                                               /* and */
    [0x1c] = "",                                               /* minus */
    [0x1e ... 0x22] = "",                                      /* mul, neg, not, or, plus */
    [0x23] = "u",                                              /* plus_uconst */
    [0x24 ... 0x25] = "",                                      /* shl, shr */
    [0x29 ... 0x2e] = "",                                      /* comparisons */
    [0x30 ... 0x4f] = "",                                      /* lit */
    [0x70 ... 0x6f + (REGISTERS < 32 ? REGISTERS : 32)] = "u", /* breg */
};

/* Of tables, too: c, it is known then where the frame is, without which nothing is; n, that must be
 * known; + and -, the number of remembered states; s, of signed return addresses. */
static const char *const table_operands[256] = {
    [0x00] = "",            /* nop */
    [0x02] = "n1",          /* advance_loc1 */
    [0x03] = "n2",          /* advance_loc2 */
    [0x04] = "n4",          /* advance_loc4 */
    [0x05] = "ru",          /* offset_extended */
    [0x06 ... 0x08] = "r",  /* restore_extended, undefined, same_value */
    [0x09] = "rr",          /* register */
    [0x0a] = "+",           /* remember_state */
    [0x0b] = "-",           /* restore_state */
    [0x0c] = "cru",         /* def_cfa */
    [0x0d] = "r",           /* def_cfa_register */
    [0x0e] = "u",           /* def_cfa_offset */
    [0x0f] = "cx",          /* def_cfa_expression */
    [0x10] = "rx",          /* expression */
    [0x11] = "ru",          /* offset_extended_sf */
    [0x12] = "cru",         /* def_cfa_sf */
    [0x13] = "u",           /* def_cfa_offset_sf */
    [0x16] = "rx",          /* val_expression */
    [0x2d] = "s",           /* negate_ra_state */
    [0x2e] = "u",           /* args_size */
    [0x2f] = "ru",          /* negative_offset_extended */
    [0x40 ... 0x7f] = "n",  /* advance_loc */
    [0x80 ... 0xbf] = "Ru", /* offset */
    [0xc0 ... 0xff] = "R",  /* restore; R: the register is in the operation */
};

/* `cfa`: whether it is known where the frame is. `remembered`: how many states. */
static void check_operation(struct bytes *bytes, const char *const operands[256], bool *cfa,
                            unsigned *remembered)
{
    uint64_t operation = take(bytes, 1), size;

    bytes->bad |= !operands[operation];
    for (const char *letter = bytes->bad ? "" : operands[operation]; *letter; letter++)
        switch (*letter) {
        case 'c':
            *cfa = true;
            break;
        case 'n':
            bytes->bad |= !*cfa;
            break;
        case 'r':
            bytes->bad |= take_leb128(bytes) >= REGISTERS;
            break;
        case 'R':
            bytes->bad |= (operation & 0x3f) >= REGISTERS;
            break;
        case 'u':
            take_leb128(bytes);
            break;
        case '+':
            bytes->bad |= ++*remembered > REMEMBERED;
            break;
        case '-':
            bytes->bad |= (*remembered)-- == 0;
            break;
        case 's':
            bytes->bad |= !KNOWS_SIGNED;
            break;
        case 'x':
            size = take_leb128(bytes);
            struct bytes inner = {bytes->file, bytes->at, bytes->at + size, false};
            bytes->bad |= size > EXPRESSION_BYTES;
            skip(bytes, size);
            while (!bytes->bad && inner.at < inner.end) {
                check_operation(&inner, expression_operands, cfa, remembered);
                bytes->bad |= inner.bad;
            }
            break;
        default:
            skip(bytes, (uint64_t)(*letter - '0'));
        }
}

static bool check_program(struct bytes *bytes, bool *cfa)
{
    unsigned remembered = 0;

    if (bytes->bad || bytes->at > bytes->end || bytes->end - bytes->at > PROGRAM_BYTES)
        return false;
    while (!bytes->bad && bytes->at < bytes->end)
        check_operation(bytes, table_operands, cfa, &remembered);
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
