/* Checks of what a container may lack: /proc, the library, a folder for the trace, processes,
 * memory. */
#include "report/commands/doctor/doctor.h"
#include "trace/session.h"
#include "trace/settings.h"
#include "trace/trace_path.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* gpuverify run, the collector with its threads, the library's threads, and CUPTI's. */
#define GV_CONTAINER_LEAST_PROCESSES 10
/* A full spool, and the collector: with 48 MB, a program that only launches was killed. */
#define GV_CONTAINER_LEAST_BYTES (128L << 20)

/* The loader only prints a line about it, among the program's own. */
static void container_library(struct gv_doctor *doctor)
{
    const char *preload = getenv("LD_PRELOAD"),
               *name = preload ? strstr(preload, "libgpuverify.so") : NULL;
    char path[GV_SESSION_PATH_BYTES];

    if (!name)
        return;
    const char *start = name, *end = name + strcspn(name, " :");
    while (start > preload && start[-1] != ' ' && start[-1] != ':')
        start--;
    snprintf(path, sizeof(path), "%.*s", (int)(end - start), start);
    if (start[0] == '/' && access(path, R_OK) < 0)
        gv_doctor_add(doctor, GV_CHECK_WRONG, "preload",
                      "name libgpuverify.so in the container: docker run -v "
                      "/opt/gpuverify:/opt/gpuverify:ro -e "
                      "LD_PRELOAD=/opt/gpuverify/lib/libgpuverify.so",
                      "%.300s cannot be loaded: %s", path, strerror(errno));
}

static void container_trace(struct gv_doctor *doctor)
{
    char path[GV_SESSION_PATH_BYTES], here[GV_SESSION_PATH_BYTES];
    struct gv_settings settings;
    struct gv_trace_owner owner = {.pid = (uint32_t)getpid(), .program = "program"};

    owner.directory = getcwd(here, sizeof(here)) ? here : NULL;
    gv_settings_read(&settings, NULL, NULL);
    int error = gv_trace_path_expand(path, sizeof(path), settings.trace, &owner);
    if (!error) {
        char *slash = strrchr(path, '/');
        slash[slash == path] = '\0';
        error = access(path, W_OK | X_OK) < 0 ? -errno : 0;
    }
    if (error)
        gv_doctor_add(
            doctor, GV_CHECK_WRONG, "trace",
            "name a folder that this user can write: gpuverify run -o FILE; or docker run "
            "-v \"$PWD/out:/out\" -e GPUVERIFY_TRACE=/out/%n-%p.db",
            "%.300s, the trace's folder, cannot be written: %s", path, strerror(-error));
    else
        gv_doctor_add(doctor, GV_CHECK_FINE, "trace", NULL, "traces go to %.300s", path);
}

/* -1: unknown, or no limit. */
static long container_number(const char *path)
{
    char line[64];

    return gv_doctor_read_line(path, line, sizeof(line)) && isdigit((unsigned char)line[0])
               ? strtol(line, NULL, 10)
               : -1;
}

static void container_processes(struct gv_doctor *doctor)
{
    /* cgroup 2 and 1, as a container sees its own. */
    static const char *const files[][2] = {
        {"/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids.current"},
        {"/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids/pids.current"},
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        long most = container_number(files[i][0]), used = container_number(files[i][1]);
        if (most < 0 || used < 0 || most - used >= GV_CONTAINER_LEAST_PROCESSES)
            continue;
        gv_doctor_add(doctor, GV_CHECK_WRONG, "processes",
                      "allow some more than the program needs: docker run --pids-limit=200",
                      "%s allows %ld processes and threads, of which %ld are in use; gpuverify "
                      "needs up to %d",
                      files[i][0], most, used, GV_CONTAINER_LEAST_PROCESSES);
    }
}

static void container_memory(struct gv_doctor *doctor)
{
    static const char *const files[] = {"/sys/fs/cgroup/memory.max",
                                        "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        long most = container_number(files[i]);
        if (most >= 0 && most < GV_CONTAINER_LEAST_BYTES)
            gv_doctor_add(doctor, GV_CHECK_NOTE, "memory",
                          "allow 128 MB more than the program needs (docker run -m), or set "
                          "GPUVERIFY_SPOOL_MB",
                          "%s allows %ld MB: a program that makes many calls may be killed",
                          files[i], most >> 20);
    }
}

void gv_doctor_look_at_container(struct gv_doctor *doctor)
{
    if (access("/proc/self/exe", F_OK) < 0)
        gv_doctor_add(doctor, GV_CHECK_WRONG, "/proc",
                      "mount it: mount -t proc proc /proc; docker and podman do that",
                      "/proc is not mounted: nothing can be recorded without it");
    container_library(doctor);
    container_trace(doctor);
    container_processes(doctor);
    container_memory(doctor);
}
