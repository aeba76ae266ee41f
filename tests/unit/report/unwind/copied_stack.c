#include "tests/unit/report/unwind/copied_stack.h"

#include "tests/unit/report/cmocka_all.h"

#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* The end of this thread's stack. A signal handler may call this once a thread has. */
static uintptr_t stack_end(void)
{
    static _Thread_local uintptr_t end;
    pthread_attr_t attributes;
    void *low;
    size_t size;

    if (!end && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &low, &size) == 0)
            end = (uintptr_t)low + size;
        pthread_attr_destroy(&attributes);
    }
    return end;
}

#if defined(__x86_64__)
#define STORE_REGISTERS(stack)                                                                     \
    __asm__ volatile("mov %%rax, 0(%0)\n mov %%rdx, 8(%0)\n mov %%rcx, 16(%0)\n"                   \
                     "mov %%rbx, 24(%0)\n mov %%rsi, 32(%0)\n mov %%rdi, 40(%0)\n"                 \
                     "mov %%rbp, 48(%0)\n mov %%rsp, 56(%0)\n mov %%r8, 64(%0)\n"                  \
                     "mov %%r9, 72(%0)\n mov %%r10, 80(%0)\n mov %%r11, 88(%0)\n"                  \
                     "mov %%r12, 96(%0)\n mov %%r13, 104(%0)\n mov %%r14, 112(%0)\n"               \
                     "mov %%r15, 120(%0)\n lea 0(%%rip), %%rax\n mov %%rax, %1\n"                  \
                     :                                                                             \
                     : "r"((stack)->value), "m"((stack)->pc)                                       \
                     : "rax", "memory")
#define SP    7
#define KNOWN 0xffffu
#elif defined(__aarch64__)
#define STORE_REGISTERS(stack)                                                                     \
    __asm__ volatile("stp x0, x1, [%0, 0]\n stp x18, x19, [%0, 144]\n"                             \
                     "stp x20, x21, [%0, 160]\n stp x22, x23, [%0, 176]\n"                         \
                     "stp x24, x25, [%0, 192]\n stp x26, x27, [%0, 208]\n"                         \
                     "stp x28, x29, [%0, 224]\n mov x9, sp\n stp x30, x9, [%0, 240]\n"             \
                     "adr x9, .\n str x9, %1\n"                                                    \
                     :                                                                             \
                     : "r"((stack)->value), "m"((stack)->pc)                                       \
                     : "x9", "memory")
#define SP    31
#define KNOWN 0xfffc0000u
#endif

/* AddressSanitizer takes memcpy() of a whole stack for an error. */
__attribute__((no_sanitize("address"))) static void copy(unsigned char *to, uint64_t from,
                                                         size_t size)
{
    const volatile unsigned char *bytes = (const unsigned char *)(uintptr_t)from;

    for (size_t i = 0; i < size; i++)
        to[i] = bytes[i];
}

__attribute__((noinline)) void copied_stack_take(struct copied_stack *copied)
{
    struct gv_unwind_stack *stack = &copied->stack;

    memset(stack, 0, sizeof(*stack));
    STORE_REGISTERS(stack);
    stack->known = KNOWN;
    stack->sp = stack->value[SP];
    stack->bytes = copied->bytes;
    stack->size = stack_end() - stack->sp;
    if (stack->size > COPIED_BYTES)
        stack->size = COPIED_BYTES;
    copy(copied->bytes, stack->sp, stack->size);
    int count = backtrace(copied->glibc, GV_UNWIND_FRAMES), first = 0;
    /* AddressSanitizer puts a function of its own around backtrace(). */
    while (first < count && (uintptr_t)copied->glibc[first] - stack->pc > 4096)
        first++;
    copied->glibc_count = count - first;
    memmove(copied->glibc, copied->glibc + first, (size_t)copied->glibc_count * sizeof(void *));
}

/* ---- objects ---- */

struct list {
    struct gv_unwinder *unwinder;
    uint32_t generation;
    const char *without;
};

static void find_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * header,
                          struct gv_unwind_object *object)
{
    const char *note = (const char *)info->dlpi_addr + header->p_vaddr;
    const char *end = note + header->p_memsz;
    size_t align = header->p_align == 8 ? 8 : 4;

    while (note < end) {
        const ElfW(Nhdr) *head = (const void *)note;
        const char *name = note + sizeof(*head);
        const char *data = name + ((head->n_namesz + align - 1) & ~(align - 1));
        if (head->n_type == NT_GNU_BUILD_ID && strcmp(name, "GNU") == 0 &&
            head->n_descsz <= GV_UNWIND_BUILD_ID) {
            memcpy(object->build_id, data, head->n_descsz);
            object->build_id_bytes = (uint8_t)head->n_descsz;
        }
        note = data + ((head->n_descsz + align - 1) & ~(align - 1));
    }
}

static int add_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct list *list = context;
    char path[4096] = "";
    struct gv_unwind_object object = {.base = info->dlpi_addr, .low = UINT64_MAX, .path = path};

    (void)size;
    if (info->dlpi_name[0])
        strncpy(path, info->dlpi_name, sizeof(path) - 1);
    else
        assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t low = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_NOTE)
            find_build_id(info, header, &object);
        if (header->p_type != PT_LOAD)
            continue;
        object.low = low < object.low ? low : object.low;
        object.high = low + header->p_memsz > object.high ? low + header->p_memsz : object.high;
    }
    if (!list->without || !strstr(path, list->without))
        assert_int_equal(gv_unwinder_add(list->unwinder, list->generation, &object), 0);
    return 0;
}

void copied_stack_add_objects(struct gv_unwinder *unwinder, uint32_t generation,
                              const char *without)
{
    struct list list = {unwinder, generation, without};

    dl_iterate_phdr(add_object, &list);
}

size_t copied_stack_common(const struct copied_stack *copied, const struct gv_unwind_chain *chain)
{
    size_t common = 1;

    /* On aarch64, glibc names the call and not what follows it. */
    while (common < chain->count && common < (size_t)copied->glibc_count &&
           chain->address[common] - (uintptr_t)copied->glibc[common] <= 1)
        common++;
    return common;
}
