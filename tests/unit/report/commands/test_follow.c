/* Following a trace that its collector has only just created. */
#include "tests/unit/report/cmocka_all.h"

#include "report/commands/metrics/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void a_trace_without_tables_yet_is_none_of_another_version(void **state)
{
    char path[] = "follow-XXXXXX", sums[sizeof(path) + 8];
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    snprintf(sums, sizeof(sums), "%s.sums", path);
    assert_int_equal(gv_follow_step(path, sums), 0);
    unlink(path);
    unlink(sums);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(a_trace_without_tables_yet_is_none_of_another_version),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
