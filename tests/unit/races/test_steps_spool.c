/* A thread postpones growth after a failure, while another one grows the file. */
#include "trace/spool_writer.h"

#include "step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define REFUSALS 1000

static struct gv_spool_header header = {.limit = 100};
static struct gv_spool_writer writer = {.header = &header};
static unsigned long grown_at; /* instruction */

static void ask(void)
{
    gv_spool_writer_is_full(&writer, GV_ROOM_WORK);
}

static void grow(void)
{
    if (gv_steps == grown_at)
        atomic_store(&writer.refusals, 0);
}

static void growth_is_not_refused_again_after_it_came(void **state)
{
    (void)state;
    GV_STEP_NEEDS_X86;
    for (grown_at = 1; grown_at < 100; grown_at++) {
        atomic_store(&writer.refusals, REFUSALS);
        if (gv_step_through(ask, grow) >= grown_at)
            assert_int_equal(atomic_load(&writer.refusals), 0);
        else
            assert_int_equal(atomic_load(&writer.refusals), REFUSALS - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_is_not_refused_again_after_it_came),
    };

    return cmocka_run_group_tests_name("spool, at every instruction", tests, NULL, NULL);
}
