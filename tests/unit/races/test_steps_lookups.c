/* Values that belong together in entry_points.c and plt_slots.c are read together, whatever
 * interrupts. */
#include "lookups.h"
#include "step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* As plt_stubs.S makes them. */
struct gv_plt_slot gv_plt_slots[GV_API_COUNT];

static uintptr_t first, tool, second;
static unsigned wrong;

static void ask_from_first(void)
{
    wrong += gv_entry_points_is_tool(first);
}

static void ask_from_second(void)
{
    wrong += !gv_entry_points_is_tool(tool);
    wrong += gv_entry_points_is_tool(second);
    wrong += !gv_entry_points_is_tool(tool);
}

/* CUPTI between two others: a range across both contains it. */
static void a_tool_is_known_among_others(void **state)
{
    (void)state;
    GV_STEP_NEEDS_X86;
    first = place_in(open_library("plain1"));
    tool = place_in(open_library("cupti_named"));
    second = place_in(open_library("plain2"));
    assert_true(first && tool && second);
    assert_true((first < tool) == (tool < second));
    assert_true(gv_step_through(ask_from_first, ask_from_second) > 100);
    ask_from_second();
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_is_known_among_others),
    };

    return cmocka_run_group_tests_name("look-ups, at every instruction", tests, NULL, NULL);
}
