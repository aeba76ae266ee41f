#include "report/show/protobuf.h"

#include <string.h>

/* The longest varint. */
#define GV_PROTOBUF_VARINT 10u

enum protobuf_wire {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_LENGTH = 2,
};

static size_t protobuf_varint(unsigned char *out, uint64_t number)
{
    size_t count = 0;

    for (; number > 0x7f; number >>= 7)
        out[count++] = (unsigned char)(number | 0x80);
    out[count++] = (unsigned char)number;
    return count;
}

/* Whether there is room for a field's tag, a length and `count` bytes. */
static bool protobuf_fits(struct gv_protobuf *message, size_t count)
{
    const size_t left = GV_PROTOBUF_BYTES - message->count;

    if (message->full || left < 2 * GV_PROTOBUF_VARINT || count > left - 2 * GV_PROTOBUF_VARINT)
        message->full = true;
    return !message->full;
}

static void protobuf_put(struct gv_protobuf *message, uint64_t number)
{
    message->count += protobuf_varint(message->bytes + message->count, number);
}

static void protobuf_tag(struct gv_protobuf *message, unsigned int field, enum protobuf_wire wire)
{
    protobuf_put(message, (uint64_t)field << 3 | wire);
}

void gv_protobuf_begin(struct gv_protobuf *message)
{
    message->count = 0;
    message->full = false;
}

void gv_protobuf_number(struct gv_protobuf *message, unsigned int field, uint64_t number)
{
    if (!protobuf_fits(message, 0))
        return;
    protobuf_tag(message, field, PROTOBUF_VARINT);
    protobuf_put(message, number);
}

void gv_protobuf_fixed64(struct gv_protobuf *message, unsigned int field, uint64_t number)
{
    if (!protobuf_fits(message, sizeof(number)))
        return;
    protobuf_tag(message, field, PROTOBUF_FIXED64);
    for (unsigned int shift = 0; shift < 64; shift += 8)
        message->bytes[message->count++] = (unsigned char)(number >> shift);
}

void gv_protobuf_double(struct gv_protobuf *message, unsigned int field, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    gv_protobuf_fixed64(message, field, bits);
}

void gv_protobuf_bytes(struct gv_protobuf *message, unsigned int field, const void *bytes,
                       size_t count)
{
    if (!protobuf_fits(message, count))
        return;
    protobuf_tag(message, field, PROTOBUF_LENGTH);
    protobuf_put(message, count);
    memcpy(message->bytes + message->count, bytes, count);
    message->count += count;
}

void gv_protobuf_text(struct gv_protobuf *message, unsigned int field, const char *text)
{
    gv_protobuf_bytes(message, field, text, strlen(text));
}

/* Most inner messages are short: one byte is kept for the length, and the rest is moved if that is
 * not enough. */
size_t gv_protobuf_open(struct gv_protobuf *message, unsigned int field)
{
    if (!protobuf_fits(message, 1))
        return 0;
    protobuf_tag(message, field, PROTOBUF_LENGTH);
    return ++message->count;
}

void gv_protobuf_close(struct gv_protobuf *message, size_t opened)
{
    unsigned char length[GV_PROTOBUF_VARINT];
    size_t bytes;

    if (!protobuf_fits(message, 0))
        return;
    bytes = protobuf_varint(length, message->count - opened);
    memmove(message->bytes + opened - 1 + bytes, message->bytes + opened, message->count - opened);
    memcpy(message->bytes + opened - 1, length, bytes);
    message->count += bytes - 1;
}
