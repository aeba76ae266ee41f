/*
 * The nodes of PyTorch's backward pass, as torch.autograd.profiler.emit_nvtx() says them:
 *
 *   aten::mul, seq = 5, op_id = 1                  around the call of the forward pass
 *   autograd::engine::evaluate_function: MulBackward0, op_id = 7
 *     MulBackward0, seq = 5, op_id = 8             inside it, around the work of the node
 *
 * A call that makes no node says the number of the next one, so the names must agree, too.
 */
#include "report/analyse/lines/pass.h"
#include "report/analyse/lines/run.h"

#include "report/analyse_lines_lines.inc"
#include "report/store/database.h"
#include "report/store/time_sum.h"
#include "trace/mix.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER   ", seq = "
#define EVALUATE "autograd::engine::evaluate_function: "

/* More than there are from a launch to the operation that makes or runs the node. */
#define LEVELS 16

enum range_column {
    RANGE_THREAD,
    RANGE_CALL,
    RANGE_ID,
    RANGE_START,
};

/* "mul", of aten::mul_ and of MulBackward0. */
static uint64_t hash_name(const char *name, const char *end)
{
    static const char backward[] = "backward", forward[] = "_forward";
    uint64_t hash = 1;

    for (const char *at = name; at < end; at++)
        if (at[0] == ':')
            name = at + 1;
    if ((size_t)(end - name) > strlen(forward) &&
        strncmp(end - strlen(forward), forward, strlen(forward)) == 0)
        end -= strlen(forward);
    for (; name < end && strncasecmp(name, backward, strlen(backward)) != 0; name++)
        if (*name != '_')
            hash = gv_mix(hash, (uint64_t)tolower((unsigned char)*name));
    return hash;
}

/* Its last bits are those of its number: nodes that follow each other have slots of their own. 0:
 * the text says none. */
static uint64_t node_of_text(const char *text, uint64_t process)
{
    const char *number = strstr(text, NUMBER);
    uint64_t sequence = number ? strtoull(number + strlen(NUMBER), NULL, 10) : 0;
    uint64_t node = number ? gv_mix(gv_mix(hash_name(text, number), process), sequence) : 0;

    return number ? (node | 1) * GV_LINES_CALLS + sequence % GV_LINES_CALLS : 0;
}

/* The text and the parent of a range, or nothing. */
static int ask(sqlite3_stmt *statement, int64_t range)
{
    sqlite3_reset(statement);
    sqlite3_bind_int64(statement, 1, range);
    return sqlite3_step(statement);
}

static const char *text_of(sqlite3_stmt *row)
{
    const char *text = (const char *)sqlite3_column_text(row, 0);

    return text ? text : "";
}

/* That of the innermost range around a call that says one; what the engine does after the node, in
 * the same range as it, is the node's. */
static int find_node(struct gv_lines *lines, int64_t range, struct gv_lines_thread *thread,
                     uint64_t process)
{
    int result = SQLITE_ROW;

    thread->node = 0;
    thread->runs_node = false;
    for (int i = 0; i < LEVELS && range > 0 && !thread->runs_node && result == SQLITE_ROW; i++) {
        uint64_t made = thread->node;
        result = ask(lines->range, range);
        if (result != SQLITE_ROW)
            break;
        thread->runs_node = strncmp(text_of(lines->range), EVALUATE, strlen(EVALUATE)) == 0;
        if (thread->runs_node && !made && (result = ask(lines->first_inside, range)) == SQLITE_ROW)
            thread->node = node_of_text(text_of(lines->first_inside), process);
        else if (!made)
            thread->node = node_of_text(text_of(lines->range), process);
        range = made ? 0 : sqlite3_column_int64(lines->range, 1);
    }
    sqlite3_reset(lines->range);
    sqlite3_reset(lines->first_inside);
    return gv_database_error(lines->trace, result);
}

static int next_range(struct gv_lines *lines)
{
    int result = sqlite3_step(lines->ranges);

    lines->range_call =
        result == SQLITE_ROW ? sqlite3_column_int64(lines->ranges, RANGE_CALL) : INT64_MAX;
    lines->range_ns = result == SQLITE_ROW ? gv_time_column(lines->ranges, RANGE_START) : INT64_MAX;
    return gv_database_error(lines->trace, result);
}

int gv_lines_nodes_open(struct gv_lines *lines)
{
    int error = gv_database_error(
        lines->trace, sqlite3_prepare_v2(lines->trace, sql_range, -1, &lines->range, NULL));

    if (!error)
        error = gv_database_error(lines->trace, sqlite3_prepare_v2(lines->trace, sql_first_inside,
                                                                   -1, &lines->first_inside, NULL));
    if (!error)
        error = gv_database_error(
            lines->trace, sqlite3_prepare_v2(lines->trace, sql_ranges, -1, &lines->ranges, NULL));
    lines->range_ns = lines->range_call = INT64_MIN;
    return error;
}

int gv_lines_nodes_read(struct gv_lines *lines, int64_t start_ns, int64_t call)
{
    int error = 0;

    /* No row is read before the first call: others need that. */
    while (!error && (lines->range_ns < start_ns ||
                      (lines->range_ns == start_ns && lines->range_call <= call))) {
        int64_t thread = sqlite3_column_int64(lines->ranges, RANGE_THREAD);
        if (lines->range_call != INT64_MIN)
            error = find_node(lines, sqlite3_column_int64(lines->ranges, RANGE_ID),
                              gv_lines_thread_of(lines, thread),
                              (uint64_t)gv_id_table_get(&lines->process_of, thread, 0));
        if (!error)
            error = next_range(lines);
    }
    return error;
}

void gv_lines_nodes_take(struct gv_lines *lines, struct gv_lines_call *call)
{
    const struct gv_lines_thread *thread = gv_lines_thread_of(lines, call->thread);

    if (thread->node && thread->runs_node)
        call->node = thread->node;
    else if (thread->node)
        lines->nodes[thread->node % GV_LINES_CALLS] =
            (struct gv_lines_node){thread->node, call->id};
}

const struct gv_lines_call *gv_lines_forward(const struct gv_lines *lines,
                                             const struct gv_lines_call *call)
{
    const struct gv_lines_node *node = &lines->nodes[call->node % GV_LINES_CALLS];
    const struct gv_lines_call *forward = &lines->known[(uint64_t)node->call % GV_LINES_CALLS];

    return call->node && node->node == call->node && forward->id == node->call ? forward : NULL;
}
