/* GPU time by line: estimates from a few calls, compared with what all calls say. */
#include "report/analyse/totals/totals.h"
#include "kernels/random.h"
#include "tests/unit/report/totals_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 4000
#define LINES 10
#define EVERY 20
#define TIMES 25

/* Line, kernel and duration of a call; a line of 0 waits for the GPU. */
struct made_call {
    int line, kernel, duration_ns;
};

static uint64_t random_state = GV_RANDOM_START;

static unsigned below(unsigned limit)
{
    return gv_random_below(&random_state, limit);
}

static int setup(void **state)
{
    totals_open(state);
    totals_execute(
        "INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'),"
        " (2, 'cuStreamSynchronize', 'sync'), (3, 'cuStreamBeginCapture_v2', 'stream'),"
        " (4, 'cuStreamEndCapture', 'stream'), (5, 'cuGraphInstantiateWithFlags', 'graph'),"
        " (6, 'cuGraphLaunch', 'launch');"
        "INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);"
        "INSERT INTO thread VALUES (3, 1, 2, 11, 'pt_autograd_0', 0);"
        "WITH n(n) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10))"
        " INSERT INTO stack SELECT n, 1, n FROM n;"
        "INSERT INTO frame (stack, depth, kind, function, file, line)"
        " SELECT id, 0, 'python', 'step', 'train.py', id FROM stack;"
        "WITH n(n) AS (VALUES (1), (2), (3), (4), (5))"
        " INSERT INTO gpu_name SELECT n, 1, n, 'k' || n, 'k' FROM n;"
        "INSERT INTO gpu_shape (id, process, number, name) SELECT id, 1, id, id FROM gpu_name;"
        "INSERT INTO kernel (id, process, number, name) SELECT id, 1, id, name FROM gpu_name;");
    return 0;
}

/* Kernels run one after the other, each when the one before has ended. */
static void record(const struct made_call *calls)
{
    sqlite3_stmt *call = totals_prepare("INSERT INTO call (id, thread, api, start_ns, duration_ns,"
                                        " result, kernel) VALUES (?1, 1, ?2, ?3, 500, 0, ?4)");
    sqlite3_stmt *operation =
        totals_prepare("INSERT INTO gpu_op (id, place, kind, shape, start_ns,"
                       " duration_ns, call) VALUES (?1, 1, 1, ?2, ?3, ?4, ?1)");
    int64_t free_ns = 0;

    totals_execute("BEGIN; DELETE FROM call; DELETE FROM gpu_op");
    for (int i = 0; i < CALLS; i++) {
        int64_t start_ns = (int64_t)i * 1000;
        bool waits = calls[i].line == 0;
        totals_step(call, (int64_t[]){i + 1, waits ? 2 : 1, start_ns, calls[i].kernel}, 4);
        if (waits)
            continue;
        free_ns = free_ns > start_ns ? free_ns : start_ns;
        totals_step(operation, (int64_t[]){i + 1, calls[i].kernel, free_ns, calls[i].duration_ns},
                    4);
        free_ns += calls[i].duration_ns;
    }
    totals_execute("COMMIT");
    sqlite3_finalize(call);
    sqlite3_finalize(operation);
}

/* PyTorch's backward pass: each call made a node, which then runs in another thread, for as long.
 */
static void record_backward(void)
{
    totals_execute(
        "BEGIN; DELETE FROM range_text; DELETE FROM range; DELETE FROM call_range;"
        "INSERT INTO range_text (id, process, text) SELECT 3 * id, 1,"
        " 'aten::mul_, seq = ' || id || ', op_id = 1' FROM call"
        " UNION ALL SELECT 3 * id + 1, 1, 'autograd::engine::evaluate_function: MulBackward0' FROM "
        "call"
        " UNION ALL SELECT 3 * id + 2, 1, 'MulBackward0, seq = ' || id FROM call;"
        "INSERT INTO range (id, thread, kind, start_ns, text, parent)"
        " SELECT id, CASE id % 3 WHEN 0 THEN 1 ELSE 3 END, 1, 0, id,"
        " CASE id % 3 WHEN 2 THEN id - 1 END FROM range_text;"
        "INSERT INTO call_range SELECT 1, id, 3 * id FROM call"
        " UNION ALL SELECT 3, id + 4000, 3 * id + 1 + id % 2 FROM call;"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel)"
        " SELECT id + 4000, 3, api, start_ns + 100000000, 500, 0, 5 FROM call;"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call)"
        " SELECT id + 4000, 1, 1, 5, start_ns + 100000000, duration_ns, call + 4000 FROM gpu_op;"
        "COMMIT");
}

/* One of every EVERY launches, at random. */
static void choose(const struct made_call *calls)
{
    sqlite3_stmt *stack = totals_prepare("INSERT INTO call_stack VALUES (?, ?)");
    sqlite3_stmt *sample = totals_prepare("INSERT INTO call_sample VALUES (?, ?)");
    int block = 0;
    unsigned chosen = below(EVERY);

    totals_execute("BEGIN; DELETE FROM call_stack; DELETE FROM call_sample");
    for (int i = 0; i < CALLS; i++) {
        if (calls[i].line == 0)
            continue;
        if ((unsigned)(block++ % EVERY) == chosen) {
            totals_step(stack, (int64_t[]){i + 1, calls[i].line}, 2);
            totals_step(sample, (int64_t[]){i + 1, EVERY}, 2);
        }
        if (block % EVERY == 0)
            chosen = below(EVERY);
    }
    totals_execute("COMMIT");
    sqlite3_finalize(stack);
    sqlite3_finalize(sample);
}

struct outcome {
    double worst_bias; /* of a line's mean estimate, in its standard errors */
    double covered;    /* how many estimates are within two standard errors */
    double near;       /* within a tenth, of lines of more than 2 % */
};

static void estimate(double shares[LINES + 1], double errors[LINES + 1])
{
    sqlite3_stmt *row = totals_prepare("SELECT coalesce(line, 0), share, error FROM gpu_lines");

    memset(shares, 0, sizeof(double) * (LINES + 1));
    memset(errors, 0, sizeof(double) * (LINES + 1));
    while (sqlite3_step(row) == SQLITE_ROW) {
        int line = sqlite3_column_int(row, 0);
        assert_in_range(line, 0, LINES);
        shares[line] = sqlite3_column_double(row, 1);
        errors[line] = sqlite3_column_double(row, 2);
    }
    sqlite3_finalize(row);
}

static struct outcome try_program(void (*program)(struct made_call *calls), bool backward)
{
    static struct made_call calls[CALLS];
    double truth[LINES + 1] = {0}, sum = 0, mean[LINES + 1] = {0}, square[LINES + 1] = {0};
    double shares[LINES + 1], errors[LINES + 1];
    struct outcome outcome = {0};
    int tried = 0, large = 0;

    program(calls);
    record(calls);
    if (backward)
        record_backward();
    for (int i = 0; i < CALLS; i++) {
        truth[calls[i].line] += calls[i].duration_ns;
        sum += calls[i].duration_ns;
    }
    for (int time = 0; time < TIMES; time++) {
        choose(calls);
        totals_keep();
        estimate(shares, errors);
        for (int line = 1; line <= LINES; line++) {
            double share = truth[line] / sum, off = shares[line] - share;
            if (share == 0)
                continue;
            mean[line] += off / TIMES;
            square[line] += off * off / TIMES;
            tried++;
            outcome.covered += fabs(off) <= 2 * errors[line] + 1e-4;
            large += share > 0.02;
            outcome.near += share > 0.02 && fabs(off) <= 0.1 * share;
        }
    }
    for (int line = 1; line <= LINES; line++) {
        double error = sqrt(square[line] / TIMES) + 1e-4;
        outcome.worst_bias = fmax(outcome.worst_bias, fabs(mean[line]) / error);
    }
    outcome.covered /= tried;
    outcome.near /= large > 0 ? large : 1;
    return outcome;
}

/* Layers, now and then with one more call: what a thread did before a call tells its line. */
static void layers(struct made_call *calls)
{
    static const struct made_call step[] = {{1, 1, 5000}, {2, 2, 2000}, {3, 1, 4000}, {4, 2, 2100},
                                            {5, 3, 900},  {6, 2, 2000}, {7, 4, 700},  {8, 1, 3000}};

    for (int i = 0, at = 0; i < CALLS; i++) {
        calls[i] = below(50) == 0 ? (struct made_call){9, 5, 300} : step[at++ % 8];
        calls[i].duration_ns += (int)below((unsigned)calls[i].duration_ns / 20);
    }
}

/* Nothing tells the lines apart. */
static void in_random_order(struct made_call *calls)
{
    for (int i = 0; i < CALLS; i++) {
        unsigned of = below(100);
        calls[i] = (struct made_call){of < 55 ? 1 : of < 85 ? 2 : of < 97 ? 3 : 4, 1, 2000};
    }
}

/* One kernel, again and again from one line after the other. */
static void in_runs(struct made_call *calls)
{
    for (int i = 0; i < CALLS; i++) {
        int at = i % 51;
        calls[i] = (struct made_call){at == 50  ? 0
                                      : at < 1  ? 1
                                      : at < 3  ? 2
                                      : at < 8  ? 3
                                      : at < 20 ? 4
                                                : 5,
                                      1, at == 50 ? 0 : 1500};
    }
}

/* A line whose calls all have something else before them, beside one whose calls do not. */
static void rare_in_many_places(struct made_call *calls)
{
    for (int i = 0; i < CALLS; i++)
        calls[i] = i % 12 < 2   ? (struct made_call){3, 2 + (int)below(4), 500}
                   : i % 12 < 3 ? (struct made_call){2, 1, 2000}
                                : (struct made_call){1, 1, 2000};
}

/* The same kernel from one line in a first phase, and from another line in the next. */
static void phases(struct made_call *calls)
{
    for (int i = 0; i < CALLS; i++)
        calls[i] = (struct made_call){i / 700 % 4 == 3 ? 2 : 1 + 2 * (i % 3 == 0), 1, 1800};
}

/* The same kernel takes longer from one line. */
static void durations(struct made_call *calls)
{
    for (int i = 0; i < CALLS; i++) {
        bool longer = below(4) == 0;
        calls[i] = (struct made_call){longer ? 1 : 2, 1, (longer ? 3000 : 1000) + (int)below(100)};
    }
}

static void estimates_are_right_on_average_and_know_their_error(void **state)
{
    static void (*const programs[])(struct made_call *) = {
        layers, in_random_order, in_runs, rare_in_many_places, phases, durations,
    };
    double covered = 0;

    (void)state;
    for (size_t i = 0; i < 8; i++) { /* the first two with a backward pass, too */
        struct outcome outcome = try_program(programs[i % 6], i >= 6);
        assert_true(outcome.worst_bias < 4);
        assert_true(outcome.covered > 0.8);
        covered += outcome.covered / 8;
    }
    assert_true(covered > 0.9);
}

/* A kernel in twelve layers, longer in each, and then twelve times from line 4, where it takes
 * longest. The first of these comes after the same calls as the others. */
static void a_duration_tells_the_line_if_no_call_was_chosen(void **state)
{
    static struct made_call calls[CALLS];
    double shares[LINES + 1], errors[LINES + 1], longer = 0, sum = 0;

    (void)state;
    for (int i = 0; i < CALLS; i++) {
        calls[i] = i % 48 >= 36 ? (struct made_call){4, 1, 1920}
                   : i % 3 == 0 ? (struct made_call){1, 1, 1040 + 20 * (i % 48)}
                                : (struct made_call){2, 1 + i % 3, 100};
        longer += calls[i].line == 4 ? calls[i].duration_ns : 0;
        sum += calls[i].duration_ns;
    }
    record(calls);
    choose(calls);
    totals_execute("DELETE FROM call_stack WHERE (call - 1) % 48 = 36;"
                   "DELETE FROM call_sample WHERE (call - 1) % 48 = 36");
    totals_keep();
    estimate(shares, errors);
    assert_true(fabs(shares[4] - longer / sum) < 0.001);
}

static int64_t gpu_ns_of(int line)
{
    char sql[96];

    snprintf(sql, sizeof(sql), "SELECT gpu_ns FROM gpu_lines WHERE line = %d", line);
    return totals_number(sql);
}

/* As with GPUVERIFY_STACKS=all. */
static void stacks_of_all_calls_are_the_truth(void **state)
{
    static struct made_call calls[CALLS];
    int64_t truth[LINES + 1] = {0};

    (void)state;
    in_random_order(calls);
    record(calls);
    for (int i = 0; i < CALLS; i++) {
        char sql[64];
        truth[calls[i].line] += calls[i].duration_ns;
        snprintf(sql, sizeof(sql), "INSERT INTO call_stack VALUES (%d, %d)", i + 1, calls[i].line);
        totals_execute(sql);
    }
    totals_keep();
    for (int line = 1; line <= 4; line++)
        assert_int_equal(gpu_ns_of(line), truth[line]);
    assert_int_equal(totals_number("SELECT max(error_ns) FROM gpu_line"), 0);
    assert_int_equal(totals_number("SELECT sum(samples) FROM gpu_lines"), CALLS);
}

/* A launch that waits 3 us behind another one, and one that the device waits 10 us for. */
static void a_line_has_its_queueing_and_the_idle_time_before(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel) VALUES"
        " (1, 1, 1, 1000, 500, 0, 1), (2, 1, 1, 2000, 500, 0, 2), (3, 1, 1, 15000, 500, 0, 3);"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call) VALUES"
        " (1, 1, 1, 1, 2000, 3000, 1), (2, 1, 1, 2, 5000, 2000, 2), (3, 1, 1, 3, 17000, 1000, 3);"
        "INSERT INTO call_stack VALUES (1, 1), (2, 2), (3, 3)");
    totals_keep();
    assert_int_equal(totals_number("SELECT queued_ns FROM gpu_lines WHERE line = 2"), 3000);
    assert_int_equal(totals_number("SELECT idle_ns FROM gpu_lines WHERE line = 2"), 0);
    assert_int_equal(totals_number("SELECT queued_ns FROM gpu_lines WHERE line = 3"), 2000);
    assert_int_equal(totals_number("SELECT idle_ns FROM gpu_lines WHERE line = 3"), 10000);
}

/* The second one waited for the first. */
static void what_a_graph_itself_runs_is_no_queue(void **state)
{
    (void)state;
    totals_execute("INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                   " (1, 1, 6, 1000, 500, 0);"
                   "INSERT INTO graph_node VALUES (1, 71, NULL, 2), (1, 72, NULL, 3);"
                   "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call, "
                   "graph_node) VALUES"
                   " (1, 1, 1, 1, 3000, 9000, 1, 71), (2, 1, 1, 2, 12000, 2000, 1, 72), (3, 1, 1, "
                   "3, 14000, 2000, 1, 73);"
                   "INSERT INTO call_stack VALUES (1, 1)");
    totals_keep();
    assert_int_equal(totals_number("SELECT queued_ns FROM gpu_lines WHERE line = 2"), 2000);
    assert_int_equal(totals_number("SELECT queued_ns FROM gpu_lines WHERE line = 3"), 0);
    assert_int_equal(totals_number("SELECT queued_ns FROM gpu_lines WHERE line = 1"), 0);
}

/* No call was chosen: the first launch of a site, or nothing. */
static void without_chosen_calls_other_stacks_say_what_they_can(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel) VALUES"
        " (1, 1, 1, 1000, 500, 0, 1), (2, 1, 1, 2000, 500, 0, 1), (3, 1, 1, 3000, 500, 0, 2);"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call) VALUES"
        " (1, 1, 1, 1, 2000, 3000, 1), (2, 1, 1, 1, 5000, 2000, 2), (3, 1, 1, 2, 7000, 900, 3);"
        "INSERT INTO call_stack VALUES (1, 1)");
    totals_keep();
    assert_int_equal(gpu_ns_of(1), 5000);
    assert_int_equal(totals_number("SELECT error_ns > 0 FROM gpu_line WHERE place IS NOT NULL"), 1);
    assert_int_equal(totals_number("SELECT gpu_ns FROM gpu_lines WHERE line IS NULL"), 900);
}

static void without_a_gpu_side_launches_are_estimated(void **state)
{
    (void)state;
    totals_execute("DELETE FROM gpu_place; UPDATE process SET gpu = 'off';"
                   "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100)"
                   " INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel)"
                   " SELECT n, 1, 1, n * 1000, 500, 0, 1 + n % 2 FROM n;"
                   "INSERT INTO call_stack SELECT id, 1 + id % 2 FROM call WHERE id % 7 = 0;"
                   "INSERT INTO call_sample SELECT call, 7 FROM call_stack");
    totals_keep();
    assert_int_equal(totals_number("SELECT launches FROM gpu_lines WHERE line = 1"), 50);
    assert_int_equal(totals_number("SELECT launches FROM gpu_lines WHERE line = 2"), 50);
    assert_int_equal(totals_number("SELECT count(*) FROM gpu_lines WHERE gpu_ns IS NOT NULL"), 0);
}

/* Two graphs in turn in the same memory; the launch is at another line. */
static void a_graph_names_the_line_that_captured_it(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, object) VALUES"
        " (1, 1, 3, 1000, 10, 0, 1, NULL), (2, 1, 4, 2000, 10, 0, 1, 100),"
        " (3, 1, 5, 3000, 10, 0, NULL, 500), (4, 1, 6, 4000, 10, 0, 1, 500),"
        " (5, 1, 3, 5000, 10, 0, 1, NULL), (6, 1, 4, 6000, 10, 0, 1, 100),"
        " (7, 1, 5, 7000, 10, 0, NULL, 500), (8, 1, 6, 8000, 10, 0, 1, 500);"
        "INSERT INTO call_object VALUES (3, 100), (7, 100);"
        "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call) VALUES"
        " (1, 1, 4, 4500, 300, 4), (2, 1, 4, 8500, 700, 8);"
        "INSERT INTO call_stack VALUES (1, 1), (4, 3), (5, 2), (8, 3)");
    totals_keep();
    assert_int_equal(
        totals_number("SELECT gpu_ns FROM gpu_lines WHERE line = 3 AND captured_line = 1"), 300);
    assert_int_equal(
        totals_number("SELECT gpu_ns FROM gpu_lines WHERE line = 3 AND captured_line = 2"), 700);
}

/* Launched in a random order, and all of the same duration; the one of line 3 has a stack only of
 * its first launch, which was not chosen. That of line 4 has none, and is like the others. */
static void graphs_are_told_apart(void **state)
{
    sqlite3_stmt *call = totals_prepare("INSERT INTO call (id, thread, api, start_ns, duration_ns,"
                                        " result, object) VALUES (?1, 1, 6, ?1 * 1000, 500, 0,"
                                        " 500 + ?2)");
    int64_t launches[5] = {0};

    (void)state;
    for (int64_t id = 1; id <= 2000; id++) {
        int64_t line = id == 2000 ? 4 : 1 + (int64_t)below(3);
        launches[line]++;
        totals_step(call, (int64_t[]){id, line}, 2);
    }
    sqlite3_finalize(call);
    totals_execute(
        "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call)"
        " SELECT id, 1, 4, start_ns + 600, 300, id FROM call;"
        "INSERT INTO call_stack SELECT id, object - 500 FROM call WHERE id % 20 = 7 AND object < "
        "503"
        " UNION ALL SELECT min(id), 3 FROM call WHERE object = 503;"
        "INSERT INTO call_sample SELECT id, 20 FROM call WHERE id % 20 = 7 AND object < 503");
    totals_keep();
    assert_in_range(gpu_ns_of(1), 300 * launches[1], 300 * launches[1] + 300);
    assert_in_range(gpu_ns_of(2), 300 * launches[2], 300 * launches[2] + 300);
    assert_int_equal(gpu_ns_of(3), 300 * launches[3]);
    assert_int_equal(totals_number("SELECT error > 0 FROM gpu_lines WHERE line = 3"), 1);
}

/* PyTorch's backward pass: no line of the program is on the stack. */
static void a_backward_pass_has_the_name_of_its_node(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel) VALUES"
        " (1, 1, 1, 1000, 500, 0, 1);"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call) VALUES"
        " (1, 1, 1, 1, 2000, 3000, 1);"
        "INSERT INTO stack VALUES (11, 1, 11); INSERT INTO call_stack VALUES (1, 11);"
        "INSERT INTO frame (stack, depth, kind, function, library) VALUES"
        " (11, 0, 'native', 'at::_ops::mul_Tensor::call(at::Tensor const&, at::Tensor const&)',"
        "  '/t/libtorch_cpu.so'),"
        " (11, 1, 'native', 'torch::autograd::generated::MulBackward0::apply(std::vector<"
        "at::Tensor>&&)', '/t/libtorch_cpu.so'),"
        " (11, 2, 'native', 'torch::autograd::Engine::thread_main(int)', '/t/libtorch_cpu.so')");
    totals_keep();
    assert_int_equal(totals_number("SELECT count(*) FROM gpu_lines WHERE function = 'MulBackward0'"
                                   " AND library LIKE '%libtorch_cpu.so' AND file IS NULL"),
                     1);
}

/* PyTorch's sequence numbers say which call made the node: of the line of 2, nothing is run. */
static void a_backward_pass_has_the_line_that_its_ranges_say(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO range_text (id, process, text) VALUES (1, 1, 'aten::mul, seq = 5, op_id = 1'),"
        " (2, 1, 'aten::rand, seq = 6, op_id = 2'), (3, 1, 'aten::relu, op_id = 3'),"
        " (4, 1, 'autograd::engine::evaluate_function: ExpandBackward0, op_id = 4'),"
        " (5, 1, 'ExpandBackward0, seq = 6, op_id = 5'),"
        " (6, 1, 'autograd::engine::evaluate_function: MulBackward0, op_id = 6'),"
        " (7, 1, 'MulBackward0, seq = 5, op_id = 7'), (8, 1, 'aten::mul, op_id = 8');"
        "INSERT INTO range (id, thread, kind, text, start_ns, parent) SELECT id, CASE WHEN id < 4"
        " THEN 1 ELSE 3 END, 1, id, 0, CASE WHEN id IN (3, 5, 7, 8) THEN id - 1 END FROM "
        "range_text;"
        "UPDATE range SET parent = 1 WHERE id = 3;"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel) VALUES"
        " (1, 1, 1, 1000, 5, 0, 1), (2, 1, 1, 2000, 5, 0, 2), (3, 3, 1, 3000, 5, 0, 3),"
        " (4, 3, 1, 4000, 5, 0, 4), (5, 3, 1, 5000, 5, 0, 5);"
        "INSERT INTO call_range VALUES (1, 1, 3), (1, 2, 2), (3, 3, 5), (3, 4, 8), (3, 5, 6);"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call)"
        " SELECT id, 1, 1, id, start_ns + 500, 1 << id, id FROM call;"
        "INSERT INTO call_stack VALUES (1, 1), (2, 2)");
    totals_keep();
    assert_int_equal(gpu_ns_of(1), (1 << 1) + (1 << 4) + (1 << 5));
    assert_int_equal(gpu_ns_of(2), 1 << 2);
    assert_int_equal(totals_number("SELECT gpu_ns FROM gpu_lines WHERE line IS NULL"), 1 << 3);
    assert_int_equal(totals_number("SELECT launches FROM gpu_lines WHERE line = 1"), 3);
}

static void impossible_rows_do_no_harm(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel, object) VALUES"
        " (-5, -1, 1, -9223372036854775808, 9223372036854775807, 0, -1, 0),"
        " (1, 99, 6, 9223372036854775807, -1, 0, 1, -1), (2, 1, 1, 0, 9223372036854775807, 0, 1, "
        "1),"
        " (9223372036854775807, 1, 1, 1, 1, 0, 1, 1);"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call, bytes, copy_kind)"
        " VALUES (1, 1, 77, -1, -9223372036854775808, 9223372036854775807, -5, -1, -1),"
        " (2, 1, -1, 99, 9223372036854775807, 9223372036854775807, 9223372036854775807, 1, 999),"
        " (3, 1, 1, 1, 0, 9223372036854775807, 2, 9223372036854775807, 1),"
        " (4, 1, 2, 1, 0, 9223372036854775807, -9223372036854775808, 5, 1);"
        "INSERT INTO call_stack VALUES (-5, -9), (1, 9223372036854775807), (2, 1), (7, 2);"
        "INSERT INTO call_sample VALUES (-5, -1), (2, 9223372036854775807), (7, 0);"
        "INSERT INTO call_object VALUES (1, -1), (2, 9223372036854775807);"
        "INSERT INTO range_text VALUES (1, 1, 1, 'autograd::engine::evaluate_function: , seq = "
        "-1');"
        "INSERT INTO range (id, thread, kind, text, start_ns, parent) VALUES (1, -1, 1, 1, 0, 2),"
        " (2, 1, 1, 1, 0, 1), (3, 1, 1, -1, 0, 9223372036854775807);"
        "INSERT INTO call_range VALUES (-1, -5, 1), (1, 2, 2), (1, 9223372036854775807, 3)");
    totals_keep();
    assert_int_equal(totals_number("SELECT count(*) FROM gpu_line WHERE gpu_ns < 0"
                                   " OR launches < 0 OR error_ns < 0"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define LINES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, totals_close)
        LINES_TEST(estimates_are_right_on_average_and_know_their_error),
        LINES_TEST(a_duration_tells_the_line_if_no_call_was_chosen),
        LINES_TEST(stacks_of_all_calls_are_the_truth),
        LINES_TEST(a_line_has_its_queueing_and_the_idle_time_before),
        LINES_TEST(what_a_graph_itself_runs_is_no_queue),
        LINES_TEST(without_chosen_calls_other_stacks_say_what_they_can),
        LINES_TEST(without_a_gpu_side_launches_are_estimated),
        LINES_TEST(a_graph_names_the_line_that_captured_it),
        LINES_TEST(graphs_are_told_apart),
        LINES_TEST(a_backward_pass_has_the_name_of_its_node),
        LINES_TEST(a_backward_pass_has_the_line_that_its_ranges_say),
        LINES_TEST(impossible_rows_do_no_harm),
    };

    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
