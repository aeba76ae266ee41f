#include "report/commands/program_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gv_program_find(const char *name, char path[PATH_MAX])
{
    const char *places = getenv("PATH");
    char candidate[PATH_MAX];
    struct stat status;

    if (strchr(name, '/'))
        return realpath(name, path) ? 0 : -errno;
    for (const char *at = places ? places : "/usr/bin:/bin"; *at;) {
        int length = (int)strcspn(at, ":");
        snprintf(candidate, sizeof(candidate), "%.*s/%s", length ? length : 1, length ? at : ".",
                 name);
        if (access(candidate, X_OK) == 0 && stat(candidate, &status) == 0 &&
            S_ISREG(status.st_mode) && realpath(candidate, path))
            return 0;
        at += length + (at[length] == ':');
    }
    return -ENOENT;
}
