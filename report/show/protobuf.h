/*
 * Writes Protocol Buffers messages into a buffer of a fixed size: https://protobuf.dev. Values that
 * do not fit are left out, and `full` is set.
 */
#ifndef GV_SHOW_PROTOBUF_H
#define GV_SHOW_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_PROTOBUF_BYTES 524288u

struct gv_protobuf {
    size_t count;
    bool full;
    unsigned char bytes[GV_PROTOBUF_BYTES];
};

/* Empties the buffer. */
void gv_protobuf_begin(struct gv_protobuf *message);

/* Of a field of type uint32, uint64, bool or enum; also int32 and int64 of which negative values
 * are converted to uint64_t. */
void gv_protobuf_number(struct gv_protobuf *message, unsigned int field, uint64_t number);
void gv_protobuf_fixed64(struct gv_protobuf *message, unsigned int field, uint64_t number);
void gv_protobuf_double(struct gv_protobuf *message, unsigned int field, double number);
/* Of type string, bytes, or a whole message. */
void gv_protobuf_bytes(struct gv_protobuf *message, unsigned int field, const void *bytes,
                       size_t count);
void gv_protobuf_text(struct gv_protobuf *message, unsigned int field, const char *text);

/* Begins a message inside this one. Returns what its end takes. */
size_t gv_protobuf_open(struct gv_protobuf *message, unsigned int field);
void gv_protobuf_close(struct gv_protobuf *message, size_t opened);

#endif
