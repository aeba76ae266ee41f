#include "preload/process/stand_in_parent.h"

#include "trace/gpu_module.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kept around each thing that is still needed; a multiple of every page size. */
#define KEPT_BYTES ((uintptr_t)65536)

bool gv_stand_in_is_needed(void)
{
    int collects = 0;

    return syscall(SYS_getpid) == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &collects) == 0 && collects);
}

/* libc is no longer there. The result is -errno. */
#if defined(__x86_64__)
static inline __attribute__((always_inline)) long call_kernel(long number, uintptr_t a, uintptr_t b,
                                                              uintptr_t c, uintptr_t d)
{
    register uintptr_t fourth __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline __attribute__((always_inline)) long call_kernel(long number, uintptr_t a, uintptr_t b,
                                                              uintptr_t c, uintptr_t d)
{
    register long which __asm__("x8") = number;
    register uintptr_t first __asm__("x0") = a;
    register uintptr_t second __asm__("x1") = b;
    register uintptr_t third __asm__("x2") = c;
    register uintptr_t fourth __asm__("x3") = d;

    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth)
                     : "memory");
    return (long)first;
}
#else
#error "how does a system call look here?"
#endif

static inline __attribute__((always_inline)) void swap_if_greater(uintptr_t *a, uintptr_t *b)
{
    uintptr_t was = *a;

    if (was > *b) {
        *a = *b;
        *b = was;
    }
}

/* Unmaps [from, where), and returns the end of what is kept around `where`. */
static inline __attribute__((always_inline)) uintptr_t unmap_up_to(uintptr_t from, uintptr_t where)
{
    uintptr_t start = (where & ~(KEPT_BYTES - 1)) - KEPT_BYTES;

    if (start > from)
        call_kernel(SYS_munmap, from, start - from, 0, 0);
    return start + 3 * KEPT_BYTES;
}

/* Calls nothing and reads no data but its stack and, through the thread pointer, the stack guard.
 */
__attribute__((noreturn, noinline, no_sanitize("address", "thread", "undefined"))) static void
stay_without_memory(uintptr_t code, uintptr_t stack, uintptr_t thread)
{
    uintptr_t from = 0;
    long result;

    swap_if_greater(&code, &stack);
    swap_if_greater(&stack, &thread);
    swap_if_greater(&code, &stack);
    from = unmap_up_to(from, code);
    from = unmap_up_to(from, stack);
    from = unmap_up_to(from, thread);
    /* The kernel refuses a range that goes beyond what a process can have. */
    for (unsigned bits = 57; bits > 36; bits--)
        if (((uintptr_t)1 << bits) - KEPT_BYTES > from &&
            call_kernel(SYS_munmap, from, ((uintptr_t)1 << bits) - KEPT_BYTES - from, 0, 0) == 0)
            break;
    do
        result = call_kernel(SYS_wait4, (uintptr_t)-1, 0, __WALL, 0);
    while (result >= 0 || result == -EINTR);
    for (;;)
        call_kernel(SYS_exit_group, 0, 0, 0, 0);
}

void gv_stand_in_stay(void *stack)
{
    prctl(PR_SET_NAME, "gpuverify-wait");
    /* It must hold no folder that somebody wants to unmount; where it cannot leave, it stays. */
    if (chdir("/") < 0)
        prctl(PR_SET_NAME, "gpuverify-stay");
    stay_without_memory((uintptr_t)stay_without_memory, (uintptr_t)stack,
                        (uintptr_t)gv_gpu_thread_pointer());
}
