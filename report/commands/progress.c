#include "report/commands/progress.h"

#include "trace/futex.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Steps of SQLite's virtual machine between two looks at the clock: about a millisecond. */
#define GV_PROGRESS_STEPS 100000

struct gv_progress {
    const char *what;
    time_t begun;
    time_t shown; /* seconds shown on the line; 0: no line */
};

static struct gv_progress progress_now;

static int progress_look(void *context)
{
    struct gv_progress *progress = context;
    time_t seconds = (time_t)(gv_monotonic_ns() / 1000000000) - progress->begun;

    /* The first second of the clock may have been nearly over. */
    if (seconds < 2 || seconds == progress->shown)
        return 0;
    progress->shown = seconds;
    fprintf(stderr, "\r%s, %lld s ", progress->what, (long long)seconds);
    fflush(stderr);
    return 0;
}

void gv_progress_begin(sqlite3 *database, const char *what)
{
    if (!isatty(STDERR_FILENO))
        return;
    progress_now =
        (struct gv_progress){.what = what, .begun = (time_t)(gv_monotonic_ns() / 1000000000)};
    sqlite3_progress_handler(database, GV_PROGRESS_STEPS, progress_look, &progress_now);
}

void gv_progress_end(sqlite3 *database)
{
    sqlite3_progress_handler(database, 0, NULL, NULL);
    if (progress_now.shown)
        fputs("\r\033[K", stderr);
    progress_now.shown = 0;
}
