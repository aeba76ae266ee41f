/* Cases of hooked calls: a call in flight as others see it, and folded polls. */
#include "tests/model/call_cases.h"

#include "preload/hooks/calls.h"
#include "tests/model/spool_fixture.h"

#include <string.h>

#define NOT_READY 600

/* A call of the thread that is fixture_thread(0). */
static void make_call(uint32_t number, int32_t result, uint64_t duration_ns)
{
    struct gv_facts facts = {.stream = number, .kernel = number};
    struct gv_call call = {0};

    gv_call_begin(&call, (enum gv_api_id)number, GV_CLASS_STREAM, &facts);
    fixture.now_ns += duration_ns;
    gv_call_end(&call, result, &facts);
}

static void prepare_call(void)
{
    fixture_open(1, 3, 0);
    fixture_join(0, 0);
    gv_thread.context = 1;
}

/* ---- a call in flight ---- */

#define STARTS_NS(number) ((number)*1000u)

static void make_two_calls(void)
{
    for (uint32_t number = 1; number <= 2; number++) {
        fixture.now_ns = STARTS_NS(number);
        make_call(number, 0, 1);
    }
}

/* Calls that differ only in start and stream. */
static void make_same_calls(void)
{
    for (uint32_t number = 1; number <= 2; number++) {
        struct gv_facts facts = {.stream = number, .kernel = number};
        struct gv_call call = {0};

        fixture.now_ns = STARTS_NS(number);
        gv_call_begin(&call, (enum gv_api_id)1, GV_CLASS_STREAM, &facts);
        gv_call_end(&call, 0, &facts);
    }
}

static bool seen; /* a call in flight, in this execution */
static bool ever_seen;

static void look_at_same(void)
{
    struct gv_spool_flight flight;

    seen = gv_spool_reader_flight(&fixture.reader, 1, &flight);
    if (seen)
        model_claim(flight.start_ns == STARTS_NS(flight.stream),
                    "a call in flight with another call's start");
}

static void note_seen(void)
{
    ever_seen |= seen;
}

static bool was_seen(void)
{
    return ever_seen;
}

static void look_at_flight(void)
{
    for (int i = 0; i < 2; i++) {
        struct gv_spool_flight flight;

        if (!gv_spool_reader_flight(&fixture.reader, 1, &flight))
            continue;
        model_claim(flight.thread == 1, "a call in flight of another thread");
        model_claim(flight.stream == flight.api, "a call in flight with another call's stream");
        model_claim(flight.detail == flight.api, "a call in flight with another call's kernel");
        model_claim(flight.start_ns == STARTS_NS(flight.api),
                    "a call in flight with another call's start");
    }
}

const struct model_case call_cases_flight = {
    .name = "call in flight",
    .prepare = prepare_call,
    .threads = {{"calls", make_two_calls}, {"looks", look_at_flight}}};

const struct model_case call_cases_same = {
    .name = "same call in flight",
    .prepare = prepare_call,
    .end = note_seen,
    .threads = {{"calls", make_same_calls}, {"looks", look_at_same}},
    .after = was_seen};

/* ---- another thread's call in the same slot ---- */

#define FIRST_STREAM 7u
#define FIRST_NAME   "first"
#define SECOND_NAME  "thread" /* by prctl() of the fixture */
#define SECOND_TID   (1u + 0) /* of the first thread of a case */

static void prepare_slot(void)
{
    struct gv_spool_slot *slot;
    uint64_t name = 0;

    fixture_open(1, 3, 0);
    fixture_join(1, 0);
    slot = fixture_thread(1)->slot;
    memcpy(&name, FIRST_NAME, sizeof FIRST_NAME);
    atomic_store(&slot->comm[0], name);
    atomic_store(&slot->tid, 99);
    atomic_store(&slot->stream, FIRST_STREAM);
    atomic_store(&slot->start_ns, 1);
    atomic_store(&slot->api_plus_one, FIRST_STREAM + 1);
    atomic_store(&fixture.header->threads_seen,
                 GV_SPOOL_SLOTS); /* the next thread looks there first */
}

static void come_and_call(void)
{
    fixture.now_ns = STARTS_NS(1);
    make_call(1, 0, 1);
}

static void go(void)
{
    fixture_leave(1);
}

static void look_at_slot(void)
{
    struct gv_spool_flight flight;

    if (!gv_spool_reader_flight(&fixture.reader, 1, &flight))
        return;
    model_claim(flight.thread == (flight.api == 1 ? GV_SPOOL_SLOTS + 1 : 1),
                "a call in flight of another thread");
    model_claim(flight.tid == (flight.api == 1 ? SECOND_TID : 99),
                "a thread with another one's number");
    model_claim(flight.stream == flight.api, "a call in flight with another call's stream");
    model_claim(strcmp(flight.comm, flight.api == 1 ? SECOND_NAME : FIRST_NAME) == 0,
                "a thread with another one's name");
}

const struct model_case call_cases_slot = {
    .name = "slot",
    .prepare = prepare_slot,
    .threads = {{"comes", come_and_call}, {"goes", go}, {"looks", look_at_slot}}};

/* ---- polls ---- */

#define POLLS 3

static void poll(void)
{
    for (int i = 0; i < POLLS; i++)
        make_call(1, NOT_READY, POLL_NS);
}

static void count_polls(void)
{
    fixture_read(false);
    fixture_read(false);
    model_join(0);
    fixture_read(true);
    model_claim(fixture.polls == POLLS, "not as many polls as there were");
}

const struct model_case call_cases_polls = {.name = "polls",
                                            .prepare = prepare_call,
                                            .threads = {{"polls", poll}, {"reader", count_polls}}};

/* If the collector cannot store what it has read, it rolls back and reads it again. */
static void count_polls_again(void)
{
    fixture_read(false);
    fixture.position[0] = fixture.polls = 0;
    model_join(0);
    fixture_read(true);
    model_claim(fixture.polls == POLLS, "not as many polls as there were");
}

const struct model_case call_cases_polls_again = {
    .name = "polls read again",
    .prepare = prepare_call,
    .threads = {{"polls", poll}, {"reader", count_polls_again}}};
