/* A signal handler loads, names, launches and unloads kernels at every instruction of the same. */
#include "preload/hooks/names.h"

#include "preload/base/own_process.h"

#include "step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct gv_process gv_process; /* no spool: losses are not counted */

/* The handles of the program and of its handler: `handle + 16 * i` for each kind. */
struct handles {
    uintptr_t module, kernel, fatbin, host;
};

static const struct handles outer = {0x1000, 0x2000, 0x3000, 0x4000};
static const struct handles inner = {0x5000, 0x6000, 0x7000, 0x8000};
static unsigned wrong;

static void expect(bool holds)
{
    wrong += !holds;
}

/* A program's life with kernels, in which every answer is known, whatever interrupts. */
static void live(const struct handles *of)
{
    uint32_t module = gv_names_add_owner(of->module), first = 0, second = 0;

    expect(module != 0 && gv_names_owner(of->module) == module);
    expect(gv_names_add(of->kernel, of->module, &first) && first != 0);
    expect(!gv_names_add(of->kernel, of->module, &second) && second == first);
    gv_names_alias(of->kernel + 16, of->kernel);
    expect(gv_names_find(of->kernel).kernel == first);
    expect(gv_names_find(of->kernel + 16).kernel == first);
    expect(gv_names_void_owner(of->module) == module);
    expect(gv_names_find(of->kernel).kernel == 0 && gv_names_find(of->kernel + 16).kernel == 0);

    gv_names_register(of->host, of->fatbin, "saxpy");
    gv_names_alias(of->host + 16, of->host);
    expect(gv_names_find(of->host).name != NULL);
    expect(gv_names_find(of->host).name == NULL);
    second = gv_names_find(of->host).kernel;
    expect(second > first && gv_names_find(of->host + 16).kernel == second);
    gv_names_void_owner(of->fatbin);
    expect(gv_names_find(of->host).kernel == 0 && gv_names_find(of->host + 16).kernel == 0);
}

static void live_outside(void)
{
    live(&outer);
}

static void live_inside(void)
{
    uint32_t kernel = gv_names_find(outer.kernel).kernel;

    live(&inner);
    expect(gv_names_find(outer.kernel).kernel == kernel);
}

static void a_handler_at_every_instruction_finds_what_it_named(void **state)
{
    (void)state;
    GV_STEP_NEEDS_X86;
    wrong = 0;
    assert_true(gv_step_through(live_outside, live_inside) > 500);
    assert_int_equal(wrong, 0);
}

static uint32_t number;       /* of the kernel that is launched */
static unsigned long lost_at; /* instruction */
static unsigned lost;         /* contexts, so far */

static void launch(void)
{
    uint32_t found = gv_names_find(outer.kernel).kernel;

    expect(found == number || found == 0);
}

/* A context ends, and another module comes, with more kernels than ever before. */
static void lose_a_context(void)
{
    uint32_t other;

    if (gv_steps != lost_at)
        return;
    lost++;
    gv_names_void_loaded();
    gv_names_add_owner(inner.module);
    for (uintptr_t i = 0; i < lost_at * 4; i++)
        gv_names_add(0x10000 + i * 16, inner.module, &other);
}

static void a_launch_while_a_context_goes_is_not_of_another_kernel(void **state)
{
    (void)state;
    GV_STEP_NEEDS_X86;
    wrong = lost = 0;
    for (lost_at = 1; lost_at < 200; lost_at++) {
        gv_names_add_owner(outer.module);
        gv_names_add(outer.kernel, outer.module, &number);
        gv_step_through(launch, lose_a_context);
    }
    assert_true(lost > 20);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_at_every_instruction_finds_what_it_named),
        cmocka_unit_test(a_launch_while_a_context_goes_is_not_of_another_kernel),
    };

    return cmocka_run_group_tests_name("names, at every instruction", tests, NULL, NULL);
}
