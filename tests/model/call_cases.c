/* What must hold of hooked calls: what is told of one in flight, and polls that are folded. */
#include "tests/model/call_cases.h"

#include "preload/calls.h"
#include "tests/model/spool_fixture.h"

#define NOT_READY 600

/* A call of the thread that is fixture_thread(0). */
static void make_call(uint32_t number, int32_t result, uint64_t duration_ns)
{
    struct gv_facts facts = {.stream = number};
    struct gv_call call;

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

static void look_at_flight(void)
{
    for (int i = 0; i < 2; i++) {
        struct gv_spool_flight flight;

        if (!gv_spool_reader_flight(&fixture.reader, 1, &flight))
            continue;
        model_claim(flight.thread == 1, "a call in flight of another thread");
        model_claim(flight.stream == flight.api, "a call in flight with another call's stream");
        model_claim(flight.start_ns == STARTS_NS(flight.api),
                    "a call in flight with another call's start");
    }
}

const struct model_case call_cases_flight = {
    .name = "call in flight",
    .prepare = prepare_call,
    .threads = {{"calls", make_two_calls}, {"looks", look_at_flight}}};

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

const struct model_case call_cases_polls = {
    .name = "polls",
    .prepare = prepare_call,
    .threads = {{"polls", poll}, {"reader", count_polls}}};

/* What the collector has read is rolled back when it cannot be stored, and read once more. */
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
