/*
 * Standard errors of the estimate. In each node, chosen calls say which lines its time is of; that
 * few of them agree proves little. So what calls beside each other usually agree on counts too: how
 * often two chosen calls of a node, at this depth of the tree, are of different lines.
 */
#include "report/analyse/lines/strata_tree.h"

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

/* What each node stands for in the node above it. */
static int take_odds(struct errors_run *run)
{
    const struct gv_strata_node *nodes = run->strata->nodes;
    int error = 0;

    for (size_t i = 0; i < run->share_count && !error; i++) {
        const struct share of = run->shares[i];
        size_t above = nodes[of.node].above, share;
        if (above == GV_STRATA_NONE)
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

/*
 * The mean square error of `part` of an amount of 1, where `calls` chosen calls say so, and `usual`
 * is the line's part in the class.
 */
static double square_error(double part, double usual, double calls, double prior)
{
    double mean = (calls * part + prior * usual) / (calls + prior);

    return mean * (1 - mean) / (calls + prior + 1) + (part - mean) * (part - mean);
}

/* The same for lines of the class that no chosen call is of: part is 0. */
static void spread(struct node_sums *class, double amount, double calls, double prior)
{
    double part = prior / (calls + prior);

    class->once += amount * amount * part / (calls + prior + 1);
    class->square += amount * amount * part * part * (1 - 1 / (calls + prior + 1));
}

/* As many equal parts as have the same mean square error. */
static double calls_of_odds(const struct gv_strata_node *node)
{
    double odds = node->odds[GV_STRATA_GPU];

    return node->odds_squared > 0 ? fmax(odds * odds / node->odds_squared, 1) : 1;
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
        struct node_sums *class = &run->sums[node->class];
        double prior = run->prior[node->depth];
        if (node->direct.chosen)
            spread(class, node->direct.amounts[GV_STRATA_GPU], (double)node->direct.chosen, prior);
        if (node->all.chosen)
            spread(class, node->lacking[GV_STRATA_GPU], calls_of_odds(node), prior);
    }
}

static void add_share(struct errors_run *run, const struct share *share, double usual)
{
    const struct gv_strata_node *node = &run->strata->nodes[share->node];
    const double amounts[] = {node->direct.chosen ? node->direct.amounts[GV_STRATA_GPU] : 0,
                              node->lacking[GV_STRATA_GPU]};
    const double calls[] = {(double)node->direct.chosen, calls_of_odds(node)};
    const double parts[] = {
        run->sums[share->node].gpu > 0 ? share->gpu / run->sums[share->node].gpu : 0,
        fmin(share->odds / node->odds[GV_STRATA_GPU], 1),
    };
    double prior = run->prior[node->depth];

    for (int i = 0; i < 2; i++)
        if (amounts[i] > 0)
            run->squares[share->line] += amounts[i] * amounts[i] *
                                         (square_error(parts[i], usual, calls[i], prior) -
                                          square_error(0, usual, calls[i], prior));
    if (node->above == GV_STRATA_NONE) {
        const struct node_sums *class = &run->sums[share->node];
        run->squares[share->line] += class->once * usual + class->square * usual * usual;
    }
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
        error = take_entry(&run, &strata->entries[i],
                           line_of(context, &strata->rows[strata->entries[i].row]));
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
