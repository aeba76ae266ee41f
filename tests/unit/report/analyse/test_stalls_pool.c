/* Pools that give their memory back at every synchronisation, and what else makes an allocation in
 * stream order slow. Each case with the GPU side seen, and from the calls alone. */
#include "tests/unit/report/stall_fixture.h"

#define MB (INT64_C(1) << 20)

static int setup(void **state)
{
    int result = fixture_setup(state);

    fixture_mode(*state ? INFERRED : MEASURED);
    return result;
}

static void allocated(int64_t start_us, int64_t us, int64_t object, int64_t bytes)
{
    CALL("cuMemAllocAsync", start_us, us, .stream = STREAM_A, .object = object, .bytes = bytes);
}

static void freed(int64_t start_us, int64_t object)
{
    CALL("cuMemFreeAsync", start_us, 5, .stream = STREAM_A, .object = object);
}

/* Calls 1 and 2. */
static void allocated_once(int64_t bytes)
{
    allocated(1000, 12000, 7, bytes);
    freed(14000, 7);
}

static void synchronised(int64_t start_us)
{
    CALL("cuStreamSynchronize", start_us, 10, .stream = STREAM_A);
}

static void memory_is_mapped_again_after_a_synchronisation(void **state)
{
    allocated_once(1000 * MB);
    synchronised(20000);
    allocated(21000, 12000, 7, 1000 * MB);
    freed(40000, 7);
    CALL("cuCtxSynchronize", 41000, 20);
    allocated(42000, 9000, 8, 700 * MB);
    expect("4 pool 0+12000+0\n"
           "7 pool 0+9000+0\n");
}

static void growth_is_the_calls_own_work(void **state)
{
    allocated_once(1000 * MB);
    synchronised(20000);
    allocated(21000, 12000, 7, 1001 * MB);
    allocated(35000, 12000, 8, 1000 * MB);
    expect("");
}

/* The pool maps what two live blocks need, of which it had one before. */
static void live_memory_counts(void **state)
{
    allocated(1000, 6000, 6, 500 * MB);
    allocated_once(500 * MB);
    synchronised(20000);
    allocated(21000, 6000, 7, 500 * MB);
    allocated(35000, 6000, 8, 500 * MB);
    expect("5 pool 0+6000+0\n");
}

/* Other calls that wait give nothing back. */
static void without_a_synchronisation_the_pool_has_it(void **state)
{
    allocated_once(1000 * MB);
    CALL("cuMemcpyDtoH_v2", 15000, 20, .stream = STREAM_A, .bytes = 64);
    CALL("cuMemFree_v2", 16000, 20, .object = 5);
    allocated(21000, 12000, 7, 1000 * MB);
    expect("");
}

static void what_was_mapped_since_the_synchronisation_is_there(void **state)
{
    allocated_once(1000 * MB);
    synchronised(20000);
    allocated(21000, 12000, 7, 1000 * MB);
    freed(34000, 7);
    allocated(35000, 12000, 7, 1000 * MB);
    expect("4 pool 0+12000+0\n");
}

static void a_short_allocation_is_none(void **state)
{
    allocated_once(1000 * MB);
    synchronised(20000);
    allocated(21000, 90, 7, 1000 * MB);
    expect("");
}

static void a_raised_threshold_keeps_the_memory(void **state)
{
    CALL("cuMemPoolSetAttribute", 500, 5, .object = 99, .bytes = 1000 * MB);
    CALL("cuMemPoolSetAttribute", 510, 5, .object = 99); /* another attribute */
    allocated(1000, 12000, 7, 1500 * MB);
    freed(14000, 7);
    synchronised(20000);
    allocated(21000, 12000, 7, 1000 * MB);
    freed(34000, 7);
    synchronised(35000);
    allocated(36000, 12000, 7, 1001 * MB);
    expect("9 pool 0+12000+0\n");
}

/* It counts at the next synchronisation. */
static void a_threshold_may_be_lowered(void **state)
{
    CALL("cuMemPoolSetAttribute", 500, 5, .object = 99, .bytes = 1000 * MB);
    allocated_once(1000 * MB);
    synchronised(20000);
    CALL("cuMemPoolSetAttribute", 20500, 5, .object = 99, .bytes = 1 * MB);
    allocated(21000, 12000, 7, 1000 * MB);
    freed(34000, 7);
    synchronised(35000);
    allocated(36000, 12000, 7, 1000 * MB);
    expect("9 pool 0+12000+0\n");
}

static void what_failed_changed_nothing(void **state)
{
    CALL("cuMemAllocAsync", 1000, 200, .stream = STREAM_A, .bytes = 1000 * MB, .result = 2);
    synchronised(20000);
    allocated(21000, 12000, 7, 1000 * MB);
    expect("");
}

static void another_contexts_pool_is_another(void **state)
{
    allocated_once(1000 * MB);
    synchronised(20000);
    CALL("cuMemAllocAsync", 21000, 12000, .stream = STREAM_OTHER, .context = 2, .object = 9,
         .bytes = 1000 * MB);
    expect("");
}

static void other_memory_is_in_no_pool(void **state)
{
    CALL("cuMemAlloc_v2", 1000, 12000, .object = 7, .bytes = 1000 * MB);
    CALL("cuMemFree_v2", 14000, 50, .object = 7);
    synchronised(20000);
    allocated(21000, 12000, 7, 1000 * MB);
    expect("");
}

static void a_free_that_waits_frees_the_pools_memory_too(void **state)
{
    allocated(1000, 12000, 7, 1000 * MB);
    CALL("cuMemFree_v2", 14000, 50, .object = 7);
    synchronised(20000);
    allocated(21000, 12000, 7, 1000 * MB);
    expect("4 pool 0+12000+0\n");
}

/* As memory that a graph freed: its address is given out again. */
static void memory_whose_free_was_not_seen_is_free_when_its_address_comes_again(void **state)
{
    allocated(1000, 12000, 7, 1000 * MB);
    synchronised(20000);
    allocated(21000, 12000, 7, 1000 * MB);
    freed(40000, 7);
    synchronised(41000);
    allocated(42000, 12000, 7, 1000 * MB);
    expect("6 pool 0+12000+0\n");
}

static void a_thread_without_a_cpu_maps_nothing(void **state)
{
    allocated_once(1000 * MB);
    synchronised(20000);
    allocated(21000, 12000, 7, 1000 * MB);
    fixture_sql("INSERT INTO call_delay VALUES (4, 11990000)");
    expect("4 descheduled 0+11990+10\n");
}

static void earlier_traces_do_not_have_thresholds(void **state)
{
    allocated_once(1000 * MB);
    synchronised(20000);
    allocated(21000, 12000, 7, 1000 * MB);
    fixture_sql("PRAGMA user_version = 6");
    expect("");
}

static void nonsense_is_none(void **state)
{
    for (int i = 0; i < 4; i++) {
        allocated(1000 + i * 1000, 500, 7 + i, INT64_MAX);
        freed(1600 + i * 1000, 7 + i);
    }
    allocated(INT64_MAX / 1000 - 500, 400, 7, INT64_MAX);
    expect("");
}

/* Twice: *state is not NULL for the calls alone. */
#define CASE(name)                                                                                 \
    {#name ", measured", name, setup, fixture_teardown, NULL},                                     \
    {                                                                                              \
#name ", inferred", name, setup, fixture_teardown, "inferred"                              \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(memory_is_mapped_again_after_a_synchronisation),
        CASE(growth_is_the_calls_own_work),
        CASE(live_memory_counts),
        CASE(without_a_synchronisation_the_pool_has_it),
        CASE(what_was_mapped_since_the_synchronisation_is_there),
        CASE(a_short_allocation_is_none),
        CASE(a_raised_threshold_keeps_the_memory),
        CASE(a_threshold_may_be_lowered),
        CASE(what_failed_changed_nothing),
        CASE(another_contexts_pool_is_another),
        CASE(other_memory_is_in_no_pool),
        CASE(a_free_that_waits_frees_the_pools_memory_too),
        CASE(memory_whose_free_was_not_seen_is_free_when_its_address_comes_again),
        CASE(a_thread_without_a_cpu_maps_nothing),
        CASE(earlier_traces_do_not_have_thresholds),
        CASE(nonsense_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
