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

static const struct gv_clock monotonic = {.kind = GV_CLOCK_MONOTONIC};
GV_HOT _Alignas(64) const struct gv_clock *_Atomic gv_clock = &monotonic;

static uint64_t load_ns;

#if defined(__x86_64__)

/* With readings 2 ms apart, their error of 50 ns makes 25 ppm. Usually they are further apart; and
 * the collector soon knows better. */
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

static bool calibrate_counter(struct gv_clock *clock)
{
    uint64_t ticks, ns, multiplier;

    if (!counter_is_invariant() || !load_ticks)
        return false;
    do
        gv_clock_read_pair(&ticks, &ns);
    while (ns - load_ns < CALIBRATION_NS);
    if (ticks <= load_ticks)
        return false;
    multiplier = (uint64_t)(((unsigned __int128)(ns - load_ns) << 32) / (ticks - load_ticks));
    if (multiplier == 0)
        return false;
    clock->kind = GV_CLOCK_TSC;
    gv_clock_set_line(clock, load_ticks, load_ns, multiplier);
    gv_clock_set_line(clock, load_ticks, load_ns, multiplier);
    return true;
}

#endif

void gv_clock_use(const struct gv_clock *clock)
{
    atomic_store(&gv_clock, clock ? clock : &monotonic);
}

void gv_clock_note_load(void)
{
#if defined(__x86_64__)
    gv_clock_read_pair(&load_ticks, &load_ns);
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
