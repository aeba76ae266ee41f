#include "report/commands/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void gv_doctor_add(struct gv_doctor *doctor, enum gv_check_state state, const char *what,
                   const char *fix, const char *found, ...)
{
    struct gv_doctor_check *check;
    va_list values;

    /* With too many checks, the last one is overwritten. */
    if (doctor->count < GV_DOCTOR_CHECKS)
        doctor->count++;
    check = &doctor->checks[doctor->count - 1];
    *check = (struct gv_doctor_check){.state = state, .about = doctor->about, .what = what};
    snprintf(check->fix, sizeof(check->fix), "%s", fix ? fix : "");
    va_start(values, found);
    vsnprintf(check->found, sizeof(check->found), found, values);
    va_end(values);
    doctor->unwell |= state == GV_CHECK_UNSEEN;
}
