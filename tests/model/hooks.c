/*
 * The functions that code compiled with -fsanitize=thread calls, and replacements for libc
 * functions that would touch memory, or wait, without the checker (the linker's --wrap).
 */
#include "tests/model/engine.h"

#include <stdio.h>
#include <string.h>

#define MOST_SITES 512

struct site {
    uintptr_t address;
    enum operation_kind kind;
    int order, failure_order;
    char location[MODEL_NAME_BYTES];
};

struct weakening hooks_weakenings[MOST_WEAKENED];
size_t hooks_weakening_count;

static struct site sites[MOST_SITES];
static size_t site_count;
/* Per thread: it is in here, so a memcpy() is the checker's own. */
static bool busy[MODEL_THREADS];

void hooks_reset(void)
{
    memset(busy, 0, sizeof busy);
}

/* ---- orders ---- */

const char *hooks_order_name(int order)
{
    switch (order) {
    case __ATOMIC_RELAXED:
        return "relaxed";
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE:
        return "acquire";
    case __ATOMIC_RELEASE:
        return "release";
    case __ATOMIC_ACQ_REL:
        return "acq_rel";
    default:
        return "seq_cst";
    }
}

bool hooks_acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
           order == __ATOMIC_SEQ_CST;
}

bool hooks_releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

uint64_t hooks_change(const struct operation *operation, uint64_t value)
{
    switch (operation->kind) {
    case OPERATION_ADD:
        return value + operation->operand;
    case OPERATION_SUB:
        return value - operation->operand;
    case OPERATION_AND:
        return value & operation->operand;
    case OPERATION_OR:
        return value | operation->operand;
    case OPERATION_XOR:
        return value ^ operation->operand;
    default:
        return operation->operand;
    }
}

static int without_acquire(const struct operation *operation)
{
    bool keeps_release =
        operation->order == __ATOMIC_ACQ_REL ||
        (operation->order == __ATOMIC_SEQ_CST && operation->kind != OPERATION_LOAD);

    return keeps_release || operation->order == __ATOMIC_RELEASE ? __ATOMIC_RELEASE
                                                                 : __ATOMIC_RELAXED;
}

static int without_release(const struct operation *operation)
{
    bool keeps_acquire =
        operation->order == __ATOMIC_ACQ_REL ||
        (operation->order == __ATOMIC_SEQ_CST && operation->kind != OPERATION_STORE);

    return keeps_acquire || operation->order == __ATOMIC_ACQUIRE ? __ATOMIC_ACQUIRE
                                                                 : __ATOMIC_RELAXED;
}

static void weaken(struct operation *operation)
{
    for (size_t i = 0; i < hooks_weakening_count; i++) {
        if (hooks_weakenings[i].site != (uintptr_t)operation->site)
            continue;
        if (hooks_weakenings[i].half == HALF_ACQUIRE)
            operation->order = without_acquire(operation);
        else if (hooks_weakenings[i].half == HALF_RELEASE)
            operation->order = without_release(operation);
        else if (hooks_weakenings[i].half == HALF_FAILURE)
            operation->failure_order = __ATOMIC_RELAXED;
        else
            operation->ignores_tag = true;
    }
}

/* ---- sites ---- */

static void note(const struct operation *operation, const char *location)
{
    for (size_t i = 0; i < site_count; i++)
        if (sites[i].address == (uintptr_t)operation->site)
            return;
    if (site_count == MOST_SITES)
        engine_fail("more than %d places with atomics", MOST_SITES);
    sites[site_count] = (struct site){.address = (uintptr_t)operation->site,
                                      .kind = operation->kind,
                                      .order = operation->order,
                                      .failure_order = operation->failure_order};
    snprintf(sites[site_count++].location, MODEL_NAME_BYTES, "%s", location);
}

void hooks_note(struct operation *operation, const char *location)
{
    note(operation, location);
    weaken(operation);
}

void hooks_print_sites(void)
{
    static const char *const kinds[] = {
        [OPERATION_LOAD] = "load",   [OPERATION_STORE] = "store", [OPERATION_EXCHANGE] = "exchange",
        [OPERATION_ADD] = "add",     [OPERATION_SUB] = "sub",     [OPERATION_AND] = "and",
        [OPERATION_OR] = "or",       [OPERATION_XOR] = "xor",     [OPERATION_COMPARE] = "compare",
        [OPERATION_FENCE] = "fence",
    };

    for (size_t i = 0; i < site_count; i++)
        printf("site 0x%lx %s %s %s %s\n", (unsigned long)sites[i].address, kinds[sites[i].kind],
               hooks_order_name(sites[i].order),
               sites[i].kind == OPERATION_COMPARE ? hooks_order_name(sites[i].failure_order) : "-",
               sites[i].location);
}

/* ---- plain accesses ---- */

static void plain_access(const void *address, size_t bytes, bool write)
{
    int self = model_running();

    if (self < 0 || busy[self])
        return;
    busy[self] = true;
    watch_access(address, bytes, write);
    busy[self] = false;
}

#define PLAIN(bytes)                                                                               \
    void __tsan_read##bytes(void *address);                                                        \
    void __tsan_read##bytes(void *address)                                                         \
    {                                                                                              \
        plain_access(address, bytes, false);                                                       \
    }                                                                                              \
    void __tsan_write##bytes(void *address);                                                       \
    void __tsan_write##bytes(void *address)                                                        \
    {                                                                                              \
        plain_access(address, bytes, true);                                                        \
    }                                                                                              \
    void __tsan_unaligned_read##bytes(void *address);                                              \
    void __tsan_unaligned_read##bytes(void *address)                                               \
    {                                                                                              \
        plain_access(address, bytes, false);                                                       \
    }                                                                                              \
    void __tsan_unaligned_write##bytes(void *address);                                             \
    void __tsan_unaligned_write##bytes(void *address)                                              \
    {                                                                                              \
        plain_access(address, bytes, true);                                                        \
    }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *address, size_t bytes);
void __tsan_read_range(void *address, size_t bytes)
{
    plain_access(address, bytes, false);
}

void __tsan_write_range(void *address, size_t bytes);
void __tsan_write_range(void *address, size_t bytes)
{
    plain_access(address, bytes, true);
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

/* ---- libc ---- */

void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
    plain_access(from, bytes, false);
    plain_access(to, bytes, true);
    return __real_memcpy(to, from, bytes);
}

void *__real_memmove(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes)
{
    plain_access(from, bytes, false);
    plain_access(to, bytes, true);
    return __real_memmove(to, from, bytes);
}

void *__real_memset(void *to, int value, size_t bytes);
void *__wrap_memset(void *to, int value, size_t bytes);
void *__wrap_memset(void *to, int value, size_t bytes)
{
    plain_access(to, bytes, true);
    return __real_memset(to, value, bytes);
}

int __real_memcmp(const void *one, const void *other, size_t bytes);
int __wrap_memcmp(const void *one, const void *other, size_t bytes);
int __wrap_memcmp(const void *one, const void *other, size_t bytes)
{
    plain_access(one, bytes, false);
    plain_access(other, bytes, false);
    return __real_memcmp(one, other, bytes);
}

int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    model_wait();
    return 0;
}

int __wrap_clock_nanosleep(int clock, int flags, const void *pause, void *rest);
int __wrap_clock_nanosleep(int clock, int flags, const void *pause, void *rest)
{
    (void)clock;
    (void)flags;
    (void)pause;
    (void)rest;
    model_wait();
    return 0;
}

/* ---- atomic accesses ---- */

static uint64_t perform(struct operation *operation)
{
    int self = model_running();
    uint64_t value;

    busy[self] = true;
    value = memory_perform(operation);
    busy[self] = false;
    return value;
}

/* Stack memory is private to its thread. */
static bool is_watched(const void *address)
{
    return model_running() >= 0 && !engine_is_stack(address);
}

#define SITE __builtin_return_address(0)

#define MODIFY(bits, name, KIND, builtin)                                                          \
    uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *address, uint##bits##_t operand,   \
                                                int order);                                        \
    uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *address, uint##bits##_t operand,   \
                                                int order)                                         \
    {                                                                                              \
        struct operation operation = {.kind = KIND,                                                \
                                      .bytes = bits / 8,                                           \
                                      .address = address,                                          \
                                      .order = order,                                              \
                                      .operand = operand,                                          \
                                      .site = SITE};                                               \
                                                                                                   \
        if (!is_watched(address))                                                                  \
            return builtin(address, operand, __ATOMIC_SEQ_CST);                                    \
        return (uint##bits##_t)perform(&operation);                                                \
    }

#define COMPARE(bits, name, may_fail)                                                              \
    int __tsan_atomic##bits##_compare_exchange_##name(                                             \
        uint##bits##_t *address, uint##bits##_t *expected, uint##bits##_t operand, int order,      \
        int failure_order);                                                                        \
    int __tsan_atomic##bits##_compare_exchange_##name(                                             \
        uint##bits##_t *address, uint##bits##_t *expected, uint##bits##_t operand, int order,      \
        int failure_order)                                                                         \
    {                                                                                              \
        struct operation operation = {.kind = OPERATION_COMPARE,                                   \
                                      .weak = may_fail,                                            \
                                      .bytes = bits / 8,                                           \
                                      .address = address,                                          \
                                      .order = order,                                              \
                                      .failure_order = failure_order,                              \
                                      .expected = *expected,                                       \
                                      .operand = operand,                                          \
                                      .site = SITE};                                               \
                                                                                                   \
        if (!is_watched(address))                                                                  \
            return __atomic_compare_exchange_n(address, expected, operand, false,                  \
                                               __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
        *expected = (uint##bits##_t)perform(&operation);                                           \
        return operation.succeeded;                                                                \
    }

#define ATOMIC(bits)                                                                               \
    uint##bits##_t __tsan_atomic##bits##_load(const uint##bits##_t *address, int order);           \
    uint##bits##_t __tsan_atomic##bits##_load(const uint##bits##_t *address, int order)            \
    {                                                                                              \
        struct operation operation = {.kind = OPERATION_LOAD,                                      \
                                      .bytes = bits / 8,                                           \
                                      .address = (void *)(uintptr_t)address,                       \
                                      .order = order,                                              \
                                      .site = SITE};                                               \
                                                                                                   \
        return is_watched(address) ? (uint##bits##_t)perform(&operation)                           \
                                   : __atomic_load_n(address, __ATOMIC_SEQ_CST);                   \
    }                                                                                              \
    void __tsan_atomic##bits##_store(uint##bits##_t *address, uint##bits##_t value, int order);    \
    void __tsan_atomic##bits##_store(uint##bits##_t *address, uint##bits##_t value, int order)     \
    {                                                                                              \
        struct operation operation = {.kind = OPERATION_STORE,                                     \
                                      .bytes = bits / 8,                                           \
                                      .address = address,                                          \
                                      .order = order,                                              \
                                      .operand = value,                                            \
                                      .site = SITE};                                               \
                                                                                                   \
        if (is_watched(address))                                                                   \
            perform(&operation);                                                                   \
        else                                                                                       \
            __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                    \
    }                                                                                              \
    MODIFY(bits, exchange, OPERATION_EXCHANGE, __atomic_exchange_n)                                \
    MODIFY(bits, fetch_add, OPERATION_ADD, __atomic_fetch_add)                                     \
    MODIFY(bits, fetch_sub, OPERATION_SUB, __atomic_fetch_sub)                                     \
    MODIFY(bits, fetch_and, OPERATION_AND, __atomic_fetch_and)                                     \
    MODIFY(bits, fetch_or, OPERATION_OR, __atomic_fetch_or)                                        \
    MODIFY(bits, fetch_xor, OPERATION_XOR, __atomic_fetch_xor)                                     \
    COMPARE(bits, strong, false)                                                                   \
    COMPARE(bits, weak, true)                                                                      \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                     \
        uint##bits##_t *address, uint##bits##_t expected, uint##bits##_t operand, int order,       \
        int failure_order);                                                                        \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                     \
        uint##bits##_t *address, uint##bits##_t expected, uint##bits##_t operand, int order,       \
        int failure_order)                                                                         \
    {                                                                                              \
        struct operation operation = {.kind = OPERATION_COMPARE,                                   \
                                      .bytes = bits / 8,                                           \
                                      .address = address,                                          \
                                      .order = order,                                              \
                                      .failure_order = failure_order,                              \
                                      .expected = expected,                                        \
                                      .operand = operand,                                          \
                                      .site = SITE};                                               \
                                                                                                   \
        if (is_watched(address))                                                                   \
            return (uint##bits##_t)perform(&operation);                                            \
        __atomic_compare_exchange_n(address, &expected, operand, false, __ATOMIC_SEQ_CST,          \
                                    __ATOMIC_SEQ_CST);                                             \
        return expected;                                                                           \
    }

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    struct operation operation = {.kind = OPERATION_FENCE, .order = order, .site = SITE};

    if (model_running() >= 0)
        perform(&operation);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}
