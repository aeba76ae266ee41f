#include "report/commands/silence_note.h"

#include "report/commands/trace_open.h"
#include "report/commands_silence_note.inc"
#include "report/show/format.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"

#include <time.h>

/* Records arrive late, and a program that makes a call each second does not hang. */
#define GV_SILENCE_LEAST_NS INT64_C(1000000000)
/* Until the watchdog has looked and written its rows. */
#define GV_SILENCE_LATE_NS INT64_C(2000000000)

struct gv_silence {
    int64_t start_unix_ns;
    int64_t watchdog_ns; /* 0: off */
    int64_t last_ns;     /* when the last call ended, or the last process began to be recorded */
    bool in_flight;
};

static int silence_take(void *context, sqlite3_stmt *row)
{
    *(struct gv_silence *)context = (struct gv_silence){
        .start_unix_ns = sqlite3_column_int64(row, 0),
        .watchdog_ns = sqlite3_column_int64(row, 1),
        .last_ns = sqlite3_column_int64(row, 2),
        .in_flight = sqlite3_column_int(row, 3) != 0,
    };
    return 0;
}

/* 0: not known. */
static int64_t silence_age_ns(const struct gv_silence *silence)
{
    struct timespec now;
    int64_t now_ns, age_ns;

    if (silence->start_unix_ns <= 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
        return 0;
    now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (__builtin_sub_overflow(now_ns, silence->start_unix_ns, &age_ns) ||
        __builtin_sub_overflow(age_ns, silence->last_ns, &age_ns))
        return 0;
    return age_ns;
}

static void silence_say(FILE *out, const char *first, const struct gv_silence *silence,
                        int64_t age_ns, int columns)
{
    char age[GV_FORMAT_BYTES], limit[GV_FORMAT_BYTES];
    int indent = *first == ' ' ? 5 : 0;

    gv_format_duration(age, age_ns);
    gv_format_duration(limit, silence->watchdog_ns);
    if (silence->watchdog_ns <= 0)
        gv_text_say(
            out, indent, first, columns,
            "The last record is %s old. GPUVERIFY_WATCHDOG=0: hanging calls are not detected while"
            " the program runs.",
            age);
    else if (age_ns < silence->watchdog_ns || age_ns - silence->watchdog_ns < GV_SILENCE_LATE_NS)
        gv_text_say(
            out, indent, first, columns,
            "The last record is %s old: the program is outside of CUDA, or in a call that has not"
            " returned. Such a call is shown after %s (GPUVERIFY_WATCHDOG); until then, gdb -p or"
            " py-spy dump shows where the program is.",
            age, limit);
    else
        gv_text_say(
            out, indent, first, columns,
            "The last record is %s old, and no call is pending: the program is outside of CUDA.",
            age);
}

int gv_silence_note_print(FILE *out, sqlite3 *trace, const char *first, int columns, bool *told)
{
    struct gv_silence silence = {0};
    bool lives = false;
    int error = gv_trace_open_lives(trace, &lives);

    *told = false;
    if (error || !lives)
        return error;
    error = gv_database_each(trace, sql_silence, NULL, 0, silence_take, &silence);
    if (error || silence.in_flight)
        return error;
    int64_t age_ns = silence_age_ns(&silence);
    *told = age_ns >= GV_SILENCE_LEAST_NS;
    if (*told)
        silence_say(out, first, &silence, age_ns, columns);
    return 0;
}
