/* A context ends at every instruction of a launch. */
#include "preload/hooks/names.h"

#include "preload/base/own_process.h"

#include "step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct gv_process gv_process; /* no spool: losses are not counted */

/* Handles of the program's, and of the module that comes meanwhile. */
enum { MODULE = 0x1000, KERNEL = 0x2000, OTHER_MODULE = 0x5000 };

static unsigned wrong;

static uint32_t number;       /* of the kernel that is launched */
static unsigned long lost_at; /* instruction */
static unsigned lost;         /* contexts, so far */

static void launch(void)
{
    uint32_t found = gv_names_find(KERNEL).kernel;

    wrong += found != number && found != 0;
}

/* A context ends, and another module comes, with more kernels than ever before. */
static void lose_a_context(void)
{
    uint32_t other;

    if (gv_steps != lost_at)
        return;
    lost++;
    gv_names_void_loaded();
    gv_names_add_owner(OTHER_MODULE);
    for (uintptr_t i = 0; i < lost_at * 4; i++)
        gv_names_add(0x10000 + i * 16, OTHER_MODULE, &other);
}

static void a_launch_while_a_context_goes_is_not_of_another_kernel(void **state)
{
    (void)state;
    GV_STEP_NEEDS_X86;
    wrong = lost = 0;
    for (unsigned i = 2; i < 400; i++) {
        lost_at = i / 2;
        gv_names_add_owner(MODULE);
        gv_names_add(KERNEL, MODULE, &number);
        if (i % 2) /* so that the small table has it */
            gv_names_find(KERNEL);
        gv_step_through(launch, lose_a_context);
    }
    assert_true(lost > 20);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_while_a_context_goes_is_not_of_another_kernel),
    };

    return cmocka_run_group_tests_name("names, at every instruction", tests, NULL, NULL);
}
