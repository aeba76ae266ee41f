/* What a hooked call leaves in the spool, ordinary and not. Time stands still unless a test moves
 * it. */
#include "tests/unit/preload/recording.h"

#include "preload/base/budget.h"
#include "preload/bind/entry_points.h"
#include "preload/hooks/calls.h"
#include "preload/hooks/facts.h"
#include "preload/hooks/names.h"
#include "preload/hooks/run_delay.h"
#include "preload/stacks/stacks.h"
#include "trace/futex.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define NOT_READY 600

/* ---- the rest of the library ---- */

static const struct gv_clock monotonic = {.kind = GV_CLOCK_MONOTONIC};
const struct gv_clock *_Atomic gv_clock = &monotonic;
struct gv_driver_calls gv_driver_calls;
uint64_t gv_stacks_least_ns = UINT64_MAX;
uint8_t gv_stacks_chosen_traits;
struct gv_known gv_stack_sites;
uint64_t gv_run_delay_least_ns = UINT64_MAX;

static uint64_t now_ns, reading_ns; /* what a reading of the clock takes */
static int peers_expected;
static void (*while_stack_is_written)(void);
static bool stack_can_wait, is_first;
static uint64_t site_hash;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    now_ns += reading_ns;
    *now = (struct timespec){.tv_sec = (time_t)(now_ns / 1000000000u),
                             .tv_nsec = (long)(now_ns % 1000000000u)};
    return 0;
}

static bool attach(void)
{
    return true;
}

static void do_nothing(void)
{
}

static void start_nothing(struct gv_thread *thread)
{
    (void)thread;
}

static void await_nothing(const struct gv_thread *thread)
{
    (void)thread;
}

static bool expect_peers(void)
{
    now_ns += 1000;
    return ++peers_expected == 1;
}

const struct gv_process_steps gv_process_steps = {.attach = attach,
                                                  .expect_peers = expect_peers,
                                                  .note_driver = do_nothing,
                                                  .note_environment = do_nothing,
                                                  .start_gpu = start_nothing,
                                                  .await_gpu_start = await_nothing,
                                                  .write_open_ranges = start_nothing};

/* Nothing is sampled. */
_Atomic uint32_t gv_pairs_are_on;

bool gv_pairs_begin(struct gv_thread *thread, const struct gv_pair_call *call)
{
    (void)thread;
    (void)call;
    return false;
}

void gv_pairs_end(struct gv_thread *thread, int32_t result, uint64_t end_ns)
{
    (void)thread;
    (void)result;
    (void)end_ns;
}

void gv_pairs_void(uint64_t context)
{
    (void)context;
}

/* A kernel's number is its handle; nobody has named those from 100 on. */
struct gv_names_answer gv_names_find(uintptr_t handle)
{
    return (struct gv_names_answer){.kernel = handle < 100 ? (uint32_t)handle : 0};
}

bool gv_names_add(uintptr_t handle, uintptr_t owner, uint32_t *kernel)
{
    (void)owner;
    *kernel = (uint32_t)handle;
    return true;
}

bool gv_names_are_full(void)
{
    return false;
}

uint32_t gv_names_owner(uintptr_t handle)
{
    (void)handle;
    return 0;
}

void gv_names_alias(uintptr_t handle, uintptr_t known)
{
    (void)handle;
    (void)known;
}

uint32_t gv_names_void_owner(uintptr_t owner)
{
    return (uint32_t)owner;
}

void gv_names_void_loaded(void)
{
}

static void write_kind(struct gv_thread *thread, enum gv_record_kind kind, uint64_t object)
{
    union gv_record *record = gv_thread_reserve(thread, GV_ROOM_CODE);

    assert_non_null(record);
    record->call = (struct gv_record_call){.head = {.kind = (uint8_t)kind}, .object = object};
    gv_thread_publish(thread);
}

void gv_loads_write(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                    uint64_t end_ns, const struct gv_facts *facts)
{
    (void)call;
    (void)result;
    (void)end_ns;
    write_kind(thread, GV_RECORD_LOAD, facts->made);
}

void gv_loads_note_name(struct gv_thread *thread, const struct gv_facts *facts, int32_t result)
{
    (void)thread;
    (void)facts;
    (void)result;
}

void gv_loads_write_name(struct gv_thread *thread, uint32_t kernel, uint64_t handle,
                         uint32_t module, const char *name)
{
    (void)kernel;
    (void)module;
    assert_string_equal(name, "tick");
    write_kind(thread, GV_RECORD_NAME, handle);
}

void gv_loads_write_unload(struct gv_thread *thread, const struct gv_facts *facts)
{
    write_kind(thread, GV_RECORD_UNLOAD, facts->owner);
}

void gv_host_function_write_launch(struct gv_thread *thread, const struct gv_facts *facts)
{
    write_kind(thread, GV_RECORD_HOST_LAUNCH, facts->made);
}

void gv_collective_write(struct gv_thread *thread, const struct gv_call *call)
{
    write_kind(thread, GV_RECORD_COLLECTIVE, call->api);
}

bool gv_stacks_wanted_of_failed(unsigned api)
{
    (void)api;
    return false;
}

bool gv_stacks_wanted_of_first(struct gv_thread *thread, const struct gv_stack_site *site)
{
    (void)thread;
    (void)site;
    return is_first;
}

void gv_stacks_write(struct gv_thread *thread, const struct gv_stack_site *site, uint32_t one_of)
{
    stack_can_wait = site->can_wait;
    site_hash = gv_stack_site_hash(thread, site);
    write_kind(thread, GV_RECORD_STACK_OF_CALL, one_of);
    if (while_stack_is_written)
        while_stack_is_written();
}

void gv_run_delay_write(struct gv_thread *thread, enum gv_spool_room room, uint64_t end_ns)
{
    (void)room;
    (void)end_ns;
    write_kind(thread, GV_RECORD_RUN_DELAY, 0);
}

static int get_context(void **context)
{
    *context = NULL;
    return 0;
}

/* ---- calls, and what they leave ---- */

static int prepare(void **state)
{
    gv_driver_calls = (struct gv_driver_calls){.context_get_current = get_context};
    gv_stacks_least_ns = gv_run_delay_least_ns = UINT64_MAX;
    gv_stacks_chosen_traits = 0;
    memset(&gv_stack_sites, 0, sizeof gv_stack_sites);
    while_stack_is_written = NULL;
    is_first = false;
    now_ns = 1000;
    reading_ns = 0;
    peers_expected = 0;
    return open_recording(state);
}

static void begin(struct gv_call *call, int api, const struct gv_facts *facts)
{
    static const uint8_t traits[] = {
#define GV_CALL_KIND(name, class, cause, scope, work, memory, stopped, flags) GV_TRAITS_OF_##name,
#include "trace/call_kinds.def"
    };

    call->traits = traits[gv_api_rows[api].kind];
    gv_call_begin(call, (enum gv_api_id)api, gv_api_rows[api].class, facts);
}

/* A call from its begin to its end, so long. */
__attribute__((noinline)) static void make(int api, int32_t result, uint64_t duration_ns,
                                           struct gv_facts facts)
{
    struct gv_call call;

    begin(&call, api, &facts);
    now_ns += duration_ns;
    gv_call_end(&call, result, &facts);
}

static unsigned written(void)
{
    struct gv_spool_segment *segment = segment_of(1, 0);

    return segment ? atomic_load(&segment->published) : 0;
}

static const union gv_record *record(unsigned number)
{
    assert_true(number < written());
    return &segment_of(1, 0)->records[number];
}

/* How many records the call leaves before its own: stacks, if it is not slow. */
static unsigned stacks_of(int api, int32_t result, struct gv_facts facts)
{
    unsigned before = written();

    make(api, result, 1, facts);
    assert_int_equal(record(written() - 1)->head.kind, GV_RECORD_CALL);
    if (written() - before == 2)
        assert_int_equal(record(before)->head.kind, GV_RECORD_STACK_OF_CALL);
    return written() - before - 1;
}

/* So few calls are all chosen at random, of those that put work on the GPU. */
static void calls_that_put_work_on_the_gpu_are_chosen_at_random(void **state)
{
    static const int chosen[] = {GV_ID_cuLaunchKernel, GV_ID_cuGraphLaunch, GV_ID_cuMemcpyAsync,
                                 GV_ID_cuMemcpyHtoD_v2, GV_ID_cuMemsetD8Async};
    static const int others[] = {GV_ID_cuEventRecord, GV_ID_cuStreamSynchronize, GV_ID_cuMemFree_v2,
                                 GV_ID_cuMemPrefetchAsync};
    const struct gv_facts facts = {.kernel = 5};

    (void)state;
    gv_run_delay_least_ns = gv_stacks_least_ns = 1000;
    assert_int_equal(stacks_of(chosen[0], 0, facts), 0); /* off */
    gv_stacks_chosen_traits = GV_TRAIT_WORKS_ON_GPU;
    for (unsigned i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
        assert_int_equal(stacks_of(chosen[i], 0, facts), 1);
        assert_int_equal(record(written() - 2)->call.object, 1); /* one of 1 */
        assert_true(stack_can_wait);
    }
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(stacks_of(others[i], 0, facts), 0);
    make(chosen[0], 0, 1000, facts); /* also if it is slow */
    assert_int_equal(record(written() - 3)->head.kind, GV_RECORD_STACK_OF_CALL);
    assert_int_equal(record(written() - 3)->call.object, 1);
    assert_false(stack_can_wait);
    make(chosen[0], 0, 1, (struct gv_facts){.flags = GV_RECORD_UNWOUND});
    assert_int_equal(record(written() - 2)->head.kind, GV_RECORD_CALL); /* its stack is gone */
}

/* From here on nearly none is chosen at random. */
static void choose_few(void)
{
    gv_stacks_chosen_traits = GV_TRAIT_WORKS_ON_GPU;
    make(GV_ID_cuLaunchKernel, 0, 1, (struct gv_facts){.kernel = 5});
    gv_thread.sample_in = UINT32_MAX;
}

static void the_first_of_a_site_is_no_sample(void **state)
{
    uint64_t first;

    (void)state;
    choose_few();
    assert_int_equal(stacks_of(GV_ID_cuLaunchKernel, 0, (struct gv_facts){.kernel = 5}), 0);
    is_first = true;
    assert_int_equal(stacks_of(GV_ID_cuLaunchKernel, 0, (struct gv_facts){.kernel = 5}), 1);
    assert_int_equal(record(written() - 2)->call.object, 0);
    first = site_hash;
    atomic_store(&gv_stack_sites.at[gv_known_cell(first)].hash, first);
    assert_int_equal(stacks_of(GV_ID_cuLaunchKernel, 0, (struct gv_facts){.kernel = 5}), 0);
    assert_int_equal(stacks_of(GV_ID_cuLaunchKernel, 0, (struct gv_facts){.kernel = 6}), 1);
    assert_int_not_equal(site_hash, first);
    assert_int_equal(stacks_of(GV_ID_cuGraphLaunch, 0, (struct gv_facts){.object = 7}), 1);
    first = site_hash;
    assert_int_equal(stacks_of(GV_ID_cuGraphLaunch, 0, (struct gv_facts){.object = 8}), 1);
    assert_int_not_equal(site_hash, first);
    is_first = false;
    assert_int_equal(stacks_of(GV_ID_cuLaunchKernel, 0, (struct gv_facts){.kernel = 9}), 0);
}

/* Otherwise looking for a site would take long. */
static void sites_that_differ_little_have_cells_of_their_own(void **state)
{
    static bool used[3][GV_KNOWN_CELLS];
    unsigned cells[3] = {0};

    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        const struct gv_stack_site sites[3] = {
            {.caller = 0x7f0000001000, .frame = 0x7ffff000 - 16 * i, .object = 0x7f0000000000},
            {.caller = 0x7f0000001000, .frame = 0x7ffff000, .object = 0x7f0000000000 + 16 * i},
            {.caller = 0x7f0000001000 + 16 * i,
             .frame = 0x7ffff000,
             .object = 0x7f0000000000 + 16 * i},
        };

        for (unsigned of = 0; of < 3; of++) {
            bool *cell = &used[of][gv_known_cell(gv_stack_site_hash(&gv_thread, &sites[of]))];

            cells[of] += !*cell;
            *cell = true;
        }
    }
    for (unsigned of = 0; of < 3; of++)
        assert_in_range(cells[of], 370, 400);
}

/* The long way lets the budget of stacks grow, and takes half a microsecond on a GPU machine. */
static bool takes_the_long_way(int api, struct gv_facts facts)
{
    gv_thread.stacks.at_ns = 0;
    make(api, 0, 1, facts);
    return gv_thread.stacks.at_ns != 0;
}

static void calls_with_nothing_to_tell_take_the_short_way(void **state)
{
    (void)state;
    gv_run_delay_least_ns = gv_stacks_least_ns = 1000;
    make(GV_ID_cuEventRecord, 0, 1, (struct gv_facts){0}); /* joins */
    gv_thread.context = 0xc0;
    assert_false(takes_the_long_way(GV_ID_cuEventRecord, (struct gv_facts){0}));
    assert_false(takes_the_long_way(GV_ID_cuLaunchKernel, (struct gv_facts){.kernel = 5}));
    assert_false(takes_the_long_way(GV_ID_cuGraphLaunch, (struct gv_facts){.object = 7}));
    assert_false(takes_the_long_way(GV_ID_cuKernelGetFunction, (struct gv_facts){.kernel = 5}));
    assert_true(takes_the_long_way(GV_ID_cuLaunchKernel, (struct gv_facts){.kernel = 100}));
}

/* Each by two readings of the clock more; those of calls with a stack are none. */
static void of_256_hooks_one_is_measured(void **state)
{
    const struct gv_own_cost_total *hooks = &gv_process.spool.header->own_cost[GV_OWN_COST_HOOKS];
    uint64_t measured;

    (void)state;
    reading_ns = 7;
    gv_run_delay_least_ns = gv_stacks_least_ns = 1000;
    for (unsigned i = 0; i < 5000; i++)
        make(GV_ID_cuFuncGetAttribute, 0, i % 50, (struct gv_facts){.kernel = 5});
    assert_in_range(hooks->count, 10, 35);
    assert_int_equal(hooks->total_ns, hooks->count * 2 * reading_ns);
    measured = hooks->count;
    assert_int_equal(written(), 0);
    make(GV_ID_cuFuncGetAttribute, 98, 1, (struct gv_facts){.kernel = 5});
    assert_int_equal(written(), 1); /* it failed */
    make(GV_ID_cuPointerGetAttributes, 1, 1, (struct gv_facts){0});
    assert_int_equal(written(), 1); /* of an address, that is usual */
    for (unsigned i = 0; i < 5000; i++)
        make(GV_ID_cuMemAlloc_v2, 2, i % 50, (struct gv_facts){0});
    assert_int_equal(hooks->count, measured);
}

static void what_allocates_much_has_a_stack(void **state)
{
    static const struct {
        int api;
        int32_t result;
        uint64_t bytes;
        bool has, can_wait;
    } cases[] = {
        {GV_ID_cuMemAlloc_v2, 0, 1 << 20, true, true},
        {GV_ID_cuMemAlloc_v2, 0, (1 << 20) - 1, false, true},
        {GV_ID_cuMemAllocAsync, 0, 1 << 30, true, true},
        {GV_ID_cuMemAllocManaged, 0, 1 << 20, true, true},
        {GV_ID_cuMemCreate, 0, 1 << 20, true, true},
        {GV_ID_cuMemHostAlloc, 0, 1, true, true}, /* pinned */
        {GV_ID_cudaHostRegister, 0, 1, true, true},
        {GV_ID_cuMemAlloc_v2, 2, 1, true, false}, /* each failure, as if it were slow */
        {GV_ID_cuMemFree_v2, 0, 1 << 20, false, true},
        {GV_ID_cuMemcpyHtoD_v2, 0, 1 << 20, false, true},
        {GV_ID_cuMemFree_v2, 2, 0, false, true},
    };

    (void)state;
    gv_run_delay_least_ns = gv_stacks_least_ns = 1000;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stack_can_wait = true;
        assert_int_equal(
            stacks_of(cases[i].api, cases[i].result, (struct gv_facts){.bytes = cases[i].bytes}),
            cases[i].has);
        assert_int_equal(stack_can_wait, cases[i].can_wait);
    }
}

/* Asking CUPTI for copies between devices is not the call's own time. */
static void a_copy_between_devices_begins_when_it_is_expected(void **state)
{
    struct gv_facts facts = {0};
    struct gv_call call;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin(&call, GV_ID_cuMemcpyPeer, &facts);
        gv_call_expect_peers(&call);
        now_ns += 50;
        gv_call_end(&call, 0, &facts);
        assert_int_equal(peers_expected, i + 1);
    }
    assert_int_equal(record(0)->call.duration_ns, 50);
}

static void make_context(int device)
{
    struct gv_facts facts = {0};
    struct gv_call call;

    begin(&call, GV_ID_cuCtxCreate_v2, &facts);
    now_ns += 50;
    gv_call_made_context(&call, device);
    gv_call_end(&call, 0, &facts);
}

static void a_context_on_a_second_device_lets_expect_copies(void **state)
{
    (void)state;
    make_context(3);
    make_context(3);
    assert_int_equal(peers_expected, 0);
    assert_int_equal(record(1)->call.duration_ns, 50);
    make_context(0);
    assert_int_equal(peers_expected, 1);
    assert_int_equal(record(2)->call.duration_ns, 1050);
}

/* It explains stalls on credit; a wait that the program asked for only while there is time left. */
static void reading_the_delay_has_a_budget(void **state)
{
    static const struct {
        int api;
        int64_t budget_ns;
        bool is_read;
    } cases[] = {
        {GV_ID_cuMemFree_v2, -1, true},
        {GV_ID_cuMemFree_v2, -GV_BUDGET_BORROWED_NS - 1, false},
        {GV_ID_cuStreamSynchronize, GV_BUDGET_LEFT_NS, false},
        {GV_ID_cuStreamSynchronize, GV_BUDGET_LEFT_NS + 1, true},
    };

    (void)state;
    gv_run_delay_least_ns = 100;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned before = written();

        gv_thread.stacks = (struct gv_budget){.left_ns = cases[i].budget_ns, .at_ns = now_ns + 100};
        make(cases[i].api, 0, 100, (struct gv_facts){0});
        assert_int_equal(written() - before, cases[i].is_read ? 2 : 1);
    }
    gv_thread.stacks.left_ns = 0; /* grows by 0.2 % of the time */
    make(GV_ID_cuEventRecord, 0, 10000000, (struct gv_facts){0});
    assert_int_equal(gv_thread.stacks.left_ns, 20000);
    make(GV_ID_cuEventRecord, 0, 1000000000, (struct gv_facts){0});
    assert_int_equal(gv_thread.stacks.left_ns, 40000);
    gv_thread.stacks.left_ns = -1000000; /* a pause repays no more than a moment of work */
    make(GV_ID_cuEventRecord, 0, 3600000000000, (struct gv_facts){0});
    assert_int_equal(gv_thread.stacks.left_ns, -960000);
}

static void a_question_is_recorded_if_it_is_slow(void **state)
{
    (void)state;
    gv_run_delay_least_ns = 100;
    make(GV_ID_cuMemGetInfo_v2, 0, 99, (struct gv_facts){0});
    make(GV_ID_cudaPointerGetAttributes, 1, 99, (struct gv_facts){0});
    assert_int_equal(written(), 0);
    assert_int_equal(gv_thread.depth, 0);
    make(GV_ID_cuMemGetInfo_v2, 0, 100, (struct gv_facts){0});
    assert_int_equal(record(written() - 1)->head.api, GV_ID_cuMemGetInfo_v2);
    assert_int_equal(record(written() - 1)->call.duration_ns, 100);
}

int gv_unwind_personality(int version, int actions, uint64_t exception_class, void *exception,
                          void *context);

static void a_childs_half_of_a_call_is_not_recorded(void **state)
{
    struct gv_facts facts = {0};
    struct gv_call call;

    (void)state;
    begin(&call, GV_ID_cuCtxSynchronize, &facts);
    atomic_store(&gv_process_own.token, 0); /* as in a forked child */
    atomic_store(&gv_process_own.open, 0);
    gv_call_end(&call, 0, &facts);
    assert_int_equal(gv_thread.depth, 0);
    assert_int_equal(written(), 0);
}

static uint64_t lost(enum gv_api_class class)
{
    return atomic_load(&gv_process.spool.header->lost.calls[class]);
}

static void poll(int api, uint64_t stream)
{
    make(api, NOT_READY, 10, (struct gv_facts){.stream = stream});
}

static void what_has_no_room_is_counted_by_class(void **state)
{
    enum gv_api_class event = gv_api_rows[GV_ID_cuEventRecord].class;
    enum gv_api_class query = gv_api_rows[GV_ID_cuStreamQuery].class;
    enum gv_api_class launch = gv_api_rows[GV_ID_cuLaunchKernel].class;
    uint64_t left;

    (void)state;
    while (lost(event) == 0)
        make(GV_ID_cuEventRecord, 0, 1, (struct gv_facts){0});
    poll(GV_ID_cuStreamQuery, 1);
    assert_int_equal(lost(query), 1);
    make(GV_ID_cuLaunchKernel, 0, 1, (struct gv_facts){.kernel = 1});
    assert_int_equal(lost(launch), 0);
    while (lost(launch) == 0)
        make(GV_ID_cuLaunchKernel, 0, 1, (struct gv_facts){.kernel = 1});
    left = gv_spool_writer_left(&gv_process.spool);
    make(GV_ID_cuCtxSynchronize, 0, 1, (struct gv_facts){0});
    assert_int_equal(lost(gv_api_rows[GV_ID_cuCtxSynchronize].class), 0);
    assert_true(left > gv_spool_writer_left(&gv_process.spool));
}

static uint32_t nodes_written(uint8_t flags)
{
    const struct gv_spool_segment *segment = segment_of(gv_thread.serial, 0);
    uint32_t count = 0;

    for (uint32_t i = 0; segment && i < GV_SPOOL_SEGMENT_RECORDS; i++)
        count += segment->records[i].head.kind == GV_RECORD_GRAPH_NODE &&
                 segment->records[i].head.flags == flags;
    return count;
}

static uint64_t nodes_lost(void)
{
    return atomic_load(&gv_process.spool.header->lost.graph_nodes);
}

static void nodes_of_graphs_are_those_that_calls_add_and_clones(void **state)
{
    struct gv_call call = {0};

    (void)state;
    gv_graph_node_note(1, 0, false); /* of a thread that never made a call while it recorded */
    assert_int_equal(nodes_lost(), 0);
    gv_graph_node_note(2, 1, false);
    assert_int_equal(nodes_lost(), 1);
    make(GV_ID_cuStreamQuery, 0, 1, (struct gv_facts){0});
    gv_graph_node_note(3, 0, false); /* of a call that is not recorded */
    begin(&call, GV_ID_cuGraphAddKernelNode, &(struct gv_facts){0});
    gv_graph_node_note(4, 0, false);
    gv_call_end(&call, 0, &(struct gv_facts){0});
    gv_call_begins_graph();
    begin(&call, GV_ID_cuGraphInstantiateWithFlags, &(struct gv_facts){0});
    gv_graph_node_note(5, 0, true);
    gv_graph_node_note(5, 4, true);
    gv_call_made_graph();
    gv_call_end(&call, 0, &(struct gv_facts){0});
    assert_int_equal(nodes_written(GV_RECORD_MORE), 1);
    assert_int_equal(nodes_written(GV_RECORD_MORE | GV_RECORD_INSTANTIATED | GV_RECORD_IS_GRAPH),
                     1);
    assert_int_equal(nodes_written(0), 0);
    assert_int_equal(nodes_lost(), 1);
}

static void nodes_of_graphs_leave_room_for_code(void **state)
{
    uint64_t node = 1;

    (void)state;
    make(GV_ID_cuStreamQuery, 0, 1, (struct gv_facts){0});
    while (nodes_lost() == 0)
        gv_graph_node_note(++node, 1, false);
    write_kind(&gv_thread, GV_RECORD_NAME, 1);
    assert_int_equal(atomic_load(&gv_process.spool.header->gpu.lost), 0);
}

static void an_exception_closes_the_call_that_it_passes(void **state)
{
    enum { SEARCH = 1, CLEANUP = 2 };
    struct gv_facts facts = {0};
    struct gv_call calls[2], *outer = &calls[1], *inner = &calls[0]; /* it lies below */

    (void)state;
    begin(outer, GV_ID_cudaLaunchKernel, &facts);
    begin(inner, GV_ID_cuLaunchKernel, &facts);
    gv_unwind_personality(1, SEARCH, 0, NULL, NULL);
    assert_int_equal(gv_thread.depth, 2);
    gv_unwind_personality(1, CLEANUP, 0, NULL, NULL);
    assert_int_equal(gv_thread.depth, 1);
    assert_int_equal(written(), 0);
    gv_unwind_personality(1, CLEANUP, 0, NULL, NULL);
    assert_int_equal(gv_thread.depth, 0);
    assert_int_equal(written(), 1);
    assert_int_equal(record(0)->head.flags & GV_RECORD_UNWOUND, GV_RECORD_UNWOUND);
    gv_unwind_personality(1, CLEANUP, 0, NULL, NULL); /* a frame of nobody's call */
    assert_int_equal(written(), 1);
}

/* Calls that no gate (gates.S) has skipped. */
static void while_recording_is_stopped_the_rest_is_followed(void **state)
{
    static const int skipped[] = {GV_ID_cuLaunchKernel,      GV_ID_cuMemcpyAsync,
                                  GV_ID_cuMemsetD8Async,     GV_ID_cuEventRecord,
                                  GV_ID_cuStreamSynchronize, GV_ID_cuStreamWaitEvent,
                                  GV_ID_cuEventQuery};
    static const int followed[] = {GV_ID_cuMemAlloc_v2,       GV_ID_cuModuleLoadData,
                                   GV_ID_cuModuleGetFunction, GV_ID_cuMemFree_v2,
                                   GV_ID_cuStreamCreate,      GV_ID_cuStreamBeginCapture_v2};
    const unsigned follow = sizeof followed / sizeof followed[0];
    const struct gv_facts facts = {0};
    struct gv_call calls[2], *outer = &calls[1], *inner = &calls[0]; /* it lies below */

    (void)state;
    atomic_store(atomic_load(&gv_process_own.changes), 1);
    atomic_store(&gv_process_own.open, 0); /* as for a thread's first call */
    for (unsigned i = 0; i < sizeof skipped / sizeof skipped[0]; i++)
        make(skipped[i], 0, 1000, facts);
    assert_int_equal(written(), 0);
    for (unsigned i = 0; i < follow; i++)
        make(followed[i], 0, 1, facts);
    assert_int_equal(written(), follow);
    /* What a call that is not recorded loads. */
    begin(outer, GV_ID_cudaLaunchKernel, &facts);
    begin(inner, GV_ID_cuModuleLoadData, &facts);
    gv_call_end(inner, 0, &facts);
    gv_call_end(outer, 0, &facts);
    assert_int_equal(written(), follow + 1);
    assert_int_equal(record(follow)->head.api, GV_ID_cuModuleLoadData);
    /* It changes in the middle: no halves. */
    begin(outer, GV_ID_cuLaunchKernel, &facts);
    atomic_store(atomic_load(&gv_process_own.changes), 2);
    gv_call_end(outer, 0, &facts);
    assert_int_equal(written(), follow + 1);
    begin(outer, GV_ID_cuLaunchKernel, &facts);
    atomic_store(atomic_load(&gv_process_own.changes), 3);
    gv_call_end(outer, 0, &facts);
    assert_int_equal(written(), follow + 2);
    assert_int_equal(gv_thread.depth, 0);
    atomic_store(atomic_load(&gv_process_own.changes), 0);
    atomic_store(&gv_process_own.open, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, close_recording)

static void a_primary_context_ends_with_its_last_use(void **state)
{
    (void)state;
    assert_int_equal(gv_primary_ending(2), 0); /* unknown */
    assert_true(gv_primary_may_end(2));
    for (int i = 0; i < 3; i++)
        gv_primary_note(2, 0xc2);
    assert_int_equal(gv_primary_ending(2), 0xc2);
    assert_false(gv_primary_may_end(2));
    assert_false(gv_primary_may_end(2));
    assert_true(gv_primary_may_end(2));
    assert_true(gv_primary_may_end(2)); /* of a use that nobody saw */
    gv_primary_note(2, 0xc2);
    gv_primary_note(2, 0xc2);
    assert_int_equal(gv_primary_reset(2), 0xc2);
    assert_true(gv_primary_may_end(2));
}

static void what_ends_with_a_green_context(void **state)
{
    (void)state;
    gv_primary_note(3, 0xc3);
    assert_int_equal(gv_green_ending(0x9), 0x9); /* no context */
    gv_green_made_context();
    assert_int_equal(gv_green_ending(0x9), 0); /* one of which the handle is not known */
    assert_int_equal(gv_primary_ending(3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_that_put_work_on_the_gpu_are_chosen_at_random),
        TEST(the_first_of_a_site_is_no_sample),
        TEST(sites_that_differ_little_have_cells_of_their_own),
        TEST(calls_with_nothing_to_tell_take_the_short_way),
        TEST(of_256_hooks_one_is_measured),
        TEST(what_allocates_much_has_a_stack),
        TEST(a_copy_between_devices_begins_when_it_is_expected),
        TEST(a_context_on_a_second_device_lets_expect_copies),
        TEST(reading_the_delay_has_a_budget),
        TEST(a_question_is_recorded_if_it_is_slow),
        TEST(a_childs_half_of_a_call_is_not_recorded),
        TEST(what_has_no_room_is_counted_by_class),
        TEST(nodes_of_graphs_are_those_that_calls_add_and_clones),
        TEST(nodes_of_graphs_leave_room_for_code),
        TEST(an_exception_closes_the_call_that_it_passes),
        TEST(while_recording_is_stopped_the_rest_is_followed),
        TEST(a_primary_context_ends_with_its_last_use),
        TEST(what_ends_with_a_green_context),
    };

    return cmocka_run_group_tests_name("hooked calls", tests, NULL, NULL);
}
