/* Protocol Buffers messages byte by byte, and messages that do not fit. What other readers make of
 * them is in tests/e2e/test_tracks.py. */
#include "tests/unit/report/cmocka_all.h"

#include "report/show/protobuf.h"

#include <string.h>

static struct gv_protobuf message;

static void assert_written(const char *bytes, size_t count)
{
    assert_false(message.full);
    assert_int_equal(message.count, count);
    assert_memory_equal(message.bytes, bytes, count);
}

/* The bytes are those of the encoding's own documentation, or follow from it. */
static void test_fields(void **state)
{
    gv_protobuf_begin(&message);
    gv_protobuf_number(&message, 1, 150);
    assert_written("\x08\x96\x01", 3);
    gv_protobuf_begin(&message);
    gv_protobuf_text(&message, 2, "testing");
    assert_written("\x12\x07testing", 9);
    gv_protobuf_begin(&message);
    gv_protobuf_number(&message, 1, (uint64_t)INT64_C(-2));
    assert_written("\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    gv_protobuf_begin(&message);
    gv_protobuf_double(&message, 44, 1.0);
    assert_written("\xe1\x02\x00\x00\x00\x00\x00\x00\xf0\x3f", 10);
    gv_protobuf_begin(&message);
    gv_protobuf_fixed64(&message, 47, UINT64_C(0x0102030405060708));
    assert_written("\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01", 10);
}

/* The length of a message takes one byte, two, or three. */
static void test_messages_inside(void **state)
{
    static char text[20000];

    memset(text, 'x', sizeof(text));
    for (size_t bytes = 0; bytes < sizeof(text); bytes = bytes ? bytes * 5 : 25) {
        gv_protobuf_begin(&message);
        size_t outer = gv_protobuf_open(&message, 1), inner = gv_protobuf_open(&message, 2);
        gv_protobuf_bytes(&message, 3, text, bytes);
        gv_protobuf_close(&message, inner);
        gv_protobuf_close(&message, outer);
        gv_protobuf_number(&message, 4, 1);

        size_t at = 0, left = message.count - 2;
        for (int field = 1; field <= 3; field++) {
            size_t length = 0;
            assert_int_equal(message.bytes[at++], field << 3 | 2);
            for (int shift = 0;; shift += 7) {
                length |= (size_t)(message.bytes[at] & 0x7f) << shift;
                if (message.bytes[at++] < 0x80)
                    break;
            }
            left = field == 3 ? bytes : message.count - 2 - at;
            assert_int_equal(length, left);
        }
        assert_memory_equal(message.bytes + at, text, bytes);
        assert_memory_equal(message.bytes + at + bytes, "\x20\x01", 2);
    }
}

/* Nothing is written beyond the buffer, and it is full until it is emptied. */
static void test_full(void **state)
{
    static char text[GV_PROTOBUF_BYTES];

    gv_protobuf_begin(&message);
    gv_protobuf_bytes(&message, 1, text, sizeof(text));
    assert_true(message.full);
    gv_protobuf_begin(&message);
    while (!message.full)
        gv_protobuf_close(&message, gv_protobuf_open(&message, 1));
    assert_in_range(message.count, GV_PROTOBUF_BYTES - 64, GV_PROTOBUF_BYTES);
    gv_protobuf_number(&message, 1, 1);
    assert_true(message.full);
    gv_protobuf_begin(&message);
    gv_protobuf_number(&message, 1, 150);
    assert_written("\x08\x96\x01", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_messages_inside),
        cmocka_unit_test(test_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
