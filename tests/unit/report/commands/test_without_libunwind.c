/* What a gpuverify that was built without libunwind says of itself. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/recovery.h"
#include "report/commands/doctor/doctor.h"
#include "report/unwind/unwind.h"
#include "tests/unit/report/spool_fixture.h"

#include <string.h>

static bool is_there;

bool __wrap_gv_unwind_is_there(void);
bool __wrap_gv_unwind_is_there(void)
{
    return is_there;
}

static const struct gv_doctor_check *native_frames(struct gv_doctor *doctor)
{
    gv_doctor_look_at_machine(doctor);
    for (size_t i = 0; i < doctor->count; i++)
        if (strcmp(doctor->checks[i].what, "native frames") == 0)
            return &doctor->checks[i];
    return NULL;
}

static void the_doctor_says_it(void **state)
{
    static struct gv_doctor with = {.about = "machine"}, without = {.about = "machine"};
    const struct gv_doctor_check *check;

    (void)state;
    is_there = true;
    assert_null(native_frames(&with));
    is_there = false;
    check = native_frames(&without);
    assert_non_null(check);
    assert_int_equal(check->state, GV_CHECK_WRONG);
    assert_string_equal(check->found, "no native frames: gpuverify was built without libunwind");
    assert_string_not_equal(check->fix, "");
}

static int64_t traces_that_say_it(void)
{
    static struct gv_recovery recovery;
    struct fixture_spool spool = {0};
    struct fixture fixture;

    fixture_open(&fixture);
    fixture_spool_open(&fixture, &spool, 1, false);
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    fixture_spool_close(&spool);
    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
    int64_t count = fixture_number(
        fixture.trace,
        "SELECT count(*) FROM meta WHERE key = 'native_frames' AND value = 'no libunwind'");
    fixture_close(&fixture);
    return count;
}

static void a_trace_says_it(void **state)
{
    (void)state;
    is_there = true;
    assert_int_equal(traces_that_say_it(), 0);
    is_there = false;
    assert_int_equal(traces_that_say_it(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_doctor_says_it),
        cmocka_unit_test(a_trace_says_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
