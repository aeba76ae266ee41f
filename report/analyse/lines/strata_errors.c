/*
 * Standard errors of the estimate. In each node, chosen calls say which lines its time is of; that
 * few of them agree proves little. So what calls beside each other usually agree on counts too: how
 * often two chosen calls of a node, at this depth of the tree, are of different lines.
 */
#include "report/analyse/lines/strata.h"

#include "report/store/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define GV_STRATA_DEPTHS (GV_STRATA_DEPTH + 1)

/* A line in a node. */
struct share {
    size_t node, line;
    double gpu;  /* estimated */
    double odds; /* of the time of parts without a chosen call */
    int64_t chosen;
};

struct node_sums {
    double gpu;          /* estimated, of all lines */
    double agreeing;     /* pairs of chosen calls */
    double once, square; /* of a class: see spread() */
};

struct errors_run {
    struct gv_strata *strata;
    double *squares;
    struct node_sums *sums;
    struct share *shares;
    size_t share_count, share_room;
    struct gv_key_map numbers;
    double prior[GV_STRATA_DEPTHS]; /* how many chosen calls the prior counts for */
};

static int share_of(struct errors_run *run, size_t node, size_t line, size_t *share)
{
    const struct gv_key key = {{node, line, 0}};
    int64_t number = gv_key_map_find(&run->numbers, &key);
    int error;

    *share = (size_t)number - 1;
    if (number)
        return 0;
    error = gv_array_room(&run->shares, run->share_count, &run->share_room, sizeof(*run->shares));
    if (error)
        return error;
    *share = run->share_count++;
    run->shares[*share] = (struct share){.node = node, .line = line};
    return gv_key_map_add(&run->numbers, &key, (int64_t)*share + 1);
}

/* Adds an entry to its cell and to all nodes above it. */
static int take_entry(struct errors_run *run, const struct gv_strata_entry *entry, size_t line)
{
    const struct gv_strata_node *nodes = run->strata->nodes, *cell = &nodes[entry->cell];
    double part =
        cell->chosen_gpu > 0 ? entry->gpu / cell->chosen_gpu : entry->calls / cell->chosen_calls;
    double gpu = part * (cell->direct.gpu + 1e-3);
    int error = 0;

    for (size_t node = entry->cell; node != GV_STRATA_NONE && !error; node = nodes[node].above) {
        size_t share;
        error = share_of(run, node, line, &share);
        if (error)
            break;
        run->shares[share].gpu += gpu;
        run->shares[share].chosen += entry->chosen;
        run->sums[node].gpu += gpu;
        if (node == entry->cell)
            run->shares[share].odds += gpu * gv_strata_odds(&cell->direct);
    }
    return error;
}

/* A cell whose line is that of its group, or a node of calls that do the same. It says nothing of
 * other cells. */
static int take_group(struct errors_run *run, size_t cell, size_t line)
{
    size_t share;
    int error = share_of(run, cell, line, &share);

    if (error)
        return error;
    run->shares[share].gpu = run->sums[cell].gpu = run->strata->nodes[cell].direct.gpu + 1e-3;
    return 0;
}

/* What each node stands for in the node above it. */
static int take_odds(struct errors_run *run)
{
    const struct gv_strata_node *nodes = run->strata->nodes;
    int error = 0;

    for (size_t i = 0; i < run->share_count && !error; i++) {
        const struct share of = run->shares[i];
        size_t above = nodes[of.node].above, share;
        if (above == GV_STRATA_NONE || !nodes[of.node].all.chosen)
            continue;
        error = share_of(run, above, of.line, &share);
        if (!error)
            run->shares[share].odds += of.gpu * gv_strata_odds(&nodes[of.node].all);
    }
    return error;
}

/* Of a node: how likely two of its chosen calls are of different lines. */
static double disagreement(const struct errors_run *run, size_t node)
{
    double chosen = (double)run->strata->nodes[node].all.chosen;

    return chosen < 2 ? 0 : 1 - run->sums[node].agreeing / (chosen * (chosen - 1));
}

static void find_priors(struct errors_run *run)
{
    double within[GV_STRATA_DEPTHS] = {0}, among[GV_STRATA_DEPTHS] = {0};
    double weights[GV_STRATA_DEPTHS] = {0};

    for (size_t i = 0; i < run->share_count; i++) {
        double chosen = (double)run->shares[i].chosen;
        run->sums[run->shares[i].node].agreeing += chosen * (chosen - 1);
    }
    for (size_t i = 0; i < run->strata->node_count; i++) {
        const struct gv_strata_node *node = &run->strata->nodes[i];
        double weight = (double)node->all.chosen - 1;
        if (weight < 1)
            continue;
        weights[node->depth] += weight;
        within[node->depth] += weight * disagreement(run, i);
        among[node->depth] += weight * disagreement(run, node->class);
    }
    run->prior[0] = fmin(fmax((within[0] + 0.5) / (weights[0] + 1), 0.01), 1);
    for (unsigned i = 1; i < GV_STRATA_DEPTHS; i++) {
        double of_class = weights[i] > 0 ? among[i] / weights[i] : 0;
        double of_node = (within[i] + 0.5 * of_class) / (weights[i] + 1);
        run->prior[i] = of_class > of_node ? fmin(fmax(of_node / (of_class - of_node), 0.02), 100)
                        : weights[i] > 0   ? 100
                                           : 1;
    }
}

/* An amount that was divided among lines, and by what. */
struct division {
    double amount;
    double units; /* it consists of so many equal parts */
    double calls; /* chosen calls, or as many equal parts as say the same */
    double prior;
};

static double equal_parts(double sum, double squares)
{
    return squares > 0 ? fmax(sum * sum / squares, 1) : 1;
}

static struct division division_of_cell(const struct errors_run *run,
                                        const struct gv_strata_node *node)
{
    const struct gv_strata_part *part = &node->direct;

    if (node->row != GV_STRATA_NONE)
        return (struct division){
            .amount = node->row_gpu,
            .units = 1, /* all its calls are of that line, or of another one */
            .calls = (double)node->row_chosen,
            .prior = run->prior[node->depth < GV_STRATA_DEPTH ? 1 : 2],
        };
    return (struct division){
        .amount = part->chosen ? part->amounts[GV_STRATA_GPU] : 0,
        .units = fmax(part->calls - (double)part->chosen, 1),
        .calls = (double)part->chosen,
        .prior = run->prior[node->depth],
    };
}

static struct division division_of_lack(const struct errors_run *run,
                                        const struct gv_strata_node *node)
{
    double lacking = node->lacking[GV_STRATA_GPU];

    return (struct division){
        .amount = node->all.chosen ? lacking : 0,
        .units = equal_parts(lacking, node->lacking_squared),
        .calls = equal_parts(node->odds[GV_STRATA_BY_TIME], node->odds_squared),
        .prior = run->prior[node->depth],
    };
}

/* The mean square error of a line's part of it; `usual` is its part in the class. The chosen calls
 * may say something wrong, and the rest may be other than what they say. */
static double square_error(const struct division *of, double part, double usual)
{
    double mean = (of->calls * part + of->prior * usual) / (of->calls + of->prior);
    double variance = mean * (1 - mean);

    return of->amount * of->amount *
           (variance / (of->calls + of->prior + 1) + variance / of->units +
            (part - mean) * (part - mean));
}

/* The same for all lines of the class that have no part of it. */
static void spread(struct node_sums *class, const struct division *of)
{
    double part = of->prior / (of->calls + of->prior);
    double variance = 1 / (of->calls + of->prior + 1) + 1 / of->units;

    class->once += of->amount * of->amount * part * variance;
    class->square += of->amount * of->amount * part * part * (1 - variance);
}

static double usual_part(const struct errors_run *run, size_t class, double gpu)
{
    double chosen = (double)run->strata->nodes[class].all.chosen;

    return run->sums[class].gpu > 0 ? gpu / run->sums[class].gpu * chosen / (chosen + run->prior[0])
                                    : 0;
}

static void spread_nodes(struct errors_run *run)
{
    for (size_t i = 0; i < run->strata->node_count; i++) {
        const struct gv_strata_node *node = &run->strata->nodes[i];
        const struct division cell = division_of_cell(run, node);
        const struct division lack = division_of_lack(run, node);

        if (cell.amount > 0)
            spread(&run->sums[node->class], &cell);
        if (lack.amount > 0)
            spread(&run->sums[node->class], &lack);
    }
}

static void add_share(struct errors_run *run, const struct share *share, double usual)
{
    const struct gv_strata_node *node = &run->strata->nodes[share->node];
    const struct node_sums *sums = &run->sums[share->node];
    const struct division cell = division_of_cell(run, node);
    const struct division lack = division_of_lack(run, node);
    double *square = &run->squares[share->line];

    if (cell.amount > 0)
        *square +=
            square_error(&cell, share->gpu / sums->gpu, usual) - square_error(&cell, 0, usual);
    if (lack.amount > 0)
        *square +=
            square_error(&lack, fmin(share->odds / node->odds[GV_STRATA_BY_TIME], 1), usual) -
            square_error(&lack, 0, usual);
    if (node->above == GV_STRATA_NONE)
        *square += sums->once * usual + sums->square * usual * usual;
}

static int add_shares(struct errors_run *run)
{
    for (size_t i = 0; i < run->share_count; i++) {
        const struct share *share = &run->shares[i];
        size_t class = run->strata->nodes[share->node].class, of_class;
        int error = share_of(run, class, share->line, &of_class);
        if (error)
            return error;
        add_share(run, share, usual_part(run, class, run->shares[of_class].gpu));
    }
    return 0;
}

int gv_strata_errors(struct gv_strata *strata, gv_strata_line *line_of, const void *context,
                     double *squares)
{
    struct errors_run run = {.strata = strata, .squares = squares};
    int error = 0;

    run.sums = calloc(strata->node_count + 1, sizeof(*run.sums));
    if (!run.sums)
        error = -ENOMEM;
    for (size_t i = 0; i < strata->entry_count && !error; i++)
        if (strata->entries[i].chosen)
            error = take_entry(&run, &strata->entries[i],
                               line_of(context, &strata->rows[strata->entries[i].row]));
    for (size_t i = 0; i < strata->node_count && !error; i++)
        if (strata->nodes[i].row != GV_STRATA_NONE)
            error = take_group(&run, i, line_of(context, &strata->rows[strata->nodes[i].row]));
    if (!error)
        error = take_odds(&run);
    if (!error) {
        find_priors(&run);
        spread_nodes(&run);
        error = add_shares(&run);
    }
    /* Nothing was chosen at random: nobody knows, so half of it. */
    for (size_t i = 0; i < strata->row_count && !error; i++)
        if (!strata->nodes[strata->rows[i].class].all.chosen)
            squares[line_of(context, &strata->rows[i])] +=
                pow(strata->rows[i].estimate[GV_STRATA_GPU] / 2, 2);
    free(run.sums);
    free(run.shares);
    gv_key_map_free(&run.numbers);
    return error;
}
