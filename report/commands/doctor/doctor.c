#include "report/commands/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

struct gv_doctor_check *gv_doctor_add(struct gv_doctor *doctor, enum gv_check_state state,
                                      const char *what, const char *found, ...)
{
    struct gv_doctor_check *check;
    va_list values;

    /* With too many checks, the last one is overwritten. */
    if (doctor->count < GV_DOCTOR_CHECKS)
        doctor->count++;
    check = &doctor->checks[doctor->count - 1];
    *check = (struct gv_doctor_check){.state = state};
    snprintf(check->about, sizeof(check->about), "%s", doctor->about);
    snprintf(check->what, sizeof(check->what), "%s", what);
    va_start(values, found);
    vsnprintf(check->found, sizeof(check->found), found, values);
    va_end(values);
    return check;
}

void gv_doctor_fix(struct gv_doctor *doctor, const char *format, ...)
{
    va_list values;

    if (doctor->count == 0)
        return;
    struct gv_doctor_check *check = &doctor->checks[doctor->count - 1];
    va_start(values, format);
    vsnprintf(check->fix, sizeof(check->fix), format, values);
    va_end(values);
}

bool gv_doctor_is_unwell(const struct gv_doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++)
        if (doctor->checks[i].state == GV_CHECK_UNSEEN)
            return true;
    return false;
}
