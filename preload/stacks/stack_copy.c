#include "preload/stacks/stack_copy.h"

#include "preload/base/own_memory.h"
#include "preload/base/own_process.h"
#include "preload/stacks/stack_objects.h"
#include "trace/futex.h"
#include "trace/stack_ring.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
/* The Linux kernel maps nothing by itself so far below the main thread's stack. */
#define MAIN_STACK_MOST (64u << 20)
#define RESERVED_WORDS  2u
/* The collector is nice 19, and behind all others on a busy machine. 0.1 s, with the timer's slack.
 */
#define WAIT_TRIES 1000
#define WAIT_NS    50000

static _Atomic uint64_t serials;
static _Atomic bool waited_in_vain; /* since there was room */

/* ---- registers ---- */

struct registers {
    uint64_t pc;
    uint64_t sp;
    uint64_t value[GV_STACK_REGISTERS];
    uint32_t known;
};

/* Those that a function keeps for its caller, by DWARF's number. Unwinding starts at this very
 * instruction. */
#if defined(__x86_64__)
#define READ_REGISTERS(registers)                                                                  \
    do {                                                                                           \
        __asm__ volatile("lea 0(%%rip), %%rax\n\t"                                                 \
                         "mov %%rax, %0\n\t"                                                       \
                         "mov %%rsp, %1\n\t"                                                       \
                         "mov %%rbx, %2\n\t"                                                       \
                         "mov %%rbp, %3\n\t"                                                       \
                         "mov %%r12, %4\n\t"                                                       \
                         "mov %%r13, %5\n\t"                                                       \
                         "mov %%r14, %6\n\t"                                                       \
                         "mov %%r15, %7"                                                           \
                         : "=m"((registers)->pc), "=m"((registers)->sp),                           \
                           "=m"((registers)->value[3]), "=m"((registers)->value[6]),               \
                           "=m"((registers)->value[12]), "=m"((registers)->value[13]),             \
                           "=m"((registers)->value[14]), "=m"((registers)->value[15])              \
                         :                                                                         \
                         : "rax");                                                                 \
        (registers)->known = 1u << 3 | 1u << 6 | 15u << 12;                                        \
    } while (0)
#elif defined(__aarch64__)
#define READ_REGISTERS(registers)                                                                  \
    do {                                                                                           \
        uint64_t *to = (registers)->value;                                                         \
                                                                                                   \
        __asm__ volatile("adr x9, .\n\t"                                                           \
                         "mov x10, sp\n\t"                                                         \
                         "stp x9, x10, [%1]\n\t"                                                   \
                         "stp x19, x20, [%0, 152]\n\t"                                             \
                         "stp x21, x22, [%0, 168]\n\t"                                             \
                         "stp x23, x24, [%0, 184]\n\t"                                             \
                         "stp x25, x26, [%0, 200]\n\t"                                             \
                         "stp x27, x28, [%0, 216]\n\t"                                             \
                         "stp x29, x30, [%0, 232]"                                                 \
                         :                                                                         \
                         : "r"(to), "r"(&(registers)->pc)                                          \
                         : "x9", "x10", "memory");                                                 \
        (registers)->known = 0xfffu << 19;                                                         \
    } while (0)
_Static_assert(offsetof(struct registers, sp) == offsetof(struct registers, pc) + 8, "a pair");
#endif

/* No function of libc: sanitizers would check what lies between the program's variables. */
static inline void copy_bytes(void *to, const void *from, size_t bytes)
{
#if defined(__x86_64__)
    bytes /= 8; /* a debugger that steps sees each round */
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
    uint64_t one, other;

    for (; bytes >= 16; bytes -= 16)
        __asm__ volatile("ldp %0, %1, [%3], 16\n\t"
                         "stp %0, %1, [%2], 16"
                         : "=&r"(one), "=&r"(other), "+r"(to), "+r"(from)
                         :
                         : "memory");
#endif
}

/* ---- where stacks lie ---- */

extern void *__libc_stack_end __attribute__((weak));

/* glibc would read all of /proc/self/maps to tell. */
static void find_bounds_of_main(struct gv_thread *thread)
{
    uintptr_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    struct rlimit limit;
    uintptr_t bytes = MAIN_STACK_MOST;

    if (!end || getrlimit(RLIMIT_STACK, &limit) < 0)
        return;
    if (limit.rlim_cur < bytes)
        bytes = limit.rlim_cur;
    thread->stack_high = end & ~(uintptr_t)15;
    thread->stack_low = end - bytes;
}

void gv_stack_copy_find_bounds(struct gv_thread *thread)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;

    if (thread->stack_low)
        return;
    thread->stack_low = thread->stack_high = 1; /* unknown */
    if (thread->tid == gv_process.pid) {
        find_bounds_of_main(thread);
        return;
    }
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        thread->stack_low = (uintptr_t)low;
        thread->stack_high = (uintptr_t)low + bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* ---- room in the ring ---- */

static struct gv_spool_stacks *stacks_of_process(void)
{
    return &gv_process.spool.header->stacks;
}

static void fill_in(struct gv_stack_taken *taken, uint32_t chunk, uint32_t chunks)
{
    taken->chunk = chunk;
    taken->chunks = chunks;
    taken->copy = (struct gv_stack_copy *)(void *)(gv_process.spool.ring +
                                                   (size_t)(chunk - 1) * GV_STACK_CHUNK_BYTES);
}

/* The collector is late, or there is none. Several threads may do it at once: a lock would stay
 * taken if a signal handler jumped out. */
static void add_word(struct gv_spool_stacks *stacks, uint32_t words)
{
    if (words >= GV_STACK_WORD_OF_IDLE)
        return;
    if (gv_process.spool.bell)
        gv_futex_ring(gv_process.spool.bell);
    if (!gv_spool_writer_add_word(&gv_process.spool, words))
        atomic_compare_exchange_strong(&stacks->words, &words, words + 1);
}

static bool take_now(uint32_t chunks, uint32_t most_words, struct gv_stack_taken *taken)
{
    struct gv_spool_stacks *stacks = stacks_of_process();

    for (uint32_t word = 0; word < most_words; word++) {
        uint32_t words = atomic_load_explicit(&stacks->words, memory_order_relaxed), chunk;

        if (word == words) {
            add_word(stacks, words);
            if (word == atomic_load(&stacks->words))
                return false;
        }
        chunk = gv_stack_ring_take(stacks, word, chunks);
        if (chunk) {
            fill_in(taken, chunk, chunks);
            return true;
        }
    }
    return false;
}

static bool wait_for_room(uint32_t chunks, struct gv_stack_taken *taken)
{
    if (atomic_load_explicit(&waited_in_vain, memory_order_relaxed))
        return false;
    for (int i = 0; i < WAIT_TRIES; i++) {
        if (gv_process.spool.bell && i % 20 == 0)
            gv_futex_ring(gv_process.spool.bell);
        gv_pause_ns(WAIT_NS);
        if (take_now(chunks, GV_STACK_WORD_OF_IDLE, taken))
            return true;
    }
    atomic_store(&waited_in_vain, true);
    return false;
}

static bool find_room(uint32_t chunks, enum gv_stack_room room, struct gv_stack_taken *taken)
{
    uint32_t most_words = GV_STACK_WORD_OF_IDLE - (room == GV_STACK_ROOM_REST ? RESERVED_WORDS : 0);

    if (gv_process.spool.ring) {
        if (take_now(chunks, most_words, taken)) {
            if (atomic_load_explicit(&waited_in_vain, memory_order_relaxed))
                atomic_store(&waited_in_vain, false);
            return true;
        }
        if (room == GV_STACK_ROOM_WAITS && wait_for_room(chunks, taken))
            return true;
        if (gv_process.spool.bell)
            gv_futex_ring(gv_process.spool.bell);
    }
    atomic_fetch_add_explicit(&stacks_of_process()->not_taken, 1, memory_order_relaxed);
    return false;
}

/* ---- copies ---- */

/* As much as there is, up to the first hole; 0: the kernel refuses. As of another process: valgrind
 * checks what is written from, and its own stack is what the kernel says. */
static uint32_t copy_by_kernel(void *to, uintptr_t from, uint32_t bytes)
{
    struct iovec pages[GV_STACK_COPY_MOST / PAGE_BYTES + 1] = {{(void *)from, bytes}};
    uint32_t pid = (uint32_t)syscall(SYS_getpid), got;
    unsigned count = 0;

    got = (uint32_t)gv_other_memory_gather(pid, to, pages, 1);
    if (got)
        return got;
    /* An old kernel copies nothing of a range with a hole. */
    for (uintptr_t at = from, end = from + bytes; at < end; count++) {
        uintptr_t next = (at | (PAGE_BYTES - 1)) + 1;

        pages[count].iov_base = (void *)at;
        pages[count].iov_len = (next < end ? next : end) - at;
        at = next;
    }
    return (uint32_t)gv_other_memory_gather(pid, to, pages, count);
}

/* Of the thread's own stack, up to the first page that it may not read: a program may forbid a part
 * of it, or have another stack inside. Asking for a page costs 0.1 us. The kernel's copy, which
 * needs no asking, took 15 us for 40 KB in PyTorch (H100, 16 CPUs), and this a fifth. */
static uint32_t copy_by_hand(void *to, uintptr_t from, uint32_t bytes)
{
    uintptr_t end = (from | (PAGE_BYTES - 1)) + 1;

    while (end < from + bytes && gv_own_memory_is_readable(end))
        end += PAGE_BYTES;
    if (end < from + bytes)
        bytes = (uint32_t)(end - from);
    copy_bytes(to, (const void *)from, bytes);
    return bytes;
}

/* It may have the program's data. */
static void clear(struct gv_stack_taken *taken)
{
    atomic_store_explicit(&taken->copy->serial, 0, memory_order_relaxed);
    memset(taken->copy->stack, 0,
           taken->chunks * GV_STACK_CHUNK_BYTES - offsetof(struct gv_stack_copy, stack));
}

static void hold(struct gv_thread *thread, struct gv_stack_taken *taken)
{
    taken->thread = thread;
    thread->copy_serial = 0;
    thread->copy_chunks = taken->chunks;
    thread->copy = taken->chunk;
}

static void let_go(struct gv_stack_taken *taken)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (taken->thread)
        taken->thread->copy = 0;
    atomic_signal_fence(memory_order_seq_cst);
}

/* What a jump out of the thread's work left. If the copy was finished, a record may have it. */
static void free_left(struct gv_thread *thread)
{
    struct gv_stack_taken left = {.thread = thread};

    if (!thread->copy)
        return;
    fill_in(&left, thread->copy, thread->copy_chunks);
    if (thread->copy_serial && !gv_stack_ring_claim(left.copy, thread->copy_serial))
        thread->copy = 0;
    else
        gv_stack_copy_drop(&left);
}

/* Gives back the chunks that the copy does not need. */
static void shorten(struct gv_stack_taken *taken)
{
    uint32_t needed = gv_stack_ring_chunks(taken->copy->bytes);

    if (needed == taken->chunks)
        return;
    if (taken->thread)
        taken->thread->copy_chunks = needed;
    atomic_signal_fence(memory_order_seq_cst);
    gv_stack_ring_free(stacks_of_process(), taken->chunk - 1 + needed, taken->chunks - needed);
    taken->chunks = needed;
}

static void fill_header(struct gv_stack_copy *copy, uint64_t pc, uint64_t sp)
{
    copy->generation = gv_stack_objects_generation();
    copy->known = 0;
    copy->pc = pc;
    copy->sp = sp;
    copy->python_low = copy->python_high = 0;
    copy->position_count = 0;
    copy->flags = 0;
}

__attribute__((noinline)) bool gv_stack_copy_take(struct gv_thread *thread, enum gv_stack_room room,
                                                  struct gv_stack_taken *taken)
{
    struct registers registers;
    uintptr_t low, high;
    uint32_t bytes = GV_STACK_COPY_MOST;
    bool is_known;

    READ_REGISTERS(&registers);
    gv_stack_copy_find_bounds(thread);
    low = thread->stack_low;
    high = thread->stack_high;
    is_known = registers.sp > low && registers.sp < high;
    if (is_known && high - registers.sp < bytes)
        bytes = (uint32_t)(high - registers.sp) & ~15u;
    free_left(thread);
    gv_stack_objects_look();
    if (!find_room(gv_stack_ring_chunks(bytes), room, taken))
        return false;
    hold(thread, taken);
    fill_header(taken->copy, registers.pc, registers.sp);
    taken->copy->known = registers.known;
    for (unsigned i = 0; i < GV_STACK_REGISTERS; i++)
        if (registers.known >> i & 1)
            taken->copy->value[i] = registers.value[i];
    taken->copy->bytes = is_known ? copy_by_hand(taken->copy->stack, registers.sp, bytes)
                                  : copy_by_kernel(taken->copy->stack, registers.sp, bytes);
    if (is_known && taken->copy->bytes == bytes && bytes < GV_STACK_COPY_MOST)
        taken->copy->flags = GV_STACK_COPY_IS_WHOLE;
    shorten(taken);
    return true;
}

bool gv_stack_copy_take_other(uintptr_t pc, uintptr_t sp, struct gv_stack_taken *taken)
{
    struct gv_spool_stacks *stacks = stacks_of_process();
    uint32_t chunks = gv_stack_ring_chunks(GV_STACK_COPY_OF_OTHER), chunk;

    if (!gv_process.spool.ring)
        return false;
    if (!atomic_load_explicit(&stacks->idle_word, memory_order_relaxed)) {
        if (gv_spool_writer_add_word(&gv_process.spool, GV_STACK_WORD_OF_IDLE))
            return false;
        atomic_store(&stacks->idle_word, 1);
    }
    chunk = gv_stack_ring_take(stacks, GV_STACK_WORD_OF_IDLE, chunks);
    if (!chunk) {
        atomic_fetch_add_explicit(&stacks->not_taken, 1, memory_order_relaxed);
        return false;
    }
    gv_stack_objects_look();
    fill_in(taken, chunk, chunks);
    taken->thread = NULL;
    fill_header(taken->copy, pc, sp);
    taken->copy->bytes = copy_by_kernel(taken->copy->stack, sp, GV_STACK_COPY_OF_OTHER);
    shorten(taken);
    return true;
}

void gv_stack_copy_finish(struct gv_stack_taken *taken)
{
    taken->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&taken->copy->serial, taken->serial, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    if (taken->thread)
        taken->thread->copy_serial = taken->serial;
}

void gv_stack_copy_hand_over(struct gv_stack_taken *taken)
{
    let_go(taken);
}

void gv_stack_copy_drop(struct gv_stack_taken *taken)
{
    clear(taken);
    let_go(taken);
    gv_stack_ring_free(stacks_of_process(), taken->chunk - 1, taken->chunks);
}

void gv_stack_copy_start(void)
{
    struct gv_spool_stacks *stacks = stacks_of_process();

    atomic_store(&waited_in_vain, false);
    if (gv_process.spool.ring && !gv_spool_writer_add_word(&gv_process.spool, 0))
        atomic_store(&stacks->words, 1);
}
