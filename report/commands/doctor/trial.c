/*
 * A trial: `gpuverify run` with a program that starts CUDA. It runs in separate processes, because
 * a driver in trouble may hang or crash them, and for some seconds at most.
 */
#include "report/commands/doctor/doctor.h"
#include "report/commands/run/environment.h"
#include "report/commands/trace_view.h"
#include "report/commands_doctor_trial.inc"
#include "report/show/error_words.h"
#include "report/store/database.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GV_TRIAL_MOST_MS 30000

struct gv_trial {
    char folder[256];
    char trace[288];
    char said[512]; /* what the program printed */
};

/* In the child. */
static void trial_become(const void *context)
{
    const struct gv_trial *trial = context;
    char self[PATH_MAX];

    if (gv_run_self(self, sizeof(self)))
        return;
    unsetenv("GPUVERIFY_SESSION");
    setenv("GPUVERIFY_COLLECTOR", "on", 1);
    execl(self, "gpuverify", "run", "-o", trial->trace, "--", self, "trial", (char *)NULL);
}

static int trial_device(void *doctor, sqlite3_stmt *row)
{
    gv_doctor_add(
        doctor, GV_CHECK_FINE, "device", NULL, "%d: %.120s, compute capability %.16s, %lld MiB",
        sqlite3_column_int(row, 0), (const char *)sqlite3_column_text(row, 1),
        (const char *)sqlite3_column_text(row, 2), (long long)sqlite3_column_int64(row, 3));
    return 0;
}

/* What is recorded of the GPU side if the user chose so, which is no fault. */
static const struct trial_choice {
    const char *mode;
    enum gv_check_state state;
    const char *found;
} trial_choices[] = {
    {"sampled", GV_CHECK_FINE,
     "calls chosen at random are measured; the others' GPU times are estimated from these"},
    {"off", GV_CHECK_NOTE, "only calls are recorded; stalls and idle times are inferred from them"},
};

static int trial_gpu_side(void *doctor, sqlite3_stmt *row)
{
    const char *mode = (const char *)sqlite3_column_text(row, 0);
    const char *why = (const char *)sqlite3_column_text(row, 1);
    int version = sqlite3_column_int(row, 2);
    const char *simulated = sqlite3_column_int(row, 4) ? "a simulated " : "";

    if (mode && strcmp(mode, "cupti") == 0) {
        gv_doctor_add(doctor, GV_CHECK_FINE, "GPU side", NULL,
                      "recorded through %sCUPTI %d.%d, %.300s", simulated, version / 10000,
                      version % 10000 / 100, gv_database_text(row, 3));
        return 0;
    }
    for (size_t i = 0; mode && i < sizeof(trial_choices) / sizeof(trial_choices[0]); i++)
        if (strcmp(mode, trial_choices[i].mode) == 0) {
            gv_doctor_add(doctor, trial_choices[i].state, "GPU side", NULL, "%.300s: %s",
                          why ? why : mode, trial_choices[i].found);
            return 0;
        }
    gv_doctor_add(doctor, GV_CHECK_WRONG, "GPU side",
                  "install the CUDA toolkit's libcupti, or set GPUVERIFY_CUPTI to its path; "
                  "calls and stalls are recorded without it too",
                  "not recorded: %.400s", why ? why : "CUDA was not started");
    return 0;
}

static void trial_look(struct gv_doctor *doctor, const struct gv_trial *trial)
{
    sqlite3 *trace = NULL;

    if (access(trial->trace, R_OK) < 0 || gv_trace_view_open(trial->trace, &trace)) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "trace",
                      "see what it reports: GPUVERIFY_LOG=info gpuverify run true",
                      "the trial run wrote none");
        return;
    }
    (void)gv_database_each(trace, sql_devices, NULL, 0, trial_device, doctor);
    (void)gv_database_each(trace, sql_gpu_side, NULL, 0, trial_gpu_side, doctor);
    sqlite3_close(trace);
}

static void trial_judge(struct gv_doctor *doctor, const struct gv_trial *trial)
{
    const char *said = trial->said;
    int result = -1, version = 0, devices = 0;

    if (strncmp(said, "missing ", 8) == 0) {
        gv_doctor_add_missing_driver(doctor, said + 8);
        return;
    }
    if (sscanf(said, "result %d %d %d", &result, &version, &devices) != 3) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "driver",
                      "check whether a CUDA program works without gpuverify",
                      "starting CUDA gave no result: %.200s",
                      said[0] ? said : "the trial run did not start");
    } else if (result != 0) {
        const struct gv_error_words *error = gv_error_words_of("init", result);
        gv_doctor_add(doctor, GV_CHECK_WRONG, "driver",
                      error ? error->remedy : "check the kernel's log (dmesg)",
                      "cuInit returned %d: %s", result, error ? error->meaning : "unknown");
    } else {
        gv_doctor_add(doctor, GV_CHECK_FINE, "driver", NULL, "CUDA %d.%d, %d device%s",
                      version / 1000, version % 1000 / 10, devices, devices == 1 ? "" : "s");
        trial_look(doctor, trial);
    }
}

/* A container may have none of these, or only some. */
static bool trial_make_folder(struct gv_trial *trial)
{
    const char *const folders[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (!folders[i] ||
            (size_t)snprintf(trial->folder, sizeof(trial->folder), "%s/gpuverify-doctor-XXXXXX",
                             folders[i]) >= sizeof(trial->folder))
            continue;
        if (mkdtemp(trial->folder))
            return true;
    }
    return false;
}

void gv_doctor_try(struct gv_doctor *doctor)
{
    struct gv_trial trial;
    int status = 0, error;

    if (!trial_make_folder(&trial)) {
        doctor->looked_not = true;
        gv_doctor_add(doctor, GV_CHECK_NOTE, "trial",
                      "give it a folder for temporary files: docker run --tmpfs /tmp",
                      "CUDA was not started: there is no folder for a trial's trace: %s",
                      strerror(errno));
        return;
    }
    snprintf(trial.trace, sizeof(trial.trace), "%s/trace.db", trial.folder);
    error = gv_doctor_listen(trial_become, &trial, GV_TRIAL_MOST_MS, trial.said, sizeof(trial.said),
                             &status);
    trial.said[strcspn(trial.said, "\n")] = '\0';
    if (error == -ETIMEDOUT || (!error && WIFSIGNALED(status))) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "driver",
                      "check whether a CUDA program works without gpuverify, and what "
                      "nvidia-smi and the kernel's log (dmesg) say",
                      "starting CUDA %s", error ? "did not end within 30 s" : "crashed");
    } else {
        trial_judge(doctor, &trial);
    }
    unlink(trial.trace);
    rmdir(trial.folder);
}
