/*
 * Unwinds random stacks through a damaged ELF file. With libFuzzer (clang, -Dfuzz=true) it searches
 * by itself; otherwise tests/fuzz/fuzz_driver.c feeds it random damage.
 *
 * The input overlays a small library with pairs of (offset, bytes); half of the offsets are in its
 * unwind table. Its first byte chooses the stacks. Whatever the input, unwinding must end, and give
 * addresses in the library's code.
 */
#include "kernels/random.h"
#include "report/unwind/unwind.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUZZ_BYTES  (1u << 20)
#define FUZZ_CHUNK  10u
#define FUZZ_BASE   0x7f0000000000u
#define FUZZ_SP     0x7ffd00000000u
#define FUZZ_WORDS  64u
#define FUZZ_STACKS 32u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char fuzz_whole[FUZZ_BYTES], fuzz_damaged[FUZZ_BYTES];
static size_t fuzz_bytes;
static Elf64_Phdr fuzz_code, fuzz_table;
static int fuzz_file;

static void fuzz_begin(void)
{
    const Elf64_Ehdr *head = (const void *)fuzz_whole;
    int fd = open(FUZZ_OBJECT, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, fuzz_whole, sizeof(fuzz_whole));

    if (got <= 0 || (size_t)got == sizeof(fuzz_whole))
        abort();
    close(fd);
    fuzz_bytes = (size_t)got;
    for (size_t i = 0; i < head->e_phnum; i++) {
        const Elf64_Phdr *header = (const void *)(fuzz_whole + head->e_phoff);
        if (header[i].p_type == PT_LOAD && header[i].p_flags & PF_X)
            fuzz_code = header[i];
        if (header[i].p_type == PT_GNU_EH_FRAME)
            fuzz_table = header[i];
    }
    fuzz_file = memfd_create("fuzz_unwind", MFD_CLOEXEC);
    if (fuzz_file < 0 || !fuzz_code.p_filesz || !fuzz_table.p_filesz)
        abort();
}

/* Each chunk: an offset (3 bytes) and 7 bytes to put there. A remainder cuts the file. */
static void fuzz_damage(const uint8_t *data, size_t size)
{
    size_t bytes = fuzz_bytes;

    memcpy(fuzz_damaged, fuzz_whole, fuzz_bytes);
    for (; size >= FUZZ_CHUNK; data += FUZZ_CHUNK, size -= FUZZ_CHUNK) {
        size_t where = (size_t)data[0] | (size_t)data[1] << 8;
        where = data[2] & 1 ? where % fuzz_bytes : fuzz_table.p_offset + where % 1024;
        if (where + FUZZ_CHUNK <= fuzz_bytes)
            memcpy(fuzz_damaged + where, data + 3, FUZZ_CHUNK - 3);
    }
    if (size == 1)
        bytes = bytes * data[0] / 255;
    if (ftruncate(fuzz_file, 0) < 0 || pwrite(fuzz_file, fuzz_damaged, bytes, 0) != (ssize_t)bytes)
        abort();
}

static uint64_t fuzz_word(uint64_t *state)
{
    uint64_t random = gv_random(state);

    switch (random % 4) {
    case 0:
        return FUZZ_SP + random / 4 % (FUZZ_WORDS * 8);
    case 1:
        return FUZZ_BASE + random / 4 % (2 * fuzz_bytes);
    default:
        return FUZZ_BASE + fuzz_code.p_vaddr + random / 4 % fuzz_code.p_memsz;
    }
}

static void fuzz_stack(struct gv_unwinder *unwinder, uint64_t *state)
{
    uint64_t words[FUZZ_WORDS];
    struct gv_unwind_stack stack = {.sp = FUZZ_SP, .bytes = (const unsigned char *)words};
    struct gv_unwind_chain chain;

    for (size_t i = 0; i < FUZZ_WORDS; i++)
        words[i] = fuzz_word(state);
    for (size_t i = 0; i < GV_UNWIND_REGISTERS; i++)
        stack.value[i] = fuzz_word(state);
    stack.pc = FUZZ_BASE + fuzz_code.p_vaddr + gv_random(state) % fuzz_code.p_memsz;
    stack.known = (uint32_t)gv_random(state);
    stack.size = gv_random(state) % (sizeof(words) + 1);
    gv_unwinder_walk(unwinder, &stack, &chain);
    if (chain.count > GV_UNWIND_FRAMES || (gv_unwind_is_there() && chain.address[0] != stack.pc))
        abort();
    for (size_t i = 1; i < chain.count; i++)
        if (chain.address[i] - FUZZ_BASE > fuzz_bytes)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    struct gv_unwind_object object = {
        .base = FUZZ_BASE, .low = FUZZ_BASE, .high = FUZZ_BASE, .path = path};
    uint64_t state = size ? data[0] + 1 : 1;

    if (!fuzz_bytes)
        fuzz_begin();
    fuzz_damage(data + (size > 0), size - (size > 0));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fuzz_file);
    object.high += fuzz_bytes;
    struct gv_unwinder *unwinder = gv_unwinder_open();
    if (!unwinder || gv_unwinder_add(unwinder, 0, &object) < 0)
        abort();
    for (size_t i = 0; i < FUZZ_STACKS; i++)
        fuzz_stack(unwinder, &state);
    gv_unwinder_close(unwinder);
    return 0;
}
