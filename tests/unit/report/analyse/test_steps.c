/* Steps that are found without the program's words: how many, in sequences of events whose loop is
 * known. */
#include "report/analyse/steps/detector.h"
#include "kernels/random.h"
#include "tests/unit/report/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#define MOST 200000u
#define SYNC 1000

struct sequence {
    struct gv_step_event events[MOST];
    size_t count;
    uint64_t random;
};

static struct sequence sequence;
static uint64_t kinds[16]; /* steps of each */

static unsigned chance(unsigned of)
{
    return (unsigned)(gv_random(&sequence.random) >> 20) % of;
}

static void event(uint64_t symbol, enum gv_step_role role)
{
    assert_true(sequence.count < MOST);
    sequence.events[sequence.count++] = (struct gv_step_event){symbol, role, 0, 1};
}

static void kernel(uint64_t symbol)
{
    event(symbol, GV_STEP_WORK);
}

static void kernels(uint64_t from, uint64_t to)
{
    while (from <= to)
        kernel(from++);
}

static void input(void)
{
    event(500, GV_STEP_MOVE);
}

static void result(void)
{
    event(501, GV_STEP_MOVE);
}

static void sync(void)
{
    event(SYNC, GV_STEP_WAIT);
}

static void begin(void)
{
    sequence.count = 0;
    sequence.random = GV_RANDOM_START;
}

/* How many steps are found; 0: none. */
static size_t steps(void)
{
    struct gv_step_detector *detector = gv_step_detector_open();
    static struct gv_step_anchor anchor;
    struct gv_step_cutter *cutter = calloc(1, sizeof(*cutter));
    struct gv_step_found found;
    size_t count = 0;

    assert_non_null(detector);
    assert_non_null(cutter);
    memset(kinds, 0, sizeof(kinds));
    for (size_t i = 0; i < sequence.count; i++)
        assert_int_equal(gv_step_detector_take(detector, &sequence.events[i]), 0);
    cutter->anchor = &anchor;
    if (gv_step_detector_choose(detector, &anchor)) {
        for (size_t i = 0; i < sequence.count; i++)
            if (gv_step_cutter_take(cutter, &sequence.events[i], (int64_t)i, (int64_t)i + 1,
                                    &found)) {
                count++;
                kinds[found.kind]++;
            }
        if (gv_step_cutter_end(cutter, &found)) {
            count++;
            kinds[found.kind]++;
        }
    }
    free(cutter);
    gv_step_detector_close(detector);
    return count;
}

static size_t kinds_found(void)
{
    size_t found = 0;

    for (size_t i = 0; i < 16; i++)
        found += kinds[i] > 0;
    return found;
}

/* ---- loops ---- */

static void test_two_kinds_in_turns(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 101; i++) {
        input();
        if (i % 2)
            kernels(1, 6);
        else
            kernels(4, 12);
        result();
        sync();
    }
    assert_int_equal(steps(), 101);
    assert_int_equal(kinds_found(), 2);
}

static void nested(bool waits, unsigned least, unsigned spread)
{
    begin();
    for (int i = 0; i < 60; i++) {
        kernels(1, 3);
        for (unsigned j = 0, inner = least + chance(spread); j < inner; j++)
            kernels(10, 12);
        kernels(20, 21);
        if (waits)
            sync();
    }
}

static void test_an_inner_loop(void **state)
{
    (void)state;
    nested(true, 8, 1);
    assert_int_equal(steps(), 60);
    assert_int_equal(kinds_found(), 1);
    nested(true, 0, 20);
    assert_int_equal(steps(), 60);
    nested(true, 30, 200);
    assert_int_equal(steps(), 60);
    nested(false, 8, 1);
    assert_int_equal(steps(), 60);
    nested(false, 2, 20);
    assert_int_equal(steps(), 60);
}

/* Launches are left out, or added, in one of so many places. */
static void jittered(unsigned one_of, bool waits)
{
    begin();
    for (int i = 0; i < 300; i++) {
        input();
        for (uint64_t each = 1; each <= 12; each++) {
            if (chance(one_of))
                kernel(each);
            if (!chance(one_of))
                kernel(each == 5 ? 30 : 1 + chance(12));
        }
        if (waits) {
            result();
            sync();
        }
    }
}

static void test_launches_more_or_less(void **state)
{
    (void)state;
    jittered(50, true);
    assert_int_equal(steps(), 300);
    jittered(15, true);
    assert_int_equal(steps(), 300);
    jittered(50, false);
    assert_int_equal(steps(), 300);
    /* Too different to be sure. */
    for (unsigned one_of = 8; one_of < 25; one_of += 4) {
        jittered(one_of, false);
        size_t found = steps();
        assert_true(found == 0 || found == 300);
    }
}

static void epochs(int training, int validation, bool same_end, bool validation_waits)
{
    begin();
    for (int epoch = 0; epoch < 5; epoch++) {
        for (int i = 0; i < training; i++) {
            input();
            kernels(1, 15);
            result();
            sync();
        }
        for (int i = 0; i < validation; i++) {
            input();
            kernels(1, 5);
            kernel(40);
            if (validation_waits && same_end)
                result();
            if (validation_waits)
                sync();
        }
        if (!validation_waits) {
            result();
            sync();
        }
    }
}

static void test_validation_after_each_epoch(void **state)
{
    (void)state;
    epochs(20, 5, true, true);
    assert_int_equal(steps(), 125);
    assert_int_equal(kinds_found(), 2);
    assert_int_equal(kinds[0], 100);
    assert_int_equal(kinds[1], 25);
    epochs(100, 20, false, true);
    assert_int_equal(steps(), 600);
    assert_int_equal(kinds[0], 500);
    assert_int_equal(kinds[1], 100);
}

static void test_a_graph_is_a_step(void **state)
{
    (void)state;
    begin();
    kernels(1, 20);
    for (int i = 0; i < 50; i++)
        event(600, GV_STEP_GRAPH);
    sync();
    assert_int_equal(steps(), 50);
    begin();
    kernels(1, 20);
    for (int i = 0; i < 50; i++) {
        input();
        event(600, GV_STEP_GRAPH);
        sync();
    }
    assert_int_equal(steps(), 50);
}

static void test_a_wait_now_and_then(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 1000; i++) {
        input();
        kernels(1, 20);
        if (i % 50 == 49) {
            result();
            sync();
        }
    }
    assert_int_equal(steps(), 1000);
}

/* In every fifth step it waits, and does nothing else then. */
static void test_a_few_waits(void **state)
{
    (void)state;
    begin();
    for (int i = 1; i <= 60; i++) {
        kernels(1, 8);
        if (i % 5 == 0)
            sync();
    }
    assert_int_equal(steps(), 60);
}

static void test_a_wait_whose_work_before_differs(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 200; i++) {
        kernels(1, 8);
        if (i % 5)
            kernel(9);
        sync();
    }
    assert_int_equal(steps(), 200);
}

static void test_two_waits_in_a_step(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 200; i++) {
        kernels(1, 8);
        sync();
        kernels(11, 14);
        result();
        sync();
    }
    assert_int_equal(steps(), 200);
}

/* Tables are brought to the host one by one, with a wait for each: what follows the last one begins
 * the next step. */
static void test_a_wait_for_each_result(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 200; i++) {
        kernels(1, 4);
        result();
        sync();
        result();
        sync();
    }
    assert_int_equal(steps(), 200);
}

/* Four streams get the same work, then so many waits follow: one for each stream is the end of a
 * step, fewer are to log. */
static void test_a_wait_for_each_stream(void **state)
{
    (void)state;
    for (int waits = 2; waits <= 4; waits += 2) {
        begin();
        for (int i = 0; i < 200; i++) {
            for (int stream = 0; stream < 4; stream++) {
                input();
                kernels(1, 3);
                result();
            }
            for (int wait = 0; wait < waits; wait++)
                sync();
        }
        size_t truth = waits == 4 ? 200 : 800;
        assert_in_range(steps(), truth - 1, truth);
    }
}

/* The same without copies. */
static void test_kernels_in_several_streams(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 200; i++) {
        for (int stream = 0; stream < 6; stream++)
            kernels(1, 4);
        for (int wait = 0; wait < 6; wait++)
            sync();
    }
    assert_int_equal(steps(), 200);
}

static void test_copies_that_wait(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 100; i++) {
        event(800, GV_STEP_FETCH); /* to the device */
        kernels(1, 9);
        event(801, GV_STEP_FETCH);
    }
    assert_int_equal(steps(), 100);
}

/* As PyTorch: parameters first, each step waits for its input, some for a result too. */
static void moved_first(unsigned every)
{
    begin();
    kernel(99);
    for (int i = 0; i < 8; i++) {
        input();
        sync();
    }
    for (unsigned i = 0; i < 60; i++) {
        input();
        sync();
        kernels(1, 9);
        kernels(3, 9);
        if (i % every == every - 1) {
            result();
            sync();
        }
    }
    event(SYNC + 1, GV_STEP_WAIT);
}

static void test_copies_before_the_first_step(void **state)
{
    (void)state;
    moved_first(1);
    assert_int_equal(steps(), 60);
    assert_int_equal(kinds_found(), 1);
    moved_first(10);
    assert_int_equal(steps(), 60);
    assert_int_equal(kinds_found(), 1);
    moved_first(1000);
    assert_int_equal(steps(), 60);
    assert_int_equal(kinds_found(), 1);
}

static void test_other_work_before_and_after(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 5; i++)
        event(700 + (uint64_t)i, GV_STEP_MOVE);
    kernels(100, 300);
    sync();
    for (int i = 0; i < 100; i++) {
        input();
        kernels(1, 9);
        result();
        sync();
    }
    kernels(400, 420);
    result();
    sync();
    assert_int_equal(steps(), 100);
}

static void test_the_last_step_is_not_whole(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 100; i++) {
        input();
        kernels(1, 9);
        sync();
    }
    input();
    kernels(1, 2);
    assert_int_equal(steps(), 100);
    begin();
    for (int i = 0; i < 100; i++)
        kernels(1, 9);
    kernels(1, 2);
    assert_int_equal(steps(), 100);
}

static void test_few_steps(void **state)
{
    (void)state;
    for (size_t count = 1; count < 7; count++) {
        begin();
        for (size_t i = 0; i < count; i++) {
            input();
            kernels(1, 9);
            result();
            sync();
        }
        assert_int_equal(steps(), count < GV_STEP_LEAST ? 0 : count);
    }
}

/* A copy for each of many things, for which the host waits, is not what makes the order. */
static void test_many_small_copies_in_a_step(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 200; i++) {
        for (int j = 0; j < 600; j++)
            event(700, GV_STEP_FETCH);
        kernel(1);
        for (int j = 0; j < 4; j++)
            kernels(2, 3);
        result();
        sync();
    }
    assert_int_equal(steps(), 200);
}

/* What is done once after a few rounds ends a step; what is done now and then does not. */
static void test_few_rounds_in_a_step(void **state)
{
    (void)state;
    for (int rounds = 3; rounds < 31; rounds += 27) {
        begin();
        for (int i = 0; i < 1000; i++) {
            for (int j = 0; j < rounds; j++)
                kernels(1, 5);
            kernel(9);
            if (i % 100 == 99) {
                result();
                sync();
            }
        }
        size_t truth = rounds == 3 ? 1000 : 1000 * (size_t)rounds;
        assert_in_range(steps(), truth - 1, truth);
    }
}

static void graph(uint64_t symbol)
{
    event(symbol, GV_STEP_GRAPH);
    sequence.events[sequence.count - 1].weight = 100;
}

/* A graph for each size, after a warm-up without one. */
static void test_a_graph_for_each_size(void **state)
{
    bool seen[100] = {false};

    (void)state;
    begin();
    for (int i = 0; i < 2500; i++) {
        unsigned size = chance(100);
        for (uint64_t each = 0; each < 2; each++) {
            event(500 + 10 * each + size / 25, GV_STEP_MOVE);
            sync();
        }
        if (!seen[size])
            for (uint64_t layer = 0; layer < 8; layer++)
                for (uint64_t each = 0; each < 15; each++)
                    kernel(2000 + 20 * each + size % 20);
        else
            graph(600 + size);
        seen[size] = true;
        kernels(1, 2);
        kernel(10 + size / 20);
        kernels(3, 5);
        if (i % 25 == 24) {
            kernel(30);
            event(502, GV_STEP_FETCH);
        }
    }
    assert_in_range(steps(), 2250, 2500);
}

/* By what the GPU does, not by the number of launches. */
static void test_many_launches_before_steps_of_graphs(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 500; i++) {
        kernel(1);
        input();
    }
    for (int i = 0; i < 40; i++) {
        kernel(2);
        graph(600);
        result();
    }
    assert_in_range(steps(), 39, 40);
}

/* Two of five events in one place of a table would be half of all that is foreseen. */
static void test_small_loops_of_any_events(void **state)
{
    (void)state;
    for (uint64_t trial = 1; trial <= 4000; trial++) {
        begin();
        for (int i = 0; i < 30; i++) {
            sync();
            event(8 * trial, GV_STEP_MOVE);
            event(8 * trial + 1, GV_STEP_MOVE);
            kernel(8 * trial + 2);
            event(8 * trial + 3, GV_STEP_MOVE);
        }
        sync();
        assert_int_equal(steps(), 30);
    }
}

/* ---- no loops ---- */

static void test_any_order(void **state)
{
    size_t found = 0;

    (void)state;
    begin();
    for (int trial = 0; trial < 1000; trial++) {
        unsigned different = 3 + chance(20), wait = chance(2) ? 2 + chance(60) : 0,
                 length = 20 + chance(3000);
        unsigned moves = chance(3);
        sequence.count = 0;
        for (unsigned i = 0; i < length; i++) {
            unsigned symbol = chance(different);
            event(symbol + 1, symbol < moves ? GV_STEP_MOVE : GV_STEP_WORK);
            if (wait && !chance(wait))
                sync();
        }
        found += steps() > 0;
    }
    assert_true(found <= 3);
}

static void test_a_fixed_number_of_launches_in_any_order(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 200; i++) {
        for (int j = 0; j < 50; j++)
            kernel(1 + chance(6));
        sync();
    }
    assert_int_equal(steps(), 0);
}

static void test_a_long_pipeline(void **state)
{
    (void)state;
    begin();
    for (uint64_t stage = 0; stage < 2000; stage++) {
        input();
        kernel(10000 + 2 * stage);
        kernel(10001 + 2 * stage);
        if (stage % 3)
            kernel(20000 + stage % 7 * chance(7));
        result();
        if (!chance(3))
            sync();
    }
    assert_int_equal(steps(), 0);
}

static void test_equal_launches(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 5000; i++)
        kernel(1);
    sync();
    assert_int_equal(steps(), 0);
}

/* Groups of launches in any order, of which none is the program's step. */
static void test_groups_in_any_order(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 500; i++) {
        unsigned group = 10 * chance(6);
        kernels(group + 1, group + 4);
    }
    assert_int_equal(steps(), 0);
}

/* ---- programs ---- */

/*
 * Each is a text: small letters are kernels; H is a copy to the device, D one to the host that is
 * waited for, S and T are waits, G and K graphs. | begins the next line of the program. 8(...) is a
 * loop, 3-9(...) one whose length varies, %5(...) happens in each fifth turn of the loop around it,
 * ?9(...) mostly: not in one of nine turns; [...] is one of these. ! is where a step begins.
 */
static const struct {
    const char *name, *text;
} programs[] = {
    {"training", "200(!H|abcdefg|gfe|xy|D)"},
    {"training that logs every ten", "200(!H|abcdef|xy|%10(D))"},
    {"training that logs every five", "200(!H|abcdef|xy|%5(D))"},
    {"training from memory that logs now and then", "1000(!abcdef|xy|zq|%50(D))"},
    {"training from memory that logs often", "200(!abcdef|xy|zq|%5(D))"},
    {"training with checkpoints", "300(!H|abcde|xy|D|%100(8(D)))"},
    {"training after a warm-up", "5(H|abc)S|200(!H|abcde|xy|D)"},
    {"training with a norm that is waited for", "100(!H|abcd|nT|xy|D)"},
    {"training with parameters in many tensors", "80(!H|abcd|dcb|30(uv)|D)"},
    {"two networks", "100(!H|abcd|x|D|H|aefg|y|D)"},
    {"epochs", "6(50(!H|abcde|xy|D)|T)"},
    {"epochs of few batches without a wait", "8(30(!H|abcde|xy)|mS)"},
    {"four micro-batches", "50(!4(H|abcd|dcb)|xyz)"},
    {"four micro-batches that wait", "50(!4(H|abcd|dcb|D)|xy)"},
    {"four micro-batches and a log", "50(!4(H|abcd|dcb)|xyz|%10(D))"},
    {"sixteen micro-batches", "50(16(!H|abcd|dcb)|xyz)"},
    {"tokens in requests", "12(H|ab|40(!cd|e|D))"},
    {"few tokens in requests", "30(!H|ab|5(cd|e|D))"},
    {"requests of any length", "30(H|a|12-40(!bc|d|D))"},
    {"requests", "150(!H|abcdefgh|D)"},
    {"layers", "60(!H|a|24(b|c|d)|e|x|S)"},
    {"layers of which each waits at one line", "60(!H|a|24(bD)|e|x|S)"},
    {"a solver that logs", "1000(!ab|c|%10(rD))"},
    {"inner rounds of a solver", "100(!10(ab)S)"},
    {"a loop over tensors at one line", "100(!H|abc|de|100(pqD)|xy)"},
    {"a graph", "100(!H|G|D)"},
    {"two graphs", "100(!H|G|K|G|D)"},
    {"a graph three times", "100(!3(G)|x|S)"},
    {"graphs that log", "500(!G|%50(D))"},
    {"a graph among kernels", "100(!ab|G|cd|D)"},
    {"jitter", "200(!H|?20(a)?20(b)?20(c)?20(d)|?20(e)[abcx]fg|D)"},
    {"jitter without waits", "200(!H|?40(a)bcd?40(e)|fg?40(h))S"},
    {"validation", "5(40(!H|abcdef|xy|D)8(!H|abc|v|D))"},
    {"validation that waits at its end", "5(40(!H|abcdef|xy|D)8(H|abc|v)|T)"},
    {"validation by single results", "3(100(!abcdef|xyz)200(!abc|50(pqD)))"},
    {"two kinds in turns", "120(!H|abc|%2(dfgh|klmn)|D)"},
    {"a small loop", "4(!H|abc|D)"},
    /* none */
    {"a script", "H|abc|d|e|D"},
    {"a script that loads a model", "20(H)|abcdefgh|D"},
    {"a script of two stages", "abcdefghijabc|S|klmnop|mno|D"},
    {"three rounds", "3(H|abc|D)"},
    {"equal launches", "3000(a)S"},
    {"any order", "400([abcdefgh])S"},
    {"any order, with waits", "400([abcdefgh]?2(S))"},
    {"layers once", "H|a|3(b|c|d)|e|D"},
};

/* To the end of this loop's text. */
static const char *run_text(const char *at, uint32_t line, unsigned turn, size_t *truth)
{
    while (*at && *at != ')') {
        char how = *at == '%' || *at == '?' ? *at++ : 0;
        unsigned least = (unsigned)strtoul(at, (char **)&at, 10), most = least;
        if (*at == '-')
            most = (unsigned)strtoul(at + 1, (char **)&at, 10);
        if (*at == '(') {
            unsigned turns = how == '%'   ? turn % least == least - 1
                             : how == '?' ? chance(least) != 0
                                          : least + chance(most - least + 1);
            for (unsigned i = 0; i < turns; i++)
                run_text(at + 1, line, how ? turn : i, truth);
            for (unsigned open = 0; open += *at == '(', open -= *at == ')', open; at++)
                line += *at == '|';
            at++;
            continue;
        }
        if (*at == '[') {
            const char *end = strchr(at, ']');
            event((uint64_t)at[1 + chance((unsigned)(end - at - 1))], GV_STEP_WORK);
            at = end + 1;
            continue;
        }
        *truth += *at == '!';
        line += *at == '|';
        if (*at != '!' && *at != '|') {
            event((uint64_t)*at, *at == 'H'                 ? GV_STEP_MOVE
                                 : *at == 'D'               ? GV_STEP_FETCH
                                 : *at == 'S' || *at == 'T' ? GV_STEP_WAIT
                                 : *at == 'G' || *at == 'K' ? GV_STEP_GRAPH
                                                            : GV_STEP_WORK);
            if (!chance(3)) /* its stack was taken */
                sequence.events[sequence.count - 1].line = line;
        }
        at++;
    }
    return at;
}

static void test_programs(void **state)
{
    size_t right = 0, count = sizeof(programs) / sizeof(programs[0]);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        size_t truth = 0, found;
        begin();
        run_text(programs[i].text, 1, 0, &truth);
        found = steps();
        /* The last one may not be whole. */
        if (found + 1 == truth || found == truth)
            right++;
        else
            print_message("%s: %zu steps, found %zu\n", programs[i].name, truth, found);
        if (truth == 0)
            assert_int_equal(found, 0);
    }
    print_message("%zu of %zu programs are right\n", right, count);
    assert_true(right >= count - count / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_kinds_in_turns),
        cmocka_unit_test(test_an_inner_loop),
        cmocka_unit_test(test_launches_more_or_less),
        cmocka_unit_test(test_validation_after_each_epoch),
        cmocka_unit_test(test_a_graph_is_a_step),
        cmocka_unit_test(test_a_wait_now_and_then),
        cmocka_unit_test(test_a_few_waits),
        cmocka_unit_test(test_a_wait_whose_work_before_differs),
        cmocka_unit_test(test_two_waits_in_a_step),
        cmocka_unit_test(test_a_wait_for_each_result),
        cmocka_unit_test(test_a_wait_for_each_stream),
        cmocka_unit_test(test_kernels_in_several_streams),
        cmocka_unit_test(test_copies_that_wait),
        cmocka_unit_test(test_copies_before_the_first_step),
        cmocka_unit_test(test_other_work_before_and_after),
        cmocka_unit_test(test_the_last_step_is_not_whole),
        cmocka_unit_test(test_few_steps),
        cmocka_unit_test(test_many_small_copies_in_a_step),
        cmocka_unit_test(test_few_rounds_in_a_step),
        cmocka_unit_test(test_a_graph_for_each_size),
        cmocka_unit_test(test_many_launches_before_steps_of_graphs),
        cmocka_unit_test(test_small_loops_of_any_events),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_a_fixed_number_of_launches_in_any_order),
        cmocka_unit_test(test_a_long_pipeline),
        cmocka_unit_test(test_equal_launches),
        cmocka_unit_test(test_groups_in_any_order),
        cmocka_unit_test(test_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
