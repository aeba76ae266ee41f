/* Checks of the machine: the driver's files, shared memory, other tools. */
#include "report/collect/left_sessions.h"
#include "report/collect/nvml.h"
#include "report/collect/running_stack.h"
#include "report/collect/sessions.h"
#include "report/commands/doctor/doctor.h"
#include "report/commands/doctor/driver_file.h"
#include "report/commands/run/environment.h"
#include "report/show/format.h"
#include "report/unwind/unwind.h"
#include "trace/nvtx.h"
#include "trace/settings.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* With less, a busy program may lose records: spools take at most a quarter of it. */
#define GV_SHARED_LEAST_BYTES (256 << 20)
/* A driver in trouble may never answer. */
#define GV_GPM_MOST_MS 10000

static void machine_driver(struct gv_doctor *doctor)
{
    char line[256];

    if (gv_doctor_read_line("/proc/driver/nvidia/version", line, sizeof(line)))
        gv_doctor_add(doctor, GV_CHECK_FINE, "kernel driver", NULL, "%s", line);
    else
        gv_doctor_add(
            doctor, GV_CHECK_NOTE, "kernel driver", NULL,
            "NVIDIA's kernel driver is not loaded: /proc/driver/nvidia/version does not exist");
}

static void machine_files(struct gv_doctor *doctor)
{
    glob_t files;

    if (glob("/dev/nvidia[0-9]*", 0, NULL, &files) != 0)
        return;
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (access(files.gl_pathv[i], R_OK | W_OK) < 0) {
            gv_doctor_add(doctor, GV_CHECK_WRONG, "permissions",
                          "give this user or container access to the device",
                          "%s cannot be opened: %s", files.gl_pathv[i], strerror(errno));
        }
    globfree(&files);
}

/* The folder above the records' folder, unless that is a file system of its own. */
static void machine_shared_folder(char *directory)
{
    struct stat inner, outer;
    char *slash = strrchr(directory, '/');

    if (!slash || slash == directory)
        return;
    *slash = '\0';
    int error = stat(directory, &outer);
    *slash = '/';
    if (stat(directory, &inner) < 0 || (!error && inner.st_dev == outer.st_dev))
        *slash = '\0';
}

static void machine_shared_memory(struct gv_doctor *doctor)
{
    char directory[GV_SESSION_PATH_BYTES], size[GV_FORMAT_BYTES], left[GV_FORMAT_BYTES];
    struct statvfs status;
    struct statfs kind;
    struct stat folder;

    gv_session_place_default(directory, sizeof(directory));
    if (lstat(directory, &folder) == 0 && (folder.st_uid != geteuid() || folder.st_mode & 022)) {
        gv_doctor_add(doctor, GV_CHECK_NOTE, "shared memory",
                      "set GPUVERIFY_SPOOL_DIR to a subfolder of it; gpuverify makes that. Until "
                      "then, records go to files beside the trace, which makes calls slower",
                      "%.300s belongs to another user, or others may write to it", directory);
        return;
    }
    machine_shared_folder(directory);
    if (statvfs(directory, &status) < 0 || statfs(directory, &kind) < 0 ||
        access(directory, W_OK | X_OK) < 0) {
        gv_doctor_add(doctor, GV_CHECK_NOTE, "shared memory",
                      "set GPUVERIFY_SPOOL_DIR to a folder in memory; until then, records go to "
                      "files beside the trace, which makes calls slower",
                      "%s cannot be used: %s", directory, strerror(errno));
        return;
    }
    if (kind.f_type != TMPFS_MAGIC && kind.f_type != RAMFS_MAGIC) {
        gv_doctor_add(doctor, GV_CHECK_NOTE, "shared memory",
                      "set GPUVERIFY_SPOOL_DIR to a folder in memory",
                      "%s is on a disk: writing records there makes calls slower", directory);
        return;
    }
    int64_t free_bytes = (int64_t)(status.f_bavail * status.f_frsize);
    bool small = free_bytes < GV_SHARED_LEAST_BYTES;
    gv_doctor_add(doctor, small ? GV_CHECK_NOTE : GV_CHECK_FINE, "shared memory",
                  small ? "a busy program may lose records: give the container more (docker run "
                          "--shm-size=1g), or set GPUVERIFY_SPOOL_DIR"
                        : NULL,
                  "%s: %s, %s of it free", directory,
                  gv_format_size(size, (int64_t)(status.f_blocks * status.f_frsize)),
                  gv_format_size(left, free_bytes));
}

static void machine_left_sessions(struct gv_doctor *doctor)
{
    char directory[GV_SESSION_PATH_BYTES], size[GV_FORMAT_BYTES];
    struct gv_left_sessions left;

    gv_session_place_default(directory, sizeof(directory));
    if (gv_left_sessions_find(directory, &left) == 0 && left.count > 0)
        gv_doctor_add(doctor, GV_CHECK_NOTE, "left sessions",
                      "gpuverify recover stores them, gpuverify recover --discard removes them",
                      "sessions left in shared memory: %zu, %s", left.count,
                      gv_format_size(size, left.bytes));
}

static void machine_library(struct gv_doctor *doctor)
{
    char path[PATH_MAX];

    int error = gv_run_find_library(path, sizeof(path));
    if (!error) {
        gv_doctor_add(doctor, GV_CHECK_FINE, "library", NULL, "%s", path);
        return;
    }
    if (error == -ENOSYS) /* the row of /proc says why */
        return;
    if (error == -EBADF) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "library",
                      "install gpuverify in a folder whose path has neither",
                      "%.300s: LD_PRELOAD cannot hold a path with a space or a colon", path);
        return;
    }
    gv_doctor_add(doctor, GV_CHECK_WRONG, "library", "install gpuverify again, with its library",
                  "cannot find libgpuverify.so next to gpuverify");
}

static void machine_profilers(struct gv_doctor *doctor)
{
    const char *injection = getenv("CUDA_INJECTION64_PATH"), *tool = getenv(GV_NVTX_VARIABLE);
    const char *preload = getenv("LD_PRELOAD");

    if (injection && *injection) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "other profiler",
                      "unset it: CUPTI serves one profiler at a time, and gpuverify may record "
                      "only the calls",
                      "CUDA_INJECTION64_PATH=%.300s", injection);
    }
    if (tool && *tool && !strstr(tool, "/" GV_NVTX_FILE)) {
        gv_doctor_add(doctor, GV_CHECK_NOTE, "other profiler",
                      "gpuverify passes NVTX's calls on to it; unset it if it uses CUPTI too",
                      GV_NVTX_VARIABLE "=%.300s", tool);
    }
    if (preload && *preload) {
        gv_doctor_add(doctor, GV_CHECK_NOTE, "LD_PRELOAD",
                      "gpuverify keeps it, after its own library; unset it if they conflict",
                      "%.400s", preload);
    }
}

static void machine_blocking(struct gv_doctor *doctor)
{
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");

    if (!value || strcmp(value, "1") != 0)
        return;
    gv_doctor_add(doctor, GV_CHECK_NOTE, "environment", "unset it, unless you look for a bug",
                  "CUDA_LAUNCH_BLOCKING=1: each launch waits until the GPU has done it");
}

/* In the child. */
static void machine_say_gpm(const void *context)
{
    unsigned devices, with_gpm;
    bool is_known;

    (void)context;
    if (gv_samples_count_gpm(&devices, &with_gpm, &is_known) == 0) {
        printf("%u %u %d", devices, with_gpm, is_known);
        fflush(stdout);
    }
}

/* Nothing, if there is no NVML to ask: then there is more to say of the driver. */
static void machine_gpm(struct gv_doctor *doctor)
{
    unsigned devices, with_gpm;
    char said[64];
    int status, is_known;

    if (gv_doctor_listen(machine_say_gpm, NULL, GV_GPM_MOST_MS, said, sizeof(said), &status) != 0 ||
        sscanf(said, "%u %u %d", &devices, &with_gpm, &is_known) != 3 || devices == 0)
        return;
    gv_doctor_add(doctor, with_gpm ? GV_CHECK_FINE : GV_CHECK_NOTE, "GPM", NULL,
                  with_gpm ? "%u of %u GPUs report use of SMs, DRAM and tensor cores (GPM)"
                  : is_known
                      ? "%u of %u GPUs report use of their units (GPM): needs Hopper or later, "
                        "without MIG"
                      : "%u of %u GPUs report use of their units (GPM): the driver is too old for "
                        "that, which also needs Hopper or later",
                  with_gpm, devices);
}

/* Only who asks for them misses something without. */
static void machine_native_stacks(struct gv_doctor *doctor)
{
    struct gv_settings settings;
    char scope[8];
    int error = gv_running_stack_try();

    gv_settings_read(&settings, NULL, NULL);
    bool wanted = settings.idle_stacks == GV_IDLE_STACKS_NATIVE;
    if (!error) {
        gv_doctor_add(doctor, GV_CHECK_FINE, "native stacks", NULL,
                      "ptrace is allowed: GPUVERIFY_IDLE_STACKS=native works");
        return;
    }
    bool yama = error == -EPERM &&
                gv_doctor_read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)) &&
                scope[0] > '1';
    gv_doctor_add(doctor, wanted ? GV_CHECK_WRONG : GV_CHECK_NOTE, "native stacks",
                  yama ? "sysctl kernel.yama.ptrace_scope=1, or give it CAP_SYS_PTRACE"
                       : "give the container CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)",
                  "GPUVERIFY_IDLE_STACKS=native would take no stacks of running threads: ptrace is "
                  "refused%s (%s)",
                  yama ? " by Yama" : "", strerror(-error));
}

void gv_doctor_add_missing_driver(struct gv_doctor *doctor, const char *why)
{
    gv_doctor_add(doctor, GV_CHECK_WRONG, "driver",
                  "install NVIDIA's driver; start a container with GPUs (docker run --gpus all -e "
                  "NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
                  "%.400s", why);
}

void gv_doctor_look_for_driver(struct gv_doctor *doctor)
{
    char why[400];

    if (!gv_driver_file_loads(why, sizeof(why))) {
        gv_doctor_add_missing_driver(doctor, why);
        return;
    }
    doctor->looked_not = true;
    gv_doctor_add(doctor, GV_CHECK_NOTE, "driver", NULL,
                  "libcuda.so.1 can be loaded; starting CUDA was not tried (--no-trial)");
}

void gv_doctor_look_at_machine(struct gv_doctor *doctor)
{
    machine_library(doctor);
    machine_driver(doctor);
    machine_files(doctor);
    machine_shared_memory(doctor);
    if (!gv_unwind_is_there())
        gv_doctor_add(doctor, GV_CHECK_WRONG, "native frames",
                      "install libunwind's development files, and build gpuverify again",
                      "no native frames: gpuverify was built without libunwind");
    machine_left_sessions(doctor);
    machine_native_stacks(doctor);
    machine_gpm(doctor);
    machine_profilers(doctor);
    machine_blocking(doctor);
}
