#include "report/collect/gpm.h"

#include "trace/futex.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Half a round of who asks (nvml.h): rounds are not on time to the nanosecond. */
#define EARLY_MS 50

/* How long there is from one sample to the next, by the time since the first one. NVML needs 100 ms
 * between two. */
static const struct {
    int64_t until_s, pause_ms;
} paces[] = {{10, 200}, {3600, 500}, {86400, 2000}, {INT64_MAX, 10000}};

/* It may fail for some time, as while another tool has the counters; for so many times in a row, it
 * is over: MIG was switched on, or the device is gone. */
#define AGAIN_NS INT64_C(5000000000)
#define FAILURES 12
/* Shares are in tenths of a percent; somewhat more than all is measured, too. */
#define ALL 1000

/* The array of nvml.h grows from version to version: the library may count on its whole length. */
#define GPM_METRICS 352

/* As nvml.h has them; a version of 1 has been enough for all that is used here. */
struct gpm_support {
    unsigned version, is_supported;
};

struct gpm_metric {
    unsigned number;
    int result;
    double value;
    const char *words[3];
};

struct gpm_metrics {
    unsigned version, count;
    void *before, *after;
    struct gpm_metric metrics[GPM_METRICS];
};

/* GPM_FUNCTION(field, symbol, parameters); each returns 0 for success. */
#define GPM_FUNCTIONS                                                                              \
    GPM_FUNCTION(support, nvmlGpmQueryDeviceSupport, (void *device, struct gpm_support *support))  \
    GPM_FUNCTION(alloc, nvmlGpmSampleAlloc, (void **sample))                                       \
    GPM_FUNCTION(get, nvmlGpmSampleGet, (void *device, void *sample))                              \
    GPM_FUNCTION(metrics, nvmlGpmMetricsGet, (struct gpm_metrics * metrics))                       \
    GPM_FUNCTION(free, nvmlGpmSampleFree, (void *sample))                                          \
    GPM_FUNCTION(generation, nvmlDeviceGetMaxPcieLinkGeneration, (void *device, unsigned *value))  \
    GPM_FUNCTION(width, nvmlDeviceGetMaxPcieLinkWidth, (void *device, unsigned *value))

struct gv_gpm {
#define GPM_FUNCTION(field, symbol, parameters) int(*field) parameters;
    GPM_FUNCTIONS
#undef GPM_FUNCTION
    int (*reasons)(void *device, unsigned long long *bits); /* NULL: a library that lacks it */
    int64_t begun_ns;
    struct gpm_metrics asked;
    struct gpm_device {
        bool is_open;
        void *samples[2]; /* NULL: it has no GPM */
        unsigned newest, failures;
        int64_t at_ns, asked_ns; /* of the newest sample; 0: none */
        int64_t again_ns;        /* not before that, after a failure */
        double link_mib;         /* a second; 0: unknown */
    } devices[GV_GPM_DEVICES];
};

struct gv_gpm *gv_gpm_open(void *library)
{
    struct gv_gpm *gpm = calloc(1, sizeof(*gpm));
    bool whole = true;

    if (!gpm)
        return NULL;
#define GPM_FUNCTION(field, symbol, parameters)                                                    \
    *(void **)&gpm->field = dlsym(library, #symbol);                                               \
    whole = whole && gpm->field;
    GPM_FUNCTIONS
#undef GPM_FUNCTION
    gpm->support = whole ? gpm->support : NULL;
    /* The second is its name before CUDA 12.2. */
    *(void **)&gpm->reasons = dlsym(library, "nvmlDeviceGetCurrentClocksEventReasons");
    if (!gpm->reasons)
        *(void **)&gpm->reasons = dlsym(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    return gpm;
}

static void device_give_up(struct gv_gpm *gpm, struct gpm_device *device)
{
    for (int i = 0; i < 2; i++)
        if (device->samples[i])
            gpm->free(device->samples[i]);
    device->samples[0] = device->samples[1] = NULL;
}

void gv_gpm_close(struct gv_gpm *gpm)
{
    for (size_t i = 0; gpm && i < GV_GPM_DEVICES; i++)
        device_give_up(gpm, &gpm->devices[i]);
    free(gpm);
}

bool gv_gpm_is_known(const struct gv_gpm *gpm)
{
    return gpm->support;
}

bool gv_gpm_is_there(const struct gv_gpm *gpm, void *device)
{
    struct gpm_support support = {.version = 1};

    return gpm->support && gpm->support(device, &support) == 0 && support.is_supported;
}

static void device_open(struct gv_gpm *gpm, struct gpm_device *device, void *handle)
{
    /* A lane's MB a second and direction, by generation, without the encoding of the line. */
    static const double lane_mb[] = {0, 250, 500, 984.6, 1969.2, 3938.5, 7563};
    unsigned generation = 0, width = 0;

    device->is_open = true;
    if (!gv_gpm_is_there(gpm, handle))
        return;
    if (gpm->alloc(&device->samples[0]) != 0 || gpm->alloc(&device->samples[1]) != 0)
        device_give_up(gpm, device);
    if (gpm->generation(handle, &generation) == 0 && gpm->width(handle, &width) == 0 &&
        generation < sizeof(lane_mb) / sizeof(lane_mb[0]))
        device->link_mib = lane_mb[generation] * width / 1.048576;
}

/* The values of the time between the two samples. A counter that a device lacks has a result of its
 * own. */
static bool values_take(struct gv_gpm *gpm, const struct gpm_device *device,
                        struct gv_gpm_sample *sample)
{
    static const struct {
        unsigned number;
        double factor, most;
    } counters[] = {
#define GV_GPM(column, number, factor, most) {number, factor, most},
#include "report/collect/gpm.def"
    };
    struct gpm_metrics *asked = &gpm->asked;
    int64_t sent, most;

    asked->version = 1;
    asked->count = GV_GPM_VALUES;
    asked->before = device->samples[!device->newest];
    asked->after = device->samples[device->newest];
    for (size_t i = 0; i < GV_GPM_VALUES; i++)
        asked->metrics[i].number = counters[i].number;
    if (gpm->metrics(asked) != 0)
        return false;
    for (size_t i = 0; i < GV_GPM_VALUES; i++) {
        double value = asked->metrics[i].value * counters[i].factor;
        if (asked->metrics[i].result == 0 && value >= 0 && value <= 1e9)
            sample->of[i] = (int64_t)((value < counters[i].most ? value : counters[i].most) + 0.5);
    }
    sent = sample->of[GV_GPM_pcie_tx_mib];
    most = sample->of[GV_GPM_pcie_rx_mib] > sent ? sample->of[GV_GPM_pcie_rx_mib] : sent;
    if (most >= 0 && device->link_mib > 0)
        sample->pcie_tenths = (double)most < device->link_mib
                                  ? (int64_t)((double)most * ALL / device->link_mib + 0.5)
                                  : ALL;
    return true;
}

/* Whether there is a new one. After a failure the counters may begin anew: the next one is the
 * first. */
static bool device_sample(struct gv_gpm *gpm, struct gpm_device *device, void *handle,
                          int64_t now_ns)
{
    if (!device->samples[0] || now_ns < device->again_ns)
        return false;
    if (gpm->get(handle, device->samples[!device->newest]) == 0) {
        device->failures = 0;
        device->newest = !device->newest;
        device->at_ns = (int64_t)gv_monotonic_ns();
        return true;
    }
    device->at_ns = 0;
    device->again_ns = now_ns + AGAIN_NS;
    if (++device->failures == FAILURES)
        device_give_up(gpm, device);
    return false;
}

bool gv_gpm_take(struct gv_gpm *gpm, unsigned number, void *handle, struct gv_gpm_sample *sample)
{
    struct gpm_device *device = &gpm->devices[number];
    int64_t now_ns = (int64_t)gv_monotonic_ns(), before_ns = device->at_ns;
    unsigned long long reasons = 0;
    size_t pace = 0;

    gpm->begun_ns = gpm->begun_ns ? gpm->begun_ns : now_ns;
    while ((now_ns - gpm->begun_ns) / 1000000000 >= paces[pace].until_s)
        pace++;
    if (device->asked_ns && now_ns - device->asked_ns < (paces[pace].pause_ms - EARLY_MS) * 1000000)
        return false;
    if (!device->is_open)
        device_open(gpm, device, handle);
    memset(sample, 0xff, sizeof(*sample)); /* -1 */
    sample->duration_ns = 0;
    device->asked_ns = now_ns;
    if (gpm->reasons && gpm->reasons(handle, &reasons) == 0)
        sample->clock_reasons = (int64_t)(reasons & INT32_MAX);
    if (device_sample(gpm, device, handle, now_ns) && before_ns && values_take(gpm, device, sample))
        sample->duration_ns = device->at_ns - before_ns;
    return sample->duration_ns > 0 || sample->clock_reasons >= 0;
}
