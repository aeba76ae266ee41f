/* What the doctor says of a gpuverify that was built without libunwind. */
#include "report/commands/doctor/doctor.h"
#include "report/unwind/unwind.h"
#include "tests/unit/report/cmocka_all.h"

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

static void without_libunwind_there_are_no_native_frames(void **state)
{
    static struct gv_doctor with = {.about = "machine"}, without = {.about = "machine"};
    const struct gv_doctor_check *check;

    (void)state;
    is_there = true;
    assert_null(native_frames(&with));
    is_there = false;
    check = native_frames(&without);
    assert_non_null(check);
    assert_int_equal(check->state, GV_CHECK_UNSEEN);
    assert_string_equal(check->found, "no native frames: gpuverify was built without libunwind");
    assert_string_not_equal(check->fix, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_libunwind_there_are_no_native_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
