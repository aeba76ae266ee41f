#include "report/commands/doctor/driver_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GV_DRIVER_FILE "libcuda.so.1"

/* In the child. */
static void driver_file_try(int out)
{
    if (dlopen(GV_DRIVER_FILE, RTLD_LAZY | RTLD_LOCAL))
        _exit(0);
    const char *why = dlerror();
    ssize_t sent = why ? write(out, why, strlen(why)) : 0;
    _exit(sent >= 0 ? 1 : 2);
}

bool gv_driver_file_loads(char *why, size_t size)
{
    int ends[2], status = 0;
    size_t count = 0;

    snprintf(why, size, "%s cannot be loaded", GV_DRIVER_FILE);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return true;
    pid_t child = fork();
    if (child == 0)
        driver_file_try(ends[1]);
    close(ends[1]);
    while (child > 0 && count + 1 < size) {
        ssize_t got = read(ends[0], why + count, size - 1 - count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        count += (size_t)got;
        why[count] = '\0';
    }
    close(ends[0]);
    if (child < 0)
        return true;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return true;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
