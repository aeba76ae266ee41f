#include "report/collect/steer_clock.h"

/* A comparison is right to 50 ns: over a second, the rate is right to 0.1 ppm. */
#define GV_STEER_EVERY_NS  UINT64_C(1000000000)
#define GV_STEER_WITHIN_NS INT64_C(2000000000) /* an error goes in about this time */
#define GV_STEER_MOST_PPM  INT64_C(1000)
#define GV_STEER_AHEAD_NS  UINT64_C(2000000) /* a new line begins so much later */

void gv_clock_steer_by(struct gv_clock_steering *steering, struct gv_clock *clock, uint64_t ticks,
                       uint64_t ns)
{
    const struct gv_clock_line *line = &clock->lines[clock->changes >> 1 & 1];
    uint64_t rate, ahead, begin, most;
    int64_t behind_ns, correction;

    if (steering->ticks == 0) {
        steering->ticks = line->base_ticks;
        steering->ns = line->base_ns;
    }
    /* A counter that goes back, as after a machine was moved, is left alone until it does not. */
    if (ticks <= steering->ticks || ns <= steering->ns || ticks < line->base_ticks) {
        *steering = (struct gv_clock_steering){.ticks = ticks, .ns = ns};
        return;
    }
    rate = (uint64_t)(((unsigned __int128)(ns - steering->ns) << 32) / (ticks - steering->ticks));
    *steering = (struct gv_clock_steering){.ticks = ticks, .ns = ns};
    if (rate == 0)
        return;
    ahead = (uint64_t)(((unsigned __int128)GV_STEER_AHEAD_NS << 32) / rate);
    begin = ticks + ahead;
    behind_ns = (int64_t)(ns - gv_clock_line_at(line, ticks));
    most = rate / 1000000 * (uint64_t)GV_STEER_MOST_PPM;
    correction = (int64_t)((__int128)(int64_t)rate * behind_ns / GV_STEER_WITHIN_NS);
    if (correction > (int64_t)most)
        correction = (int64_t)most;
    if (correction < -(int64_t)most)
        correction = -(int64_t)most;
    gv_clock_set_line(clock, begin, gv_clock_line_at(line, begin),
                      (uint64_t)((int64_t)rate + correction));
}

void gv_clock_steer(struct gv_clock_steering *steering, struct gv_clock *clock)
{
    uint64_t ticks, ns;

    if (clock->kind != GV_CLOCK_TSC || gv_monotonic_ns() - steering->ns < GV_STEER_EVERY_NS)
        return;
    gv_clock_read_pair(&ticks, &ns);
    /* Interrupted for too long, a line would begin in the past: the next time does. */
    if (gv_monotonic_ns() - ns < GV_STEER_AHEAD_NS / 2)
        gv_clock_steer_by(steering, clock, ticks, ns);
}
