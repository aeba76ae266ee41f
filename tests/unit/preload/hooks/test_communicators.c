/* Communicators of NCCL: the same number on every rank, and each collective its place in the order.
 */
#include "preload/base/clock.h"
#include "preload/bind/entry_points.h"
#include "preload/hooks/communicators.h"
#include "trace/call_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { FLOAT32 = 7, IN_PROGRESS = 7, FAILED = 3 };

static int rank_of_nccl, size_of_nccl, asked;

static int user_rank(const void *communicator, int *rank)
{
    (void)communicator;
    asked++;
    *rank = rank_of_nccl;
    return 0;
}

static int count(const void *communicator, int *size)
{
    (void)communicator;
    *size = size_of_nccl;
    return 0;
}

_Thread_local struct gv_thread gv_thread __attribute__((tls_model("initial-exec")));
static const struct gv_clock monotonic = {.kind = GV_CLOCK_MONOTONIC};
const struct gv_clock *_Atomic gv_clock = &monotonic;

bool gv_thread_next_segment(struct gv_thread *thread, enum gv_spool_room room)
{
    (void)thread;
    (void)room;
    return false;
}

struct gv_nccl_calls gv_nccl_calls = {.count = count, .user_rank = user_rank};

/* What a collective of this communicator is recorded as. */
static struct gv_record_collective noted(uint64_t handle, enum gv_collective_kind kind, int peer)
{
    static _Alignas(64) union gv_record records[2];
    static struct gv_spool_segment segment;
    struct gv_call call = {.start_ns = 5};
    struct gv_facts facts = {0};

    gv_thread = (struct gv_thread){.depth = 1,
                                   .next = records,
                                   .end = records + 2,
                                   .segment = &segment,
                                   .open_to = GV_ROOM_REST};
    memset(records, 0, sizeof(records));
    gv_collective_note(&facts, 0, handle, kind, 10, FLOAT32, peer);
    if (facts.what != GV_FACT_COLLECTIVE)
        return (struct gv_record_collective){0};
    assert_int_equal(facts.bytes, 40);
    gv_collective_write(&gv_thread, &call);
    assert_int_equal(records[0].collective.call_start_ns, 5);
    return records[0].collective;
}

static void ranks_agree_on_the_number(void **state)
{
    char id[128] = "one", other[128] = "other";

    (void)state;
    gv_communicator_note(0, 16, id, 2, 0);
    gv_communicator_note(IN_PROGRESS, 32, id, 2, 1);
    gv_communicator_note(0, 48, other, 2, 0);
    struct gv_record_collective first = noted(16, GV_COLLECTIVE_ALL_REDUCE, -1);
    struct gv_record_collective second = noted(32, GV_COLLECTIVE_ALL_REDUCE, -1);
    assert_true(first.communicator == second.communicator && first.communicator >> 63 == 0);
    assert_true(first.communicator != noted(48, GV_COLLECTIVE_ALL_REDUCE, -1).communicator);
    assert_int_equal(first.rank, 0);
    assert_int_equal(second.rank, 1);
    assert_int_equal(second.size, 2);
    /* The same parts of it, by the order of the splits and the colour. */
    gv_communicator_split(0, 64, 16, 1);
    gv_communicator_split(0, 80, 32, 1);
    gv_communicator_split(0, 96, 32, 1);
    rank_of_nccl = 3;
    size_of_nccl = 4;
    asked = 0;
    first = noted(64, GV_COLLECTIVE_ALL_REDUCE, -1);
    assert_true(first.communicator == noted(80, GV_COLLECTIVE_ALL_REDUCE, -1).communicator);
    assert_true(first.communicator != noted(96, GV_COLLECTIVE_ALL_REDUCE, -1).communicator);
    assert_int_equal(first.rank, 3);
    assert_int_equal(first.size, 4);
    noted(64, GV_COLLECTIVE_ALL_REDUCE, -1);
    assert_int_equal(asked, 3); /* once for each */
    for (uint64_t handle = 16; handle <= 96; handle += 16)
        gv_communicator_forget(handle);
}

static void collectives_are_counted(void **state)
{
    char id[128] = "counted";
    struct gv_facts facts = {0};

    (void)state;
    gv_communicator_note(0, 16, id, 4, 0);
    assert_int_equal(noted(16, GV_COLLECTIVE_ALL_REDUCE, -1).sequence, 0);
    assert_int_equal(noted(16, GV_COLLECTIVE_BROADCAST, 2).sequence, 1);
    /* Those of two ranks by peer and direction: other ranks do not take part. */
    assert_int_equal(noted(16, GV_COLLECTIVE_SEND, 1).sequence, 0);
    assert_int_equal(noted(16, GV_COLLECTIVE_SEND, 2).sequence, 0);
    assert_int_equal(noted(16, GV_COLLECTIVE_SEND, 1).sequence, 1);
    assert_int_equal(noted(16, GV_COLLECTIVE_RECEIVE, 1).sequence, 0);
    assert_int_equal(noted(16, GV_COLLECTIVE_ALL_REDUCE, -1).sequence, 2);
    /* One that failed, one inside another call, and one of an unknown communicator do not count. */
    gv_collective_note(&facts, FAILED, 16, GV_COLLECTIVE_ALL_REDUCE, 1, FLOAT32, -1);
    gv_thread.depth = 2;
    gv_collective_note(&facts, 0, 16, GV_COLLECTIVE_ALL_REDUCE, 1, FLOAT32, -1);
    assert_int_equal(facts.what, GV_FACT_NONE);
    assert_int_equal(noted(32, GV_COLLECTIVE_ALL_REDUCE, -1).collective, 0);
    assert_int_equal(noted(16, GV_COLLECTIVE_ALL_REDUCE, -1).sequence, 3);
    gv_communicator_forget(16);
    assert_int_equal(noted(16, GV_COLLECTIVE_ALL_REDUCE, -1).collective, 0);
}

static void each_peer_has_a_count_of_its_own(void **state)
{
    char id[128] = "peers";
    uint64_t last;

    (void)state;
    gv_communicator_note(0, 16, id, 1024, 0);
    for (int round = 0; round < 2; round++)
        for (int peer = 0; peer < 1024; peer += 4) /* 256, of which four each are 256 apart */
            assert_int_equal(noted(16, GV_COLLECTIVE_SEND, peer).sequence, round);
    assert_int_equal(noted(16, GV_COLLECTIVE_RECEIVE, 4).sequence, 0);
    /* One too many is a send without a place. */
    last = noted(16, GV_COLLECTIVE_SEND, 1).sequence;
    assert_true(last == GV_SEQUENCE_UNKNOWN);
    assert_int_equal(noted(16, GV_COLLECTIVE_SEND, 4).sequence, 2);
    gv_communicator_forget(16);
}

static void a_handle_that_comes_again_is_the_newer_communicator(void **state)
{
    char id[128] = "older", newer[128] = "newer";

    (void)state;
    gv_communicator_note(0, 16, id, 2, 0);
    struct gv_record_collective first = noted(16, GV_COLLECTIVE_ALL_REDUCE, -1);
    gv_communicator_note(0, 16, newer, 4, 3);
    struct gv_record_collective second = noted(16, GV_COLLECTIVE_ALL_REDUCE, -1);
    assert_true(first.communicator != second.communicator);
    assert_int_equal(second.sequence, 0);
    assert_int_equal(second.rank, 3);
    gv_communicator_forget(16);
    assert_int_equal(noted(16, GV_COLLECTIVE_ALL_REDUCE, -1).collective, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_agree_on_the_number),
        cmocka_unit_test(collectives_are_counted),
        cmocka_unit_test(each_peer_has_a_count_of_its_own),
        cmocka_unit_test(a_handle_that_comes_again_is_the_newer_communicator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
