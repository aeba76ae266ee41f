/* What is no image. */
#include "preload/hooks/images.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nothing_is_known_of_nothing(void **state)
{
    struct gv_image image;

    (void)state;
    gv_image_inspect(NULL, 0, &image);
    assert_false(image.knows_bytes);
    gv_image_inspect("", 0, &image);
    assert_false(image.knows_bytes);
    gv_image_inspect_file("/nonexistent/file", &image);
    assert_false(image.knows_bytes);
    gv_image_inspect_file("/", &image);
    assert_false(image.knows_bytes);
    gv_image_inspect_file("/dev/zero", &image);
    assert_false(image.knows_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_of_nothing),
    };

    return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
