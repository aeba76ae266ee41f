/* Which calls the session's processes are in: read from their spools, which nobody else is kept
 * from. */
#include "report/commands/top/top.h"

#include "report/analyse/stalls/rule.h"
#include "report/collect/sessions.h"
#include "trace/clock.h"
#include "trace/spool_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processes that are looked at. */
#define TOP_SPOOLS 64

/* The time on the session's clock. */
static int64_t top_clock_ns(const struct gv_top *top)
{
    return (int64_t)(gv_clock_read(&top->session->clock) - top->session->clock.epoch_ns);
}

static void top_take_flight(struct gv_top *top, const struct gv_spool_reader *reader, uint32_t pid,
                            const struct gv_spool_flight *flight)
{
    int64_t start_ns = (int64_t)(flight->start_ns - top->session->clock.epoch_ns);
    char class_name[16];
    struct gv_top_flight *one;

    if (top->now_ns - start_ns < GV_TOP_CALL_NS)
        return;
    if (top->flight_count == GV_TOP_FLIGHTS)
        return;
    one = &top->flights[top->flight_count++];
    memset(one, 0, sizeof(*one));
    one->pid = pid;
    one->tid = flight->tid;
    one->start_ns = start_ns;
    memcpy(one->thread, flight->comm, sizeof(flight->comm));
    gv_spool_reader_name(reader, flight->api, one->name, class_name);
    one->waits = gv_cause_is_expected(gv_stall_rule_find(one->name, class_name)->cause);
}

static void top_read_spool(struct gv_top *top, const struct gv_spool_reader *reader,
                           struct gv_spool_facts *facts)
{
    struct gv_spool_flight flight;

    gv_spool_reader_facts(reader, facts);
    if (!gv_spool_reader_process_lives(reader))
        return;
    top->any_lives = true;
    for (uint32_t i = 0; i < reader->slots_count; i++)
        if (gv_spool_reader_flight(reader, i, &flight))
            top_take_flight(top, reader, facts->pid, &flight);
}

static bool top_is_spool(const struct gv_top *top, const char *name)
{
    size_t length = strlen(name), suffix = strlen(GV_SPOOL_SUFFIX);
    char session[GV_SESSION_ID_BYTES];

    return length > suffix && strcmp(name + length - suffix, GV_SPOOL_SUFFIX) == 0 &&
           gv_session_place_id(name, session) && strcmp(session, top->target.session) == 0;
}

static int top_compare_flights(const void *one, const void *other)
{
    const struct gv_top_flight *a = one, *b = other;

    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

void gv_top_flights_read(struct gv_top *top)
{
    static struct gv_spool_facts facts;
    struct gv_spool_reader reader;
    struct dirent *entry;
    DIR *stream;
    int spools = 0;

    top->flight_count = 0;
    top->any_lives = false;
    if (!top->session)
        return;
    top->now_ns = top_clock_ns(top);
    stream = opendir(top->target.directory);
    while (stream && spools < TOP_SPOOLS && (entry = readdir(stream))) {
        if (!top_is_spool(top, entry->d_name) ||
            gv_spool_reader_peek(&reader, dirfd(stream), entry->d_name) != 0)
            continue;
        top_read_spool(top, &reader, &facts);
        gv_spool_reader_close(&reader);
        spools++;
    }
    if (stream)
        closedir(stream);
    qsort(top->flights, top->flight_count, sizeof(top->flights[0]), top_compare_flights);
}
