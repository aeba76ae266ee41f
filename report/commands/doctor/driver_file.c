#include "report/commands/doctor/driver_file.h"

#include "report/commands/doctor/doctor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GV_DRIVER_FILE    "libcuda.so.1"
#define GV_DRIVER_MOST_MS 30000

/* In the child. */
static void driver_file_try(const void *context)
{
    (void)context;
    if (dlopen(GV_DRIVER_FILE, RTLD_LAZY | RTLD_LOCAL))
        _exit(0);
    const char *why = dlerror();
    ssize_t sent = why ? write(STDOUT_FILENO, why, strlen(why)) : 0;
    _exit(sent >= 0 ? 1 : 2);
}

bool gv_driver_file_loads(char *why, size_t size)
{
    int status = 0;

    if (gv_doctor_listen(driver_file_try, NULL, GV_DRIVER_MOST_MS, why, size, &status))
        return true;
    if (!why[0])
        snprintf(why, size, "%s cannot be loaded", GV_DRIVER_FILE);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
