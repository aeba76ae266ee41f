#include "report/analyse/stalls/analysis.h"
#include "report/analyse/totals/totals.h"
#include "report/collect/drain.h"
#include "report/collect/stack_names.h"
#include "report/show/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* As many calls are looked through in some tenths of a second. */
#define GV_DRAIN_SETTLED_CALLS 200000

/* A stack without names is still one. */
static void gv_drain_name_stacks(struct gv_drain *drain)
{
    int error = gv_database_begin(&drain->database);

    if (!error)
        error = gv_stack_names_find(&drain->database);
    if (!error)
        error = gv_drain_commit(drain);
    if (error) {
        gv_database_rollback(&drain->database);
        gv_message("the stacks of %s cannot be named now: %s", drain->path, strerror(-error));
    }
}

/* A trace without its stalls is still one: the commands look for them when it has none. */
static void gv_drain_find_stalls(struct gv_drain *drain)
{
    int error = gv_stalls_analyse(drain->database.handle, gv_stalls_threshold_ns());

    if (error)
        gv_message("the stalls of %s cannot be found now: %s", drain->path, strerror(-error));
}

/* A trace without its sums is still one: the commands make them when it has none. */
static void gv_drain_keep_totals(struct gv_drain *drain)
{
    int error = gv_totals_keep(drain->database.handle);

    if (error)
        gv_message("the sums of %s cannot be made now: %s", drain->path, strerror(-error));
}

/* Everything that is found by looking at the whole trace, and that this is all. */
static int gv_drain_complete(struct gv_drain *drain)
{
    if (!drain->settled) {
        gv_drain_name_stacks(drain);
        gv_drain_find_stalls(drain);
        gv_drain_keep_totals(drain);
        drain->settled = true;
    }
    int error = gv_database_begin(&drain->database);
    if (!error && drain->root_signal)
        error = gv_database_run(&drain->database, GV_STATEMENT_PROCESS_SIGNAL, "iii",
                                (int64_t)drain->root_pid, (int64_t)drain->root_start_ticks,
                                (int64_t)drain->root_signal);
    if (!error)
        error = gv_database_set_meta(&drain->database, "state", "complete");
    if (!error)
        error = gv_drain_commit(drain);
    if (error)
        gv_database_rollback(&drain->database);
    drain->complete = !error;
    return error;
}

/* No other process of the session would add to the trace. */
static bool gv_drain_is_last(const struct gv_drain *drain)
{
    size_t recording = 0;

    for (size_t i = 0; i < drain->count; i++) {
        struct gv_spool_status status;
        gv_spool_reader_status(&drain->spools[i]->reader, &status);
        recording += !status.exiting;
    }
    return recording == 0;
}

/* After an error, gv_drain_start_afresh(): it may have learned ids inside the transaction. */
static int gv_drain_end_process(struct gv_drain *drain, struct gv_drain_spool *spool)
{
    int error = gv_database_begin(&drain->database);

    if (!error)
        error = gv_ingest_end(&spool->ingest);
    if (!error)
        error = gv_drain_commit(drain);
    spool->ended = !error;
    spool->as_dying = spool->ingest.status.dying;
    return error;
}

/* The files of a session that is over. */
static void gv_drain_take_away(struct gv_drain *drain, const struct gv_drain_spool *spool)
{
    char name[GV_SESSION_ID_BYTES + sizeof(GV_SESSION_SUFFIX)];

    snprintf(name, sizeof(name), "%s%s", drain->session, GV_SESSION_SUFFIX);
    unlinkat(drain->directory_fd, spool->name, 0);
    unlinkat(drain->directory_fd, name, 0);
}

/*
 * A small trace is finished while its first process still waits: a script may read it in its next
 * line, copy it, or take it away and start the program again. Writing into a file that was taken
 * away would be worse than useless: the journal has the name that the next trace's will have.
 *
 * A large one is left to the time after, and so are children: there may be thousands of them.
 * Nothing is lost when this fails: the process goes on, and it is done again.
 *
 * The first process of a container takes us with it when it ends: what is done, is done before.
 *
 * One whose records have been taken away just now waits until there is another trace, and its user
 * is told.
 */
int gv_drain_release(struct gv_drain *drain, struct gv_drain_spool *spool,
                     const struct gv_spool_status *status)
{
    bool is_small = drain->next_call <= GV_DRAIN_SETTLED_CALLS;
    int error = 0;

    if ((spool->pid == 1 || (spool->pid == drain->root_pid && is_small)) && !drain->complete &&
        gv_drain_is_last(drain)) {
        error = gv_drain_end_process(drain, spool);
        if (!error)
            gv_drain_complete(drain);
    }
    if (!drain->complete && gv_drain_is_gone(drain))
        return -ENOENT;
    if (spool->pid == 1 && drain->complete)
        gv_drain_take_away(drain, spool);
    gv_spool_reader_set_drained(&spool->reader, status);
    return error;
}

/* Inside the transaction that stores the news. */
int gv_drain_has_news(struct gv_drain *drain, struct gv_drain_spool *spool)
{
    bool complete = drain->complete;

    drain->settled = drain->complete = spool->ended = false;
    return complete ? gv_database_set_meta(&drain->database, "state", "recording") : 0;
}

void gv_drain_note_root(struct gv_drain *drain, const struct gv_session_file *session)
{
    drain->root_pid = session->root_pid;
    drain->root_start_ticks = session->root_start_ticks;
    drain->root_signal = atomic_load(&session->root_signal);
}

int gv_drain_finish(struct gv_drain *drain)
{
    int error = 0;

    if (!drain->path[0])
        return 0;
    if (!drain->writing)
        error = gv_drain_open_trace(drain);
    if (!error && !drain->complete)
        error = gv_drain_complete(drain);
    gv_drain_stop_writing(drain);
    return error;
}
