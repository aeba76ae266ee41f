#include "report/commands/doctor/doctor.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    doctor->unwell |= state == GV_CHECK_WRONG;
}

bool gv_doctor_read_line(const char *path, char *line, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t count = fd < 0 ? -1 : read(fd, line, size - 1);

    if (fd >= 0)
        close(fd);
    line[count > 0 ? count : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return count > 0;
}
