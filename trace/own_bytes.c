/*
 * The functions of <string.h> that touch memory which threads share, and those that compilers call
 * by themselves, for the libraries in the program's process: a sanitizer wraps libc's and checks
 * what they touch, but sees none of the atomics by which our threads pass memory on. In a library
 * these hide libc's. Each step of a loop is opaque to the compiler, which would call the function
 * itself.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OWN    __attribute__((visibility("hidden")))
#define STEP() __asm__ volatile("" ::: "memory")

struct word {
    uint64_t value;
} __attribute__((packed, may_alias));

OWN void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    char *out = to;
    const char *in = from;

    for (; bytes >= sizeof(struct word); bytes -= sizeof(struct word)) {
        *(struct word *)out = *(const struct word *)in;
        out += sizeof(struct word);
        in += sizeof(struct word);
        STEP();
    }
    for (; bytes > 0; bytes--) {
        *out++ = *in++;
        STEP();
    }
    return to;
}

OWN void *memmove(void *to, const void *from, size_t bytes)
{
    char *out = to;
    const char *in = from;

    if ((uintptr_t)out - (uintptr_t)in >= bytes)
        return memcpy(to, from, bytes);
    for (; bytes > 0; bytes--) {
        out[bytes - 1] = in[bytes - 1];
        STEP();
    }
    return to;
}

OWN void *memset(void *to, int value, size_t bytes)
{
    const struct word word = {(unsigned char)value * UINT64_C(0x0101010101010101)};
    char *out = to;

    for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
        *(struct word *)out = word;
        out += sizeof(word);
        STEP();
    }
    for (; bytes > 0; bytes--) {
        *out++ = (char)value;
        STEP();
    }
    return to;
}

OWN int memcmp(const void *left, const void *right, size_t bytes)
{
    const unsigned char *one = left, *other = right;

    for (; bytes > 0; bytes--, one++, other++) {
        if (*one != *other)
            return *one - *other;
        STEP();
    }
    return 0;
}

OWN size_t strnlen(const char *text, size_t most)
{
    size_t length = 0;

    while (length < most && text[length]) {
        length++;
        STEP();
    }
    return length;
}

OWN size_t strlen(const char *text)
{
    return strnlen(text, SIZE_MAX);
}
