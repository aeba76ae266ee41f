#include "preload/base/clock.h"

#include "preload/base/hot.h"
#include "trace/settings.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

GV_HOT _Alignas(64) struct gv_clock gv_clock = {.kind = GV_CLOCK_MONOTONIC};

static uint64_t load_ns;

#if defined(__x86_64__)

/* With readings 2 ms apart, their error of 50 ns makes 25 ppm. Usually they are further apart. */
#define CALIBRATION_NS 2000000u

static uint64_t load_ticks;

static bool counter_is_invariant(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* The Linux kernel uses another clock source if the counter drifts or is emulated. */
static bool kernel_trusts_counter(void)
{
    char source[64];
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (fd < 0)
        return false;
    length = read(fd, source, sizeof source - 1);
    close(fd);
    if (length <= 0)
        return false;
    source[length] = 0;
    source[strcspn(source, "\n")] = 0;
    return strcmp(source, "tsc") == 0;
}

/* A pair of readings: of several tries, the one with the least time between the two. */
static void read_pair(uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        uint64_t before = gv_clock_ticks();
        uint64_t now_ns = gv_monotonic_ns();
        uint64_t after = gv_clock_ticks();

        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now_ns;
        }
    }
}

static bool calibrate_counter(struct gv_clock *clock)
{
    uint64_t ticks, ns;

    if (!counter_is_invariant() || !load_ticks)
        return false;
    do
        read_pair(&ticks, &ns);
    while (ns - load_ns < CALIBRATION_NS);
    if (ticks <= load_ticks)
        return false;
    clock->kind = GV_CLOCK_TSC;
    clock->base_ticks = load_ticks;
    clock->base_ns = load_ns;
    clock->multiplier =
        (uint64_t)(((unsigned __int128)(ns - load_ns) << 32) / (ticks - load_ticks));
    return clock->multiplier != 0;
}

#endif

void gv_clock_note_load(void)
{
#if defined(__x86_64__)
    read_pair(&load_ticks, &load_ns);
#else
    load_ns = gv_monotonic_ns();
#endif
}

void gv_clock_calibrate(struct gv_clock *clock, int64_t choice)
{
    struct timespec real;
    uint64_t now_ns;

    memset(clock, 0, sizeof *clock);
    clock->kind = GV_CLOCK_MONOTONIC;
    clock->epoch_ns = load_ns;
#if defined(__x86_64__)
    if (choice == GV_SETTING_CLOCK_TSC ||
        (choice == GV_SETTING_CLOCK_AUTO && kernel_trusts_counter()))
        if (!calibrate_counter(clock))
            clock->kind = GV_CLOCK_MONOTONIC;
#else
    (void)choice;
#endif
    clock_gettime(CLOCK_REALTIME, &real);
    now_ns = gv_monotonic_ns();
    clock->unix_offset_ns =
        (int64_t)real.tv_sec * 1000000000 + (int64_t)real.tv_nsec - (int64_t)now_ns;
}
