/* Samples of GPM with a library and a clock of our own. */
#include "report/collect/gpm.h"

#include "tests/unit/report/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS INT64_C(1000000)

struct metric {
    unsigned number;
    int result;
    double value;
    char *words[3];
};

struct metrics {
    unsigned version, count;
    void *before, *after;
    struct metric metrics[64];
};

static int64_t now_ns;
static int failures_left;
static double value;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
void *__wrap_dlsym(void *library, const char *name);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){now_ns / 1000000000, now_ns % 1000000000};
    return 0;
}

static int support(void *device, unsigned *version_and_answer)
{
    (void)device;
    version_and_answer[1] = 1;
    return 0;
}

static int sample_alloc(void **sample)
{
    *sample = calloc(1, 1);
    return *sample ? 0 : 1;
}

static int sample_free(void *sample)
{
    free(sample);
    return 0;
}

static int sample_get(void *device, void *sample)
{
    (void)device;
    (void)sample;
    return failures_left > 0 && failures_left-- > 0;
}

static int metrics_get(struct metrics *metrics)
{
    for (unsigned i = 0; i < metrics->count; i++) {
        metrics->metrics[i].result = 0;
        metrics->metrics[i].value = value;
    }
    return 0;
}

/* Generation 4, 16 lanes. */
static int link_generation(void *device, unsigned *generation)
{
    (void)device;
    *generation = 4;
    return 0;
}

static int link_width(void *device, unsigned *width)
{
    (void)device;
    *width = 16;
    return 0;
}

void *__wrap_dlsym(void *library, const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {{"nvmlGpmQueryDeviceSupport", (void (*)(void))support},
                     {"nvmlGpmSampleAlloc", (void (*)(void))sample_alloc},
                     {"nvmlGpmSampleFree", (void (*)(void))sample_free},
                     {"nvmlGpmSampleGet", (void (*)(void))sample_get},
                     {"nvmlGpmMetricsGet", (void (*)(void))metrics_get},
                     {"nvmlDeviceGetMaxPcieLinkGeneration", (void (*)(void))link_generation},
                     {"nvmlDeviceGetMaxPcieLinkWidth", (void (*)(void))link_width}};

    (void)library;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0)
            return *(void **)&functions[i].function;
    return NULL;
}

static struct gv_gpm *begin(void)
{
    struct gv_gpm *gpm = gv_gpm_open(NULL);

    assert_non_null(gpm);
    now_ns = 5000 * MS;
    failures_left = 0;
    value = 50;
    return gpm;
}

/* Rounds of 100 ms; returns how many of them had values. */
static int take(struct gv_gpm *gpm, int rounds, struct gv_gpm_sample *last)
{
    struct gv_gpm_sample sample;
    int count = 0;

    for (int i = 0; i < rounds; i++) {
        if (gv_gpm_take(gpm, 0, NULL, &sample) && sample.duration_ns > 0) {
            *last = sample;
            count++;
        }
        now_ns += 100 * MS + (i % 2 ? 1 : -1) * MS; /* now early, now late */
    }
    return count;
}

static void every_second_round(void **state)
{
    struct gv_gpm *gpm = begin();
    struct gv_gpm_sample last = {0};

    (void)state;
    assert_int_equal(take(gpm, 41, &last), 20);
    for (int i = 0; i < 20; i++) {
        now_ns += 199 * MS;
        assert_true(gv_gpm_take(gpm, 0, NULL, &last));
    }
    assert_int_equal(last.duration_ns, 199 * MS);
    gv_gpm_close(gpm);
}

static void failures_end(void **state)
{
    struct gv_gpm *gpm = begin();
    struct gv_gpm_sample last = {0};

    (void)state;
    assert_true(take(gpm, 20, &last) > 0);
    failures_left = 2;
    assert_int_equal(take(gpm, 100, &last), 0);
    assert_true(take(gpm, 40, &last) > 0);
    assert_in_range(last.duration_ns, 400 * MS, 600 * MS); /* nothing of the time between */
    /* It is not asked for ever. */
    failures_left = 1000;
    take(gpm, 2000, &last);
    assert_in_range(failures_left, 900, 1000 - 2);
    failures_left = 0;
    assert_int_equal(take(gpm, 200, &last), 0);
    gv_gpm_close(gpm);
}

static void shares_are_at_most_all(void **state)
{
    struct gv_gpm *gpm = begin();
    struct gv_gpm_sample last = {0};

    (void)state;
    take(gpm, 4, &last);
    assert_int_equal(last.of[GV_GPM_sm_tenths], 500);
    assert_int_equal(last.of[GV_GPM_pcie_tx_mib], 50);
    assert_int_equal(last.pcie_tenths, 2);
    value = 1e6;
    take(gpm, 4, &last);
    assert_int_equal(last.of[GV_GPM_sm_tenths], 1000);
    assert_int_equal(last.of[GV_GPM_dram_tenths], 1000);
    assert_int_equal(last.of[GV_GPM_pcie_tx_mib], 1000000);
    assert_int_equal(last.pcie_tenths, 1000);
    value = -1;
    take(gpm, 4, &last);
    assert_int_equal(last.of[GV_GPM_sm_tenths], -1);
    gv_gpm_close(gpm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_second_round),
        cmocka_unit_test(failures_end),
        cmocka_unit_test(shares_are_at_most_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
