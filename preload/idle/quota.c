#include "preload/idle/quota.h"

#include "trace/proc_file.h"

#include <stdlib.h>
#include <string.h>

#define CGROUP_BYTES 4096
#define STAT_BYTES   1024
#define FOLDER_BYTES (GV_PROC_PATH_BYTES - 16)

static char group[FOLDER_BYTES]; /* "": unknown */
static uint64_t known_times;
static unsigned cpus;

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

static bool read_times(uint64_t *times)
{
    char text[STAT_BYTES];

    return gv_proc_read(text, sizeof text, "%s/cpu.stat", group) > 0 && gv_quota_parse(text, times);
}

/* Version 2, or 1. */
static bool has_quota(void)
{
    char text[64] = "", quota[24], period[24];

    if (gv_proc_read(text, sizeof text, "%s/cpu.max", group) <= 0 &&
        gv_proc_read(quota, sizeof quota, "%s/cpu.cfs_quota_us", group) > 0 &&
        gv_proc_read(period, sizeof period, "%s/cpu.cfs_period_us", group) > 0)
        snprintf(text, sizeof text, "%s %s", quota, period);
    cpus = gv_quota_parse_cpus(text);
    return cpus != 0;
}

/* The group, or one above it: that with a quota. Reading it costs up to 0.1 ms, so one without a
 * quota is not looked at again. */
void gv_quota_start(void)
{
    static char text[CGROUP_BYTES];
    char *slash;

    known_times = 0;
    group[0] = 0;
    if (gv_proc_read(text, sizeof text, "/proc/self/cgroup") <= 0 ||
        !gv_quota_folder(text, group, sizeof group)) {
        group[0] = 0;
        return;
    }
    while (!has_quota() || !read_times(&known_times)) {
        slash = strrchr(group, '/');
        if (!slash || slash - group < (long)strlen("/sys/fs/cgroup")) {
            group[0] = 0;
            return;
        }
        *slash = 0;
    }
}

unsigned gv_quota_cpus(void)
{
    return group[0] ? cpus : 0;
}

bool gv_quota_was_used_up(void)
{
    uint64_t times, before = known_times;

    if (!group[0] || !read_times(&times))
        return false;
    known_times = times;
    return times > before;
}
