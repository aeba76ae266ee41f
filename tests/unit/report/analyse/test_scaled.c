/* A GPU side that was seen in windows: the sums of programs of which the whole truth is known,
 * estimated from what began in the windows. */
#include "report/analyse/totals/totals.h"
#include "kernels/random.h"
#include "tests/unit/report/totals_fixture.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times in microseconds, from the start of a run of a second. */
#define RUN     1000000
#define PERIOD  20000
#define WINDOW  1000
#define CALLS   8000
#define KERNELS 4

/* kernel: 1 to KERNELS, or 0: a copy. */
struct made_call {
    int kernel, bytes;
    int64_t start, duration;
};

struct made_run {
    struct made_call calls[CALLS];
    int count;
    int64_t at; /* when the host makes the next call */
};

static uint64_t random_state = GV_RANDOM_START;

static unsigned below(int64_t limit)
{
    return (unsigned)((gv_random(&random_state) >> 11) % (uint64_t)limit);
}

static int setup(void **state)
{
    totals_open(state);
    totals_execute(
        "DELETE FROM process WHERE id = 2; UPDATE process SET start_ns = 0, end_ns = 2000000000;"
        "INSERT INTO gpu_interval VALUES (1, 0, 0, 2000000000);"
        "INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'),"
        " (2, 'cuMemcpyHtoDAsync_v2', 'copy'), (3, 'cuStreamSynchronize', 'sync'),"
        " (4, 'cuStreamBeginCapture_v2', 'stream'), (5, 'cuStreamEndCapture', 'stream');"
        "INSERT INTO stream VALUES (1, 1, 1, NULL, 1, 'created');"
        "INSERT INTO device (id, process, device, name, uuid) VALUES (1, 1, 0, 'd', 'u');"
        "INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);"
        "WITH n(n) AS (VALUES (1), (2), (3), (4))"
        " INSERT INTO gpu_name SELECT n, 1, n, 'k' || n, 'k' FROM n;"
        "INSERT INTO gpu_shape (id, process, number, name) SELECT id, 1, id, id FROM gpu_name;"
        "INSERT INTO kernel (id, process, number, name) SELECT id, 1, id, name FROM gpu_name;");
    return 0;
}

/* ---- programs ---- */

static void add(struct made_run *run, int kernel, int64_t duration, int64_t then)
{
    if (run->count < CALLS)
        run->calls[run->count++] =
            (struct made_call){.kernel = kernel, .start = run->at, .duration = duration};
    run->at += then;
}

static void add_copy(struct made_run *run, int bytes, int64_t then)
{
    add(run, 0, 2 + bytes / 10000, then);
    run->calls[run->count - 1].bytes = bytes;
}

/* Three kernels, of which one's durations vary. */
static void steps(struct made_run *run)
{
    while (run->at < RUN) {
        add(run, 1, 100, 200);
        add(run, 2, 50 + below(100), 200);
        add(run, 3, 20, 100);
    }
}

/* Steps of many windows' length: a window sees a part of one. Only the calls before tell how long a
 * kernel takes. */
static void long_steps(struct made_run *run)
{
    while (run->at < RUN)
        for (int layer = 0; layer < 200; layer++) {
            add(run, 1 + (layer >= 100), layer < 100 ? 300 : 20, 350);
            add(run, 3, layer < 100 ? 10 : 100, 150);
        }
}

/* The night follows the day, and takes longer for the same. */
static void day_and_night(struct made_run *run)
{
    while (run->at < RUN / 3)
        add(run, 1, 80 + below(10), 100);
    while (run->at < RUN)
        add(run, 1 + (below(20) == 0), 150, 1500 + below(1000));
}

/* Copies of sizes that the api does not tell. */
static void copies(struct made_run *run)
{
    while (run->at < RUN) {
        add_copy(run, below(3) ? 40000 : 4000000, 500);
        add(run, 1, 100, 100 + below(100));
    }
}

/* ---- windows ---- */

struct truth {
    double ns[KERNELS + 1], busy_ns, count[KERNELS + 1];
};

/* Everything, as in a trace of GPUVERIFY_GPU=on. Work runs in order, each when the one before has
 * ended. */
static void record(const struct made_run *run, struct truth *truth)
{
    sqlite3_stmt *call =
        totals_prepare("INSERT INTO call (id, thread, api, start_ns, duration_ns, result,"
                       " stream, kernel, bytes, correlation) VALUES (?1, 1, ?2, ?3, 500,"
                       " 0, 1, nullif(?4, 0), nullif(?5, 0), ?1)");
    sqlite3_stmt *operation = totals_prepare(
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call, bytes,"
        " copy_kind) VALUES (?1, 1, ?2, nullif(?3, 0), ?4, ?5, ?1, nullif(?6, 0),"
        " CASE ?2 WHEN 2 THEN 33 END)");
    int64_t free_ns = 0;

    *truth = (struct truth){0};
    totals_execute("BEGIN; DELETE FROM call; DELETE FROM gpu_op; DELETE FROM gpu_change;"
                   "DELETE FROM gpu_window");
    for (int i = 0; i < run->count; i++) {
        const struct made_call *made = &run->calls[i];
        int64_t start_ns = made->start * 1000, ns = made->duration * 1000;
        totals_step(
            call, (int64_t[]){i + 1, made->kernel ? 1 : 2, start_ns, made->kernel, made->bytes}, 5);
        free_ns = free_ns > start_ns ? free_ns : start_ns + 500;
        totals_step(
            operation,
            (int64_t[]){i + 1, made->kernel ? 1 : 2, made->kernel, free_ns, ns, made->bytes}, 6);
        free_ns += ns;
        truth->ns[made->kernel] += (double)ns;
        truth->count[made->kernel]++;
        truth->busy_ns += (double)ns;
    }
    totals_execute("COMMIT");
    sqlite3_finalize(call);
    sqlite3_finalize(operation);
}

/* A window in each period, at random; what is launched elsewhere is not seen. */
static void keep_windows(int64_t period, int64_t window)
{
    sqlite3_stmt *change = totals_prepare("INSERT INTO gpu_change VALUES (1, ?1, 'seen', NULL),"
                                          " (1, ?2, 'between', NULL)");
    sqlite3_stmt *random = totals_prepare("INSERT INTO gpu_window VALUES (1, ?1, ?2)");

    totals_execute("BEGIN; INSERT INTO gpu_change VALUES (1, 0, 'between', NULL)");
    for (int64_t at = 0; at < RUN; at += period) {
        int64_t start = at + 1 + below(period - window - 2);
        const int64_t times[] = {start * 1000, (start + window) * 1000};
        totals_step(change, times, 2);
        totals_step(random, times, 2);
    }
    totals_execute("DELETE FROM gpu_op WHERE NOT EXISTS (SELECT 1 FROM gpu_window w, call c"
                   " WHERE c.id = call AND c.start_ns >= w.start_ns AND c.start_ns < w.end_ns);"
                   "UPDATE call SET correlation = NULL WHERE id NOT IN (SELECT call FROM gpu_op);"
                   "COMMIT");
    sqlite3_finalize(change);
    sqlite3_finalize(random);
}

static void only(void (*program)(struct made_run *run), struct truth *truth)
{
    static struct made_run run;

    run.count = 0;
    run.at = 1;
    program(&run);
    assert_in_range(run.count, 1, CALLS - 1);
    record(&run, truth);
}

/* ---- how good it is ---- */

struct outcome {
    double covered; /* how many estimates are within two standard errors */
    double bias;    /* the worst mean of what they are off, in their standard deviations */
    double error;   /* of the busy time: the mean standard error, relative */
};

static double kernel_number(const char *what, int kernel)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT %s FROM scaled WHERE name = %s%.0d%s", what,
             kernel ? "'k" : "'host to device", kernel, "'");
    return (double)totals_number(sql);
}

static void judge(struct outcome *outcome, double estimate, double error, double truth,
                  double *mean, double *square)
{
    outcome->covered += fabs(estimate - truth) <= 2 * error + 1e-6 * truth + 1;
    *mean += estimate - truth;
    *square += (estimate - truth) * (estimate - truth);
}

static struct outcome try_program(void (*program)(struct made_run *run), int times)
{
    double mean[KERNELS + 2] = {0}, square[KERNELS + 2] = {0};
    struct outcome outcome = {0};
    struct truth truth;
    int judged = 0;

    for (int time = 0; time < times; time++) {
        only(program, &truth);
        keep_windows(PERIOD, WINDOW);
        totals_keep();
        for (int kernel = 0; kernel <= KERNELS; kernel++) {
            /* Of a kernel that no window saw, nothing is told. */
            if (truth.count[kernel] == 0 || kernel_number("seen", kernel) < 1)
                continue;
            assert_int_equal((int64_t)kernel_number("count", kernel), (int64_t)truth.count[kernel]);
            judge(&outcome, kernel_number("total_ns", kernel), kernel_number("error_ns", kernel),
                  truth.ns[kernel], &mean[kernel], &square[kernel]);
            judged++;
        }
        double error = (double)totals_fact("gpu_busy_error_ns");
        judge(&outcome, (double)totals_fact("gpu_busy_ns"), error, truth.busy_ns,
              &mean[KERNELS + 1], &square[KERNELS + 1]);
        judged++;
        outcome.error += error / truth.busy_ns / times;
    }
    for (int i = 0; i <= KERNELS + 1; i++) {
        double deviation = sqrt(square[i] / times) + 1000;
        outcome.bias = fmax(outcome.bias, fabs(mean[i]) / times / deviation);
    }
    outcome.covered /= judged;
    return outcome;
}

static void estimates_are_as_exact_as_they_say(void **state)
{
    static const struct {
        const char *name;
        void (*program)(struct made_run *run);
    } programs[] = {{"steps", steps},
                    {"long_steps", long_steps},
                    {"day_and_night", day_and_night},
                    {"copies", copies}};
    int times = getenv("SCALED_TIMES") ? atoi(getenv("SCALED_TIMES")) : 8;
    (void)state;

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        struct outcome outcome = try_program(programs[i].program, times);
        printf("%s: %.3f covered, bias %.2f, error %.4f\n", programs[i].name, outcome.covered,
               outcome.bias, outcome.error);
        assert_true(outcome.covered >= 0.85);
        assert_true(outcome.bias < 0.9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(estimates_are_as_exact_as_they_say, setup, totals_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
