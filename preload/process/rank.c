#include "preload/process/rank.h"

#include "preload/base/own_environ.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define GV_CONTAINER_ID_DIGITS   64
#define GV_CONTAINER_SHOWN       12
#define GV_CONTAINER_FILE_BYTES  65536
#define GV_CONTAINER_ENGINE_NAME "container" /* set by podman and systemd-nspawn */

enum rank_variable {
    RANK_OF,
    RANK_LOCAL,
    RANK_SIZE,
    RANK_JOB,
    RANK_HOST,
    RANK_VARIABLES,
};

static const char *const launchers[][RANK_VARIABLES] = {
#define GV_LAUNCHER(name, rank, local, size, job, host) {#rank, #local, #size, #job, #host},
#include "trace/launchers.def"
};
#define LAUNCHERS (sizeof(launchers) / sizeof(launchers[0]))

/* An image that is run without an engine is named by a variable. */
static const char *const images[] = {"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"};
#define IMAGES (sizeof(images) / sizeof(images[0]))

static char values[LAUNCHERS][RANK_VARIABLES][GV_RANK_TEXT_BYTES];
static char image[IMAGES][PATH_MAX];
static bool has_engine;

static bool is_variable(const char *entry, const char *name, const char **value)
{
    size_t length = strlen(name);

    *value = entry + length + 1;
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static void read_environment(void)
{
    static char entry[PATH_MAX];
    const char *value;

    memset(values, 0, sizeof values);
    memset(image, 0, sizeof image);
    has_engine = false;
    for (size_t at = 0; gv_own_environ_read(at, entry, sizeof entry); at++) {
        for (size_t i = 0; i < LAUNCHERS * RANK_VARIABLES; i++)
            if (is_variable(entry, launchers[i / RANK_VARIABLES][i % RANK_VARIABLES], &value))
                snprintf(values[i / RANK_VARIABLES][i % RANK_VARIABLES], GV_RANK_TEXT_BYTES, "%s",
                         value);
        for (size_t i = 0; i < IMAGES; i++)
            if (is_variable(entry, images[i], &value))
                snprintf(image[i], sizeof image[i], "%s", value);
        has_engine = has_engine || is_variable(entry, GV_CONTAINER_ENGINE_NAME, &value);
    }
}

/* -1: it is no number of a rank. */
static int32_t number_of(const char *text)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && number <= INT32_MAX ? (int32_t)number
                                                                                  : -1;
}

static void find_rank(struct gv_rank *rank)
{
    for (size_t i = 0; i < LAUNCHERS; i++) {
        int32_t number = number_of(values[i][RANK_OF]), size = number_of(values[i][RANK_SIZE]);

        if (number < 0 || size <= number)
            continue;
        rank->rank = number;
        rank->world_size = size;
        rank->local_rank = number_of(values[i][RANK_LOCAL]);
        return;
    }
}

static void find_text(enum rank_variable variable, char out[GV_RANK_TEXT_BYTES])
{
    for (size_t i = 0; i < LAUNCHERS && !out[0]; i++)
        if (strcmp(values[i][variable], "none") != 0) /* torchrun's, if it was given no id */
            memcpy(out, values[i][variable], GV_RANK_TEXT_BYTES);
}

bool gv_process_rank_container_id(const char *text, char out[GV_RANK_TEXT_BYTES])
{
    for (const char *at = text; *at;) {
        size_t digits = strspn(at, "0123456789abcdef");

        if (digits == GV_CONTAINER_ID_DIGITS) {
            snprintf(out, GV_RANK_TEXT_BYTES, "%.*s", GV_CONTAINER_SHOWN, at);
            return true;
        }
        at += digits ? digits : 1;
    }
    return false;
}

/* `mount`: only in the line of this mount point. A machine that runs containers has mounts with the
 * ids of all of them. */
static bool find_id(const char *path, const char *mount, char out[GV_RANK_TEXT_BYTES])
{
    static char text[GV_CONTAINER_FILE_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *end, *line = text;
    size_t used = 0;
    ssize_t got = fd < 0 ? -1 : 1;

    while (got > 0 && used < sizeof text - 1) {
        got = read(fd, text + used, sizeof text - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    text[used] = 0;
    if (mount) {
        end = strstr(text, mount);
        if (!end)
            return false;
        *end = 0;
        line = strrchr(text, '\n');
    }
    return gv_process_rank_container_id(line ? line : text, out);
}

/* The engine's id; the image's file name; or the host name that the engine has given it. */
static void find_container(const char *name, char out[GV_RANK_TEXT_BYTES])
{
    const char *slash;

    if (find_id("/proc/self/cgroup", NULL, out) ||
        find_id("/proc/self/mountinfo", " /etc/hostname ", out))
        return;
    for (size_t i = 0; i < IMAGES && !out[0]; i++) {
        slash = strrchr(image[i], '/');
        snprintf(out, GV_RANK_TEXT_BYTES, "%.*s", (int)GV_RANK_TEXT_BYTES - 1,
                 slash ? slash + 1 : image[i]);
    }
    if (!out[0] &&
        (has_engine || access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0))
        snprintf(out, GV_RANK_TEXT_BYTES, "%s", name);
}

void gv_process_rank_read(struct gv_rank *rank)
{
    struct utsname here;
    bool named = uname(&here) == 0;

    memset(rank, 0, sizeof *rank);
    rank->rank = rank->local_rank = rank->world_size = -1;
    read_environment();
    find_rank(rank);
    find_text(RANK_JOB, rank->job);
    find_text(RANK_HOST, rank->host);
    if (!rank->host[0] && named)
        snprintf(rank->host, sizeof rank->host, "%s", here.nodename);
    find_container(named ? here.nodename : "", rank->container);
}
