/* The module's records in the spool. */
#include "cupti/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* CUPTI may call back there once more. */
static void a_forked_child_without_a_spool_counts_nothing(void **state)
{
    static struct gv_spool_writer none;

    gv_output_start(&none);
    gv_output_count_lost();
    gv_output_count_cost(GV_OWN_COST_THREAD, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forked_child_without_a_spool_counts_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
