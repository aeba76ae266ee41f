#include "report/collect/collector_search.h"

#include "trace/program_name.h"
#include "trace/session.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "gpuverify", "collect", "<directory>/<session>.session" */
static bool gv_collector_search_is_of(uint32_t pid, const char *session, char *directory,
                                      size_t size)
{
    static const char start[] = "gpuverify\0collect";
    char arguments[GV_SESSION_PATH_BYTES + sizeof(start)], file[GV_SESSION_ID_BYTES + 16];
    size_t length = gv_program_read_arguments(pid, arguments, sizeof(arguments) - 1);

    arguments[length] = '\0';
    if (length <= sizeof(start) || memcmp(arguments, start, sizeof(start)) != 0)
        return false;
    char *path = arguments + sizeof(start), *slash = strrchr(path, '/');
    snprintf(file, sizeof(file), "%s%s", session, GV_SESSION_SUFFIX);
    if (!slash || strcmp(slash + 1, file) != 0)
        return false;
    *slash = '\0';
    int needed = snprintf(directory, size, "%s", path);
    return needed > 0 && (size_t)needed < size;
}

int gv_collector_search(const char *session, char *directory, size_t size)
{
    DIR *stream = opendir("/proc");
    struct dirent *entry;
    bool found = false;

    if (!stream)
        return -errno;
    while (!found && (entry = readdir(stream))) {
        unsigned long pid = strtoul(entry->d_name, NULL, 10);
        found = pid > 0 && pid <= INT32_MAX &&
                gv_collector_search_is_of((uint32_t)pid, session, directory, size);
    }
    closedir(stream);
    return found ? 0 : -ENOENT;
}
