#include "preload/idle/quota.h"

#include "trace/proc_file.h"

#include <stdlib.h>
#include <string.h>

#define CGROUP_BYTES 4096
#define STAT_BYTES   1024
#define FOLDER_BYTES (GV_PROC_PATH_BYTES - 32)
#define LIMITS_MOST  4u

static char group[FOLDER_BYTES]; /* the process's own */
static struct {
    size_t length; /* of the part of `group` that names it */
    uint64_t times;
} limits[LIMITS_MOST]; /* the group and those above it, as far as they have a quota */
static unsigned limit_count, cpus;

/* "cpu" in "cpuset,cpu,cpuacct" */
static bool has_cpu(const char *controllers, const char *end)
{
    while (controllers < end) {
        size_t length = strcspn(controllers, ",:");

        if (length == 3 && memcmp(controllers, "cpu", 3) == 0)
            return true;
        controllers += length + 1;
    }
    return false;
}

bool gv_quota_folder(const char *text, char *folder, size_t size)
{
    bool found = false;

    for (const char *line = text; *line;) {
        const char *end = line + strcspn(line, "\n");
        const char *controllers = memchr(line, ':', (size_t)(end - line)), *path = NULL;

        if (controllers)
            path = memchr(controllers + 1, ':', (size_t)(end - controllers - 1));
        if (path) {
            bool is_first = has_cpu(controllers + 1, path);
            const char *mount = is_first ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";

            /* A version 1 controller wins over version 2, whose field is empty. */
            if ((is_first || (path == controllers + 1 && !found)) &&
                strlen(mount) + (size_t)(end - path) < size) {
                snprintf(folder, size, "%s%.*s", mount, (int)(end - path - 1), path + 1);
                found = true;
            }
        }
        line = *end ? end + 1 : end;
    }
    return found;
}

bool gv_quota_parse(const char *text, uint64_t *times)
{
    const char *at = strstr(text, "nr_throttled ");

    if (!at || (at != text && at[-1] != '\n') || at[13] < '0' || at[13] > '9')
        return false;
    *times = strtoull(at + 13, NULL, 10);
    return true;
}

unsigned gv_quota_parse_cpus(const char *text)
{
    char *end;
    uint64_t quota_us = strtoull(text, &end, 10);
    uint64_t period_us = end != text && *text != '-' ? strtoull(end, NULL, 10) : 0;

    if (!period_us || quota_us > (uint64_t)UINT16_MAX * period_us)
        return 0;
    return (unsigned)((quota_us + period_us - 1) / period_us);
}

static size_t parent_of(size_t length)
{
    while (length > 0 && group[--length] != '/')
        ;
    return length;
}

static bool read_times(size_t length, uint64_t *times)
{
    char text[STAT_BYTES];

    return gv_proc_read(text, sizeof text, "%.*s/cpu.stat", (int)length, group) > 0 &&
           gv_quota_parse(text, times);
}

/* 0: none. Version 2, or 1. */
static unsigned read_cpus(size_t length)
{
    char text[64] = "", quota[24], period[24];
    int bytes = (int)length;

    if (gv_proc_read(text, sizeof text, "%.*s/cpu.max", bytes, group) <= 0 &&
        gv_proc_read(quota, sizeof quota, "%.*s/cpu.cfs_quota_us", bytes, group) > 0 &&
        gv_proc_read(period, sizeof period, "%.*s/cpu.cfs_period_us", bytes, group) > 0)
        snprintf(text, sizeof text, "%s %s", quota, period);
    return gv_quota_parse_cpus(text);
}

/* Reading a group costs up to 0.1 ms, so those without a quota are not looked at again. */
void gv_quota_start_at(const char *folder)
{
    size_t length = strlen(folder);

    limit_count = cpus = 0;
    if (length >= sizeof group)
        return;
    memcpy(group, folder, length + 1);
    while (length > 0 && group[length - 1] == '/') /* in a container, "/" is its own group */
        length--;
    for (; length > 0; length = parent_of(length)) {
        unsigned these = read_cpus(length);

        if (!these)
            continue;
        if (!cpus || these < cpus)
            cpus = these;
        if (limit_count < LIMITS_MOST && read_times(length, &limits[limit_count].times))
            limits[limit_count++].length = length;
    }
}

void gv_quota_start(void)
{
    static char text[CGROUP_BYTES], folder[FOLDER_BYTES];

    if (gv_proc_read(text, sizeof text, "/proc/self/cgroup") <= 0 ||
        !gv_quota_folder(text, folder, sizeof folder))
        folder[0] = 0;
    gv_quota_start_at(folder);
}

unsigned gv_quota_cpus(void)
{
    return cpus;
}

bool gv_quota_was_used_up(void)
{
    bool was_used_up = false;
    uint64_t times;

    for (unsigned i = 0; i < limit_count; i++)
        if (read_times(limits[i].length, &times)) {
            was_used_up |= times > limits[i].times;
            limits[i].times = times;
        }
    return was_used_up;
}
