/* Threads load, launch, unload, and lose contexts at the same time: a number never belongs to
 * two kernels. */
#include "preload/hooks/names.h"

#include "preload/base/own_process.h"

#include "threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct gv_process gv_process; /* no spool: losses are not counted */

#define ROUNDS   3000
#define KERNELS  16
#define NUMBERS  (1u << 20)
#define MODULE   ((uintptr_t)0x100000)
#define KERNEL   ((uintptr_t)0x200000)
#define FUNCTION ((uintptr_t)0x300000)
#define OTHER    ((uintptr_t)0x400000)

/* The kernel to which a number was first given: giving it to another one is an error. */
static _Atomic uintptr_t told[NUMBERS];
static _Atomic int working;

static void tell(uint32_t number, uintptr_t kernel)
{
    uintptr_t nobody = 0;

    if (number == 0)
        return;
    expect(number < NUMBERS);
    if (number < NUMBERS && !atomic_compare_exchange_strong(&told[number], &nobody, kernel))
        expect(nobody == kernel);
}

/* A permanent kernel; it is named again when a context ended its number. */
static void *launch(void *context)
{
    uintptr_t seed = (uintptr_t)context;

    for (int i = 0; i < ROUNDS * 8; i++) {
        uintptr_t kernel = KERNEL + (uintptr_t)(i * 7 + seed) % KERNELS * 16;
        uintptr_t function = FUNCTION + (uintptr_t)(i * 5 + seed) % KERNELS * 16;
        uint32_t number = gv_names_find(kernel).kernel;
        struct gv_names_answer answer = gv_names_find(function);

        tell(number, kernel);
        if (!number && gv_names_add(kernel, MODULE, &number))
            tell(number, kernel);
        expect(answer.kernel != 0);
        tell(answer.kernel, function);
        expect(!answer.name || strcmp(answer.name, "function") == 0);
        gv_names_alias(kernel + KERNELS * 16, kernel);
        tell(gv_names_find(kernel + KERNELS * 16).kernel, kernel);
        gv_names_alias(function + KERNELS * 16, function);
        tell(gv_names_find(function + KERNELS * 16).kernel, function);
    }
    atomic_fetch_sub(&working, 1);
    return NULL;
}

/* This thread's own module, with a kernel for every round. */
static void *load(void *context)
{
    uintptr_t module = OTHER + (uintptr_t)context * 0x10000;

    for (uintptr_t i = 0; i < ROUNDS; i++) {
        uintptr_t kernel = module + 16 + i % 64 * 16;
        uint32_t number = 0, found;

        expect(gv_names_add_owner(module) != 0);
        expect(gv_names_add(kernel, module, &number));
        tell(number, (module + i) << 32); /* no other round's */
        found = gv_names_find(kernel).kernel;
        expect(found == number || found == 0);
        gv_names_void_owner(module);
        gv_names_register(kernel + 0x8000, module + 8, "other");
        expect(strcmp(gv_names_find(kernel + 0x8000).name, "other") == 0);
        tell(gv_names_find(kernel + 0x8000).kernel, (module + i) << 32 | 1);
        gv_names_void_owner(module + 8);
        expect(gv_names_find(kernel + 0x8000).kernel == 0);
    }
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void *lose_contexts(void *context)
{
    while (atomic_load(&working))
        gv_names_void_loaded();
    return context;
}

static void a_number_is_told_of_one_kernel(void **state)
{
    struct gv_threads threads = {.count = 0};

    (void)state;
    for (uintptr_t i = 0; i < KERNELS; i++)
        gv_names_register(FUNCTION + i * 16, 0x10, "function");
    gv_names_add_owner(MODULE);
    atomic_store(&working, 4);
    gv_threads_add(&threads, launch, 0);
    gv_threads_add(&threads, launch, 1);
    gv_threads_add(&threads, load, 0);
    gv_threads_add(&threads, load, 1);
    gv_threads_add(&threads, lose_contexts, 0);
    assert_int_equal(gv_threads_join(&threads), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_number_is_told_of_one_kernel)};

    return cmocka_run_group_tests_name("names, from several threads", tests, NULL, NULL);
}
