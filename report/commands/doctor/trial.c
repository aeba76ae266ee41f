/*
 * A trial: `gpuverify run` with a program that starts CUDA. It runs in separate processes, because
 * a driver in trouble may hang or crash them, and for some seconds at most.
 */
#include "report/commands/doctor/doctor.h"
#include "report/commands/trace_view.h"
#include "report/commands_doctor_trial.inc"
#include "report/show/error_words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GV_TRIAL_MOST_MS 30000
#define GV_TRIAL_STEP_MS 20

struct gv_trial {
    char folder[64];
    char trace[96];
    char said[96]; /* what the program printed */
};

/* In the child. */
static void trial_become(const struct gv_trial *trial)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int out = open(trial->said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int none = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (length <= 0 || out < 0 || none < 0 || dup2(none, 0) < 0 || dup2(out, 1) < 0 ||
        dup2(none, 2) < 0)
        _exit(127);
    self[length] = '\0';
    setpgid(0, 0);
    unsetenv("GPUVERIFY_SESSION");
    setenv("GPUVERIFY_COLLECTOR", "on", 1);
    execl(self, "gpuverify", "run", "-o", trial->trace, "--", self, "trial", (char *)NULL);
    _exit(127);
}

/* 0, or -ETIMEDOUT, or -ECHILD if it crashed, or another -errno. */
static int trial_wait(pid_t child)
{
    int status = 0;

    for (int waited_ms = 0; waited_ms < GV_TRIAL_MOST_MS; waited_ms += GV_TRIAL_STEP_MS) {
        pid_t got = waitpid(child, &status, WNOHANG);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == child)
            return WIFSIGNALED(status) ? -ECHILD : 0;
        usleep(GV_TRIAL_STEP_MS * 1000);
    }
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -ETIMEDOUT;
}

static int trial_run(const struct gv_trial *trial)
{
    pid_t child = fork();

    if (child == 0)
        trial_become(trial);
    return child < 0 ? -errno : trial_wait(child);
}

static void trial_devices(struct gv_doctor *doctor, sqlite3 *trace)
{
    sqlite3_stmt *rows = NULL;

    if (sqlite3_prepare_v2(trace,
                           "SELECT device, name, compute_capability, memory_bytes / 1048576 FROM"
                           " devices ORDER BY device LIMIT 16",
                           -1, &rows, NULL) == SQLITE_OK)
        while (sqlite3_step(rows) == SQLITE_ROW)
            gv_doctor_add(doctor, GV_CHECK_FINE, "device",
                          "%d: %.120s, compute capability %.16s, %lld MiB",
                          sqlite3_column_int(rows, 0), (const char *)sqlite3_column_text(rows, 1),
                          (const char *)sqlite3_column_text(rows, 2),
                          (long long)sqlite3_column_int64(rows, 3));
    sqlite3_finalize(rows);
}

static void trial_gpu_side(struct gv_doctor *doctor, sqlite3_stmt *row)
{
    const char *mode = (const char *)sqlite3_column_text(row, 0);
    const char *why = (const char *)sqlite3_column_text(row, 1);
    const char *library = (const char *)sqlite3_column_text(row, 3);
    int version = sqlite3_column_int(row, 2);

    const char *simulated = sqlite3_column_int(row, 4) ? "a simulated " : "";

    if (mode && strcmp(mode, "cupti") == 0) {
        gv_doctor_add(doctor, GV_CHECK_FINE, "GPU side", "recorded through %sCUPTI %d.%d, %.300s",
                      simulated, version / 10000, version % 10000 / 100, library ? library : "");
        return;
    }
    gv_doctor_add(doctor, GV_CHECK_UNSEEN, "GPU side", "not recorded: %.400s",
                  why    ? why
                  : mode ? "GPUVERIFY_GPU=off"
                         : "CUDA was not started");
    gv_doctor_fix(doctor,
                  "install the CUDA toolkit's libcupti, or set GPUVERIFY_CUPTI to its path; "
                  "calls and stalls are recorded without it too");
}

static void trial_look(struct gv_doctor *doctor, const struct gv_trial *trial)
{
    sqlite3 *trace = NULL;
    sqlite3_stmt *row = NULL;

    if (access(trial->trace, R_OK) < 0 || gv_trace_view_open(trial->trace, &trace)) {
        gv_doctor_add(doctor, GV_CHECK_UNSEEN, "trace", "the trial run wrote none");
        gv_doctor_fix(doctor, "see what it reports: GPUVERIFY_LOG=info gpuverify run true");
        return;
    }
    trial_devices(doctor, trace);
    if (sqlite3_prepare_v2(trace, sql_gpu_side, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW)
        trial_gpu_side(doctor, row);
    sqlite3_finalize(row);
    sqlite3_close(trace);
}

static void trial_judge(struct gv_doctor *doctor, const struct gv_trial *trial)
{
    char said[512] = "";
    int result = -1, version = 0, devices = 0;
    FILE *file = fopen(trial->said, "re");

    if (file && !fgets(said, sizeof(said), file))
        said[0] = '\0';
    if (file)
        fclose(file);
    said[strcspn(said, "\n")] = '\0';
    if (strncmp(said, "missing ", 8) == 0) {
        gv_doctor_add_missing_driver(doctor, said + 8);
        return;
    }
    if (sscanf(said, "result %d %d %d", &result, &version, &devices) != 3) {
        gv_doctor_add(doctor, GV_CHECK_UNSEEN, "driver", "starting CUDA gave no result: %.200s",
                      said[0] ? said : "the trial run did not start");
        gv_doctor_fix(doctor, "check whether a CUDA program works without gpuverify");
    } else if (result != 0) {
        const struct gv_error_words *error = gv_error_words_of("init", result);
        gv_doctor_add(doctor, GV_CHECK_UNSEEN, "driver", "cuInit returned %d: %s", result,
                      error ? error->meaning : "unknown");
        gv_doctor_fix(doctor, "%s", error ? error->remedy : "check the kernel's log (dmesg)");
    } else {
        gv_doctor_add(doctor, GV_CHECK_FINE, "driver", "CUDA %d.%d, %d device%s", version / 1000,
                      version % 1000 / 10, devices, devices == 1 ? "" : "s");
        trial_look(doctor, trial);
    }
}

void gv_doctor_try(struct gv_doctor *doctor)
{
    struct gv_trial trial = {.folder = "/tmp/gpuverify-doctor-XXXXXX"};
    int error;

    if (!mkdtemp(trial.folder)) {
        gv_doctor_add(doctor, GV_CHECK_NOTE, "trial", "cannot run in /tmp: %s", strerror(errno));
        return;
    }
    snprintf(trial.trace, sizeof(trial.trace), "%s/trace.db", trial.folder);
    snprintf(trial.said, sizeof(trial.said), "%s/said", trial.folder);
    error = trial_run(&trial);
    if (error == -ETIMEDOUT || error == -ECHILD) {
        gv_doctor_add(doctor, GV_CHECK_UNSEEN, "driver", "starting CUDA %s",
                      error == -ECHILD ? "crashed" : "did not end within 30 s");
        gv_doctor_fix(doctor, "check whether a CUDA program works without gpuverify, and what "
                              "nvidia-smi and the kernel's log (dmesg) say");
    } else {
        trial_judge(doctor, &trial);
    }
    unlink(trial.said);
    unlink(trial.trace);
    rmdir(trial.folder);
}
