/* An image's kind, size, and hash of bounded cost. */
#include "preload/hooks/images.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.visible .entry k() { ret; }\n";

static void a_text_is_ptx_of_its_length(void **state)
{
    struct gv_image image;

    (void)state;
    gv_image_inspect(ptx, 0, &image);
    assert_int_equal(image.kind, GV_IMAGE_PTX);
    assert_true(image.knows_bytes);
    assert_int_equal(image.bytes, sizeof ptx - 1);
    assert_int_not_equal(image.hash, 0);
}

static void an_elf_file_ends_with_its_last_part(void **state)
{
    static unsigned char file[4096];
    Elf64_Ehdr header = {.e_shoff = 1000, .e_shnum = 2, .e_shentsize = sizeof(Elf64_Shdr)};
    Elf64_Shdr section = {.sh_type = SHT_PROGBITS, .sh_offset = 2000, .sh_size = 500};
    struct gv_image image;

    (void)state;
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    memcpy(file, &header, sizeof header);
    memcpy(file + 1000, &section, sizeof section);
    gv_image_inspect(file, 0, &image);
    assert_int_equal(image.kind, GV_IMAGE_CUBIN);
    assert_int_equal(image.bytes, 2500);
}

static void a_fat_binary_is_found_behind_its_wrapper(void **state)
{
    struct {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t payload_bytes;
        char payload[100];
    } fat = {0xba55ed50u, 1, 16, 100, "code"};
    struct {
        uint32_t magic, version;
        const void *data, *name;
    } wrapper = {0x466243b1u, 1, &fat, NULL};
    struct gv_image plain, wrapped;

    (void)state;
    gv_image_inspect(&fat, 0, &plain);
    gv_image_inspect(&wrapper, 0, &wrapped);
    assert_int_equal(plain.kind, GV_IMAGE_FATBIN);
    assert_int_equal(plain.bytes, 116);
    assert_int_equal(wrapped.kind, GV_IMAGE_FATBIN);
    assert_int_equal(wrapped.bytes, 116);
    assert_int_equal(wrapped.hash, plain.hash);
}

static void hashes_tell_images_apart(void **state)
{
    char *large = calloc(1, 10 << 20);
    struct gv_image first, same, end, start, shorter;

    (void)state;
    assert_non_null(large);
    gv_image_inspect(large, 10 << 20, &first);
    gv_image_inspect(large, 10 << 20, &same);
    large[(10 << 20) - 1] = 1;
    gv_image_inspect(large, 10 << 20, &end);
    large[(10 << 20) - 1] = 0;
    large[0] = 1;
    gv_image_inspect(large, 10 << 20, &start);
    large[0] = 0;
    gv_image_inspect(large, (10 << 20) - 8, &shorter);
    assert_true(first.hash == same.hash);
    assert_true(first.hash != end.hash);
    assert_true(first.hash != start.hash);
    assert_true(first.hash != shorter.hash);
    free(large);
}

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

static void a_file_is_what_it_holds(void **state)
{
    char path[] = "/tmp/gpuverify-test-XXXXXX";
    int fd = mkstemp(path);
    struct gv_image by_file, by_memory;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, ptx, sizeof ptx - 1), sizeof ptx - 1);
    close(fd);
    gv_image_inspect_file(path, &by_file);
    gv_image_inspect(ptx, 0, &by_memory);
    unlink(path);
    assert_int_equal(by_file.kind, GV_IMAGE_PTX);
    assert_true(by_file.hash == by_memory.hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_ptx_of_its_length),
        cmocka_unit_test(an_elf_file_ends_with_its_last_part),
        cmocka_unit_test(a_fat_binary_is_found_behind_its_wrapper),
        cmocka_unit_test(hashes_tell_images_apart),
        cmocka_unit_test(nothing_is_known_of_nothing),
        cmocka_unit_test(a_file_is_what_it_holds),
    };

    return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
