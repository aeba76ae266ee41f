/* A stub reads three words of its slot that belong together, whoever binds the slot to another
 * caller meanwhile. */
#include "preload/bind/plt_slots.h"

#include "step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* From plt_stubs.S, which asks gv_entry_points_bind() for the target. */
extern int called_through_stub(void) __asm__("cudaDeviceSynchronize");

static struct gv_plt_slot *const slot = &gv_plt_slots[GV_ID_cudaDeviceSynchronize];
static int right_calls, wrong_calls;

static int right(void)
{
    return right_calls++;
}

static int of_another_caller(void)
{
    return wrong_calls++;
}

/* This program's range as at its start, or another of the same size behind it. */
static void bind_right(void)
{
    uintptr_t low = (uintptr_t)&__executable_start;

    gv_plt_slot_unbind(slot);
    gv_plt_slot_bind(slot, low, low + (1u << 30), (void *)right);
}

static void bind_another(void)
{
    uintptr_t low = (uintptr_t)&__executable_start + (2u << 30);

    gv_plt_slot_unbind(slot);
    gv_plt_slot_bind(slot, low, low + (1u << 30), (void *)of_another_caller);
}

void *gv_entry_points_bind(struct gv_plt_slot *asked, uintptr_t caller);

void *gv_entry_points_bind(struct gv_plt_slot *asked, uintptr_t caller)
{
    (void)caller;
    return asked == slot ? (void *)right : NULL;
}

static unsigned bind_after; /* instructions */
static unsigned times;      /* in which another caller's binding came */

static void bind_another_once(void)
{
    if (gv_steps != bind_after)
        return;
    times++;
    bind_another();
}

/* Two bindings, also with equal sizes. */
static void bind_again_then_another(void)
{
    if (gv_steps == bind_after)
        bind_right();
    if (gv_steps == bind_after + 1)
        bind_another();
}

static void call(void)
{
    called_through_stub();
}

static void a_stub_calls_for_its_own_caller_only(void **state)
{
    (void)state;
    GV_STEP_NEEDS_X86;
    for (bind_after = 1; bind_after < 100; bind_after++) {
        bind_right();
        gv_step_through(call, bind_another_once);
        bind_right();
        gv_step_through(call, bind_again_then_another);
    }
    assert_int_equal(wrong_calls, 0);
    assert_true(right_calls > 0);
    assert_true(times > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_stub_calls_for_its_own_caller_only)};

    return cmocka_run_group_tests_name("stubs, at every instruction", tests, NULL, NULL);
}
