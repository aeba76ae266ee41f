/* Which calls get a pair of events, what the driver is asked for, and what a sample says. */
#include "tests/unit/preload/recording.h"

#include "preload/base/clock.h"
#include "preload/bind/entry_points.h"
#include "preload/sample/pairs.h"
#include "trace/futex.h"

#include <pthread.h>

#define CONTEXT 0xc0
#define STREAM  0x51

static const struct gv_clock monotonic = {.kind = GV_CLOCK_MONOTONIC};
const struct gv_clock *_Atomic gv_clock = &monotonic;
struct gv_driver_calls gv_driver_calls;

static bool attach(void)
{
    return true;
}

static void do_nothing(struct gv_thread *thread)
{
    (void)thread;
}

const struct gv_process_steps gv_process_steps = {
    .attach = attach, .leave_gpu_start = do_nothing, .write_open_ranges = do_nothing};

/* ---- a driver ---- */

/* An event's address is its place; a stream is done at once. */
static uint64_t event_ns[512];
static _Atomic uint32_t events, recorded, queries;
static int capturing, capture_result, create_result, record_result, mode_now;
static uintptr_t context_of_stream;
static _Atomic uintptr_t context_now;
static _Atomic bool is_stuck;       /* nothing ends */
static uint64_t work_ns, stream_ns; /* of the program's stream: before each event; until then */

static int create_event(void **event, unsigned flags)
{
    assert_int_equal(flags, 0);
    assert_int_equal(mode_now, 2);
    *event = &event_ns[atomic_fetch_add(&events, 1) % 512];
    return create_result;
}

static int create_stream(void **stream, unsigned flags)
{
    assert_int_equal(flags, 1);
    *stream = &events;
    return 0;
}

static int record_event(void *event, void *stream)
{
    uint64_t now_ns = gv_monotonic_ns();

    if (stream != (void *)&events) {
        atomic_fetch_add(&recorded, 1);
        if (record_result)
            return record_result;
        stream_ns = now_ns = (now_ns > stream_ns ? now_ns : stream_ns) + work_ns;
    }
    *(uint64_t *)event = now_ns;
    return 0;
}

static int query_event(void *event)
{
    (void)event;
    atomic_fetch_add(&queries, 1);
    return atomic_load(&is_stuck) ? 600 : 0;
}

static int elapsed_time(float *ms, void *start, void *end)
{
    *ms = (float)((double)(int64_t)(*(uint64_t *)end - *(uint64_t *)start) / 1e6);
    return 0;
}

static int stream_context(void *stream, void **context)
{
    (void)stream;
    *context = (void *)context_of_stream;
    return 0;
}

static int is_capturing(void *stream, int *status)
{
    (void)stream;
    *status = capturing;
    return capture_result;
}

static int exchange_mode(int *mode)
{
    static _Thread_local int mine;
    int before = mine;

    mine = mode_now = *mode;
    *mode = before;
    return 0;
}

static int set_current(void *context)
{
    atomic_store(&context_now, (uintptr_t)context);
    return 0;
}

static const struct gv_driver_calls whole = {.context_set_current = set_current,
                                             .event_create = create_event,
                                             .event_record = record_event,
                                             .event_query = query_event,
                                             .event_elapsed_time = elapsed_time,
                                             .stream_create = create_stream,
                                             .stream_get_context = stream_context,
                                             .stream_is_capturing = is_capturing,
                                             .thread_exchange_capture_mode = exchange_mode};

/* ---- tests ---- */

static uintptr_t callers = 0x1000;

static struct gv_pair_call call_at(uintptr_t caller)
{
    return (struct gv_pair_call){
        .stream = STREAM, .object = 1, .caller = caller, .api = GV_ID_cuLaunchKernel};
}

/* A call of a new site. */
static bool begins(void)
{
    const struct gv_pair_call call = call_at(callers += 0x1000);

    gv_thread.pairs = (struct gv_budget){0}; /* it can afford it */
    return gv_pairs_begin(&gv_thread, &call);
}

static unsigned samples(void)
{
    struct gv_spool_segment *segment = segment_of(GV_SPOOL_GPU_THREAD, 0);

    assert_true(gv_pairs_fetch(2000000000, false));
    segment = segment_of(GV_SPOOL_GPU_THREAD, 0);
    return segment ? atomic_load(&segment->published) : 0;
}

static const struct gv_record_gpu_sample *last_sample(void)
{
    return &segment_of(GV_SPOOL_GPU_THREAD, 0)->records[samples() - 1].gpu_sample;
}

static void nothing_is_chosen_where_the_driver_lacks_a_function(void **state)
{
    (void)state;
    gv_driver_calls = whole;
    gv_driver_calls.stream_get_context = NULL;
    assert_non_null(gv_pairs_start());
    assert_int_equal(atomic_load(&gv_pairs_are_on), 0);
    gv_driver_calls = whole;
    assert_null(gv_pairs_start());
    assert_int_equal(atomic_load(&gv_pairs_are_on), 1);
    gv_thread.context = CONTEXT;
    context_of_stream = CONTEXT;
}

static void a_call_is_between_its_events(void **state)
{
    (void)state;
    work_ns = 200000;
    assert_true(begins());
    assert_int_equal(atomic_load(&recorded), 1);
    assert_true(gv_thread.correlation != 0);
    assert_int_equal(mode_now, 0); /* as it was before the events were made */
    gv_pairs_end(&gv_thread, 0, gv_monotonic_ns());
    assert_int_equal(atomic_load(&recorded), 2);
    assert_int_equal(samples(), 1);
    assert_int_equal(last_sample()->correlation, gv_thread.correlation);
    assert_int_equal(last_sample()->one_of, 1);
    assert_int_equal(last_sample()->head.result, 1);
    assert_in_range(last_sample()->duration_ns, 150000, 400000);
    assert_int_equal(atomic_load(&context_now), 0); /* no context stays in use */
}

static void some_calls_are_left_alone(void **state)
{
    unsigned before = atomic_load(&recorded);

    (void)state;
    capturing = 1;
    assert_false(begins());
    capturing = 0;
    capture_result = 906; /* the legacy stream, while another one is captured */
    assert_false(begins());
    capture_result = 0;
    context_of_stream = CONTEXT + 1;
    assert_false(begins());
    context_of_stream = CONTEXT;
    gv_thread.context = 0;
    assert_false(begins());
    gv_thread.context = CONTEXT;
    assert_int_equal(atomic_load(&recorded), before);
    record_result = 400;
    assert_false(begins());
    record_result = 0;
}

static void a_failed_call_has_no_sample(void **state)
{
    unsigned before = samples();

    (void)state;
    assert_true(begins());
    gv_pairs_end(&gv_thread, 1, gv_monotonic_ns());
    assert_true(begins()); /* and is left: the next one gives its pair back */
    assert_true(begins());
    gv_pairs_end(&gv_thread, 0, gv_monotonic_ns());
    assert_int_equal(samples(), before + 1);
}

/* Of a kind that an event beside it would change, or that is not known. */
static void attributes_decide(void **state)
{
    struct {
        uint32_t id, reserved;
        int32_t value[16];
    } attributes[2] = {{.id = 4}, {.id = 6, .value = {0}}};

    (void)state;
    assert_true(gv_pairs_allow(NULL, 0));
    assert_true(gv_pairs_allow(attributes, 2));
    attributes[1].value[0] = 1;
    assert_false(gv_pairs_allow(attributes, 2));
    for (uint32_t id = 0; id < 64; id++) {
        attributes[0].id = id;
        assert_int_equal(gv_pairs_allow(attributes, 1),
                         id <= 5 || id == 6 || (id >= 8 && id <= 11) || id == 14);
    }
}

static void few_calls_of_a_site_are_chosen(void **state)
{
    const struct gv_pair_call call = call_at(callers += 0x1000);
    unsigned chosen = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        gv_thread.pairs = (struct gv_budget){0};
        if (!gv_pairs_count(&gv_thread, &call) || !gv_pairs_begin(&gv_thread, &call))
            continue;
        chosen++;
        gv_pairs_end(&gv_thread, 0, gv_monotonic_ns());
        if (chosen % 32 == 0)
            samples();
    }
    assert_in_range(chosen, 20, 1000);
}

/* No more than the budget at once, and no more than there are events. */
static void a_lost_sample_is_no_wait(void **state)
{
    unsigned chosen = 0, before = samples();

    (void)state;
    atomic_store(&is_stuck, true);
    for (int i = 0; i < 400; i++)
        if (begins()) {
            gv_pairs_end(&gv_thread, 0, gv_monotonic_ns());
            chosen++;
        }
    assert_int_equal(chosen, 128);
    atomic_store(&is_stuck, false);
    assert_in_range(samples(), before, before + 128);
    gv_thread.pairs = (struct gv_budget){.left_ns = -1000000, .at_ns = gv_monotonic_ns()};
    const struct gv_pair_call call = call_at(callers += 0x1000);
    assert_false(gv_pairs_begin(&gv_thread, &call));
}

static void events_are_not_used_after_their_context(void **state)
{
    unsigned before;

    (void)state;
    assert_true(begins());
    gv_pairs_end(&gv_thread, 0, gv_monotonic_ns());
    gv_pairs_void(0);
    before = atomic_load(&queries);
    samples();
    assert_int_equal(atomic_load(&queries), before);
    assert_true(begins()); /* another context, perhaps with the same handle, has its own */
    gv_pairs_end(&gv_thread, 0, gv_monotonic_ns());
}

static void any_number_of_contexts_have_events_one_after_another(void **state)
{
    unsigned made;

    (void)state;
    for (int i = 0; i < 40; i++) {
        assert_true(begins());
        gv_pairs_end(&gv_thread, 0, gv_monotonic_ns());
        made = atomic_load(&events);
        gv_pairs_void(CONTEXT + 1); /* another one */
        assert_true(begins());
        gv_pairs_end(&gv_thread, 0, gv_monotonic_ns());
        assert_int_equal(atomic_load(&events), made);
        gv_pairs_void(CONTEXT);
    }
}

static void a_context_that_can_have_no_events_is_asked_once(void **state)
{
    unsigned made;

    (void)state;
    for (int i = 0; i < 20; i++) {
        create_result = 2;
        assert_false(begins());
        made = atomic_load(&events);
        assert_false(begins());
        assert_int_equal(atomic_load(&events), made);
        create_result = 0;
        gv_pairs_void(CONTEXT);
    }
    assert_true(begins()); /* the next one with this handle can */
    gv_pairs_end(&gv_thread, 0, gv_monotonic_ns());
}

static void a_child_uses_nothing_of_its_parents(void **state)
{
    uint64_t token = atomic_exchange(&gv_process_own.token, 99);

    (void)state;
    assert_false(begins());
    assert_true(gv_pairs_fetch(0, true));
    gv_pairs_void(0);
    atomic_store(&gv_process_own.token, token);
}

static void after_the_last_one_nothing_is_chosen(void **state)
{
    (void)state;
    assert_true(gv_pairs_fetch(2000000000, true));
    assert_int_equal(atomic_load(&gv_pairs_are_on), 0);
    assert_true(gv_pairs_fetch(0, false));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_chosen_where_the_driver_lacks_a_function),
        cmocka_unit_test(a_call_is_between_its_events),
        cmocka_unit_test(some_calls_are_left_alone),
        cmocka_unit_test(a_failed_call_has_no_sample),
        cmocka_unit_test(attributes_decide),
        cmocka_unit_test(few_calls_of_a_site_are_chosen),
        cmocka_unit_test(a_lost_sample_is_no_wait),
        cmocka_unit_test(events_are_not_used_after_their_context),
        cmocka_unit_test(any_number_of_contexts_have_events_one_after_another),
        cmocka_unit_test(a_context_that_can_have_no_events_is_asked_once),
        cmocka_unit_test(a_child_uses_nothing_of_its_parents),
        cmocka_unit_test(after_the_last_one_nothing_is_chosen),
    };

    return cmocka_run_group_tests(tests, open_recording, close_recording);
}
