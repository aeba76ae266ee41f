#include "report/analyse/scaled/estimate.h"

#include "report/store/array.h"
#include "trace/mix.h"

#include <math.h>
#include <stdbool.h>

#define NONE SIZE_MAX

static size_t group_of(size_t window)
{
    return window % GV_ESTIMATE_GROUPS;
}

void gv_estimate_window(struct gv_estimate *estimate, size_t window)
{
    estimate->windows++;
    estimate->groups[group_of(window)] = 1;
}

/* ---- nodes, rows and entries ---- */

static int find_node(struct gv_estimate *estimate, const struct gv_estimate_call *call,
                     size_t *node)
{
    uint64_t path = 0;

    *node = NONE;
    for (unsigned depth = 0; depth < GV_ESTIMATE_DEPTH; depth++) {
        path = gv_mix(path, call->keys[depth]);
        const struct gv_key key = {{path, depth, 0}};
        int64_t number = gv_key_map_find(&estimate->node_numbers, &key);
        int error = 0;
        if (!number && depth > 0 && estimate->node_count >= GV_ESTIMATE_NODES)
            return 0;
        if (!number)
            error = gv_array_room(&estimate->nodes, estimate->node_count, &estimate->node_room,
                                  sizeof(*estimate->nodes));
        if (!number && !error) {
            estimate->nodes[estimate->node_count] = (struct gv_estimate_node){
                .above = *node, .depth = depth, .kernel = call->kernel, .api = call->api};
            number = (int64_t)++estimate->node_count;
            error = gv_key_map_add(&estimate->node_numbers, &key, number);
        }
        if (error)
            return error;
        *node = (size_t)number - 1;
    }
    return 0;
}

static int find_row(struct gv_estimate *estimate, const struct gv_estimate_work *work, size_t *row)
{
    const struct gv_key key = {{(uint64_t)work->kind, (uint64_t)work->number, 0}};
    int64_t number = gv_key_map_find(&estimate->row_numbers, &key);
    int error;

    *row = (size_t)number - 1;
    if (number)
        return 0;
    error = gv_array_room(&estimate->rows, estimate->row_count, &estimate->row_room,
                          sizeof(*estimate->rows));
    if (error)
        return error;
    *row = estimate->row_count++;
    estimate->rows[*row] = (struct gv_estimate_row){.kind = work->kind, .number = work->number};
    return gv_key_map_add(&estimate->row_numbers, &key, (int64_t)*row + 1);
}

static int find_entry(struct gv_estimate *estimate, size_t node, size_t row, size_t device,
                      size_t *entry)
{
    const struct gv_key key = {{node, row, device}};
    int64_t number = gv_key_map_find(&estimate->entry_numbers, &key);
    int error;

    *entry = (size_t)number - 1;
    if (number)
        return 0;
    error = gv_array_room(&estimate->entries, estimate->entry_count, &estimate->entry_room,
                          sizeof(*estimate->entries));
    if (error)
        return error;
    *entry = estimate->entry_count++;
    estimate->entries[*entry] =
        (struct gv_estimate_entry){.node = node, .row = row, .device = device};
    return gv_key_map_add(&estimate->entry_numbers, &key, (int64_t)*entry + 1);
}

/* ---- calls ---- */

static void give_device(struct gv_estimate *estimate, const struct gv_estimate_row *row,
                        size_t device, double busy_ns, double own_ns)
{
    struct gv_estimate_device *of =
        &estimate->devices[device < GV_ESTIMATE_DEVICES ? device : GV_ESTIMATE_DEVICES - 1];
    bool copies = row->kind == 2 || row->kind == 3;

    of->busy_ns += busy_ns;
    *(copies ? &of->copying_ns : &of->computing_ns) += own_ns;
}

/* Also says which row it is of. */
static int take_work(struct gv_estimate *estimate, const struct gv_estimate_work *work, size_t *row)
{
    int error = find_row(estimate, work, row);

    if (error)
        return error;
    for (size_t i = 0; i < GV_ESTIMATE_AMOUNTS; i++)
        estimate->rows[*row].known[i] += (double)work->amounts[i];
    give_device(estimate, &estimate->rows[*row], work->device,
                (double)work->amounts[GV_ESTIMATE_BUSY], (double)work->amounts[GV_ESTIMATE_OWN]);
    return 0;
}

int gv_estimate_take(struct gv_estimate *estimate, const struct gv_estimate_work *work)
{
    size_t row;

    return take_work(estimate, work, &row);
}

static int add_work(struct gv_estimate *estimate, const struct gv_estimate_call *call,
                    const struct gv_estimate_work *work, size_t node, size_t root)
{
    size_t row, entry, all;
    int error = take_work(estimate, work, &row);

    if (!error)
        error = find_entry(estimate, root, row, work->device, &all);
    if (!error)
        error = find_entry(estimate, node, row, work->device, &entry);
    if (error)
        return error;
    for (size_t i = 0; i < GV_ESTIMATE_AMOUNTS; i++) {
        double amount = (double)work->amounts[i];
        estimate->entries[all].known[i] += amount;
        if (call->known != GV_ESTIMATE_SAMPLED)
            continue;
        estimate->entries[entry].sums[i] += amount;
        if (i < GV_ESTIMATE_ERRORS)
            estimate->entries[entry].by_group[i][group_of(call->window)] += amount;
    }
    return 0;
}

int gv_estimate_add(struct gv_estimate *estimate, const struct gv_estimate_call *call)
{
    size_t node, root;
    int error = find_node(estimate, call, &node);

    if (error)
        return error;
    for (root = node; estimate->nodes[root].above != NONE;)
        root = estimate->nodes[root].above;
    struct gv_estimate_node *of = &estimate->nodes[node];
    if (call->known == GV_ESTIMATE_UNSEEN) {
        of->unseen += call->size;
        of->calls++;
        return 0;
    }
    estimate->nodes[root].known += call->size;
    if (call->known == GV_ESTIMATE_SAMPLED) {
        of->size += call->size;
        of->sizes[group_of(call->window)] += call->size;
    }
    for (size_t i = 0; i < call->count && !error; i++)
        error = add_work(estimate, call, &call->works[i], node, root);
    return error;
}

/* ---- the estimate ---- */

static bool is_thin(const struct gv_estimate_node *node)
{
    unsigned groups = 0;

    for (size_t i = 0; i < GV_ESTIMATE_GROUPS; i++)
        groups += node->sizes[i] > 0;
    return groups < GV_ESTIMATE_FEW;
}

static void merge_node(struct gv_estimate_node *above, struct gv_estimate_node *node)
{
    above->unseen += node->unseen;
    above->calls += node->calls;
    above->size += node->size;
    for (size_t i = 0; i < GV_ESTIMATE_GROUPS; i++)
        above->sizes[i] += node->sizes[i];
    node->unseen = node->size = 0;
    node->calls = 0;
}

/* Entries are made before their node's is merged, so one pass over them is enough if the deepest
 * come first. */
static int merge_entries(struct gv_estimate *estimate, unsigned depth, const bool *merged)
{
    size_t count = estimate->entry_count, above;
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        const struct gv_estimate_entry from = estimate->entries[i];
        const struct gv_estimate_node *node = &estimate->nodes[from.node];
        if (node->depth != depth || !merged[from.node])
            continue;
        error = find_entry(estimate, node->above, from.row, from.device, &above);
        for (size_t a = 0; a < GV_ESTIMATE_AMOUNTS && !error; a++)
            estimate->entries[above].sums[a] += from.sums[a];
        for (size_t a = 0; a < GV_ESTIMATE_ERRORS && !error; a++)
            for (size_t g = 0; g < GV_ESTIMATE_GROUPS; g++)
                estimate->entries[above].by_group[a][g] += from.by_group[a][g];
    }
    return error;
}

static int merge_thin(struct gv_estimate *estimate, bool *merged)
{
    int error = 0;

    for (unsigned depth = GV_ESTIMATE_DEPTH - 1; depth > 0 && !error; depth--) {
        for (size_t i = 0; i < estimate->node_count; i++) {
            struct gv_estimate_node *node = &estimate->nodes[i];
            if (node->depth != depth || !is_thin(node))
                continue;
            merged[i] = true;
            merge_node(&estimate->nodes[node->above], node);
        }
        error = merge_entries(estimate, depth, merged);
    }
    return error;
}

/* How the estimate changes without the windows of each group. The calls that were not seen vary by
 * themselves, too: that counts if they are few. */
static void add_changes(const struct gv_estimate_node *node, const struct gv_estimate_entry *entry,
                        enum gv_estimate_amount amount, double *changes)
{
    double mean = entry->sums[amount] / node->size;
    double both = sqrt(1 + node->size / node->unseen);

    for (size_t g = 0; g < GV_ESTIMATE_GROUPS; g++)
        if (node->sizes[g] > 0 && node->sizes[g] < node->size)
            changes[g] += both * node->unseen *
                          (entry->by_group[amount][g] - mean * node->sizes[g]) /
                          (node->size - node->sizes[g]);
}

static void predict(struct gv_estimate *estimate, const struct gv_estimate_entry *entry)
{
    const struct gv_estimate_node *node = &estimate->nodes[entry->node];
    struct gv_estimate_row *row = &estimate->rows[entry->row];
    /* Of thin ones, only the first level is left. */
    bool thin = is_thin(node), sampled = node->size > 0;
    double size = sampled ? node->size : node->known, amounts[GV_ESTIMATE_AMOUNTS];

    if (!(node->unseen > 0) || !(size > 0))
        return;
    for (size_t i = 0; i < GV_ESTIMATE_AMOUNTS; i++) {
        amounts[i] = (sampled ? entry->sums[i] : entry->known[i]) / size * node->unseen;
        row->unseen[i] += amounts[i];
    }
    give_device(estimate, row, entry->device, amounts[GV_ESTIMATE_BUSY], amounts[GV_ESTIMATE_OWN]);
    if (thin) {
        row->doubt_ns += amounts[GV_ESTIMATE_NS];
        estimate->busy_doubt_ns = hypot(estimate->busy_doubt_ns, amounts[GV_ESTIMATE_BUSY]);
        return;
    }
    add_changes(node, entry, GV_ESTIMATE_NS, row->changes);
    add_changes(node, entry, GV_ESTIMATE_BUSY, estimate->busy_changes);
}

static int add_unknown(struct gv_estimate *estimate, const struct gv_estimate_node *node)
{
    int error = gv_array_room(&estimate->unknown, estimate->unknown_count, &estimate->unknown_room,
                              sizeof(*estimate->unknown));

    if (!error)
        estimate->unknown[estimate->unknown_count++] =
            (struct gv_estimate_unknown){node->kernel, node->api, node->calls};
    return error;
}

int gv_estimate_solve(struct gv_estimate *estimate)
{
    bool *merged = calloc(estimate->node_count + 1, sizeof(*merged));
    int error = merged ? 0 : -ENOMEM;

    if (!error)
        error = merge_thin(estimate, merged);
    for (size_t i = 0; i < estimate->entry_count && !error; i++)
        predict(estimate, &estimate->entries[i]);
    for (size_t i = 0; i < estimate->node_count && !error; i++) {
        const struct gv_estimate_node *node = &estimate->nodes[i];
        if (node->above == NONE && node->calls > 0 && !(node->known > 0))
            error = add_unknown(estimate, node);
    }
    free(merged);
    return error;
}

/* ---- results ---- */

const struct gv_estimate_row *gv_estimate_row_of(const struct gv_estimate *estimate, int64_t kind,
                                                 int64_t number)
{
    const struct gv_key key = {{(uint64_t)kind, (uint64_t)number, 0}};
    int64_t found = gv_key_map_find(&estimate->row_numbers, &key);

    return found ? &estimate->rows[found - 1] : NULL;
}

/* How much wider the interval of 95 % is than that of many windows: Student's t, by its expansion,
 * which is good from three degrees of freedom on. */
static double widened(unsigned freedom)
{
    double n = freedom > 3 ? freedom : 3;

    return (1.96 + 2.372 / n + 2.822 / (n * n) + 2.556 / (n * n * n) + 1.59 / (n * n * n * n)) /
           1.96;
}

static double error_of(const struct gv_estimate *estimate, const double *changes, double doubt_ns)
{
    double squares = 0;
    unsigned groups = 0, all = 0;

    for (size_t g = 0; g < GV_ESTIMATE_GROUPS; g++) {
        squares += changes[g] * changes[g];
        groups += changes[g] != 0;
        all += estimate->groups[g];
    }
    if (all < 2)
        return doubt_ns;
    return hypot(sqrt(squares * (all - 1) / all) * widened(groups > 0 ? groups - 1 : 0), doubt_ns);
}

double gv_estimate_row_error(const struct gv_estimate *estimate, const struct gv_estimate_row *row)
{
    return error_of(estimate, row->changes, row->doubt_ns);
}

double gv_estimate_busy_error(const struct gv_estimate *estimate)
{
    return error_of(estimate, estimate->busy_changes, estimate->busy_doubt_ns);
}

void gv_estimate_free(struct gv_estimate *estimate)
{
    free(estimate->nodes);
    free(estimate->entries);
    free(estimate->rows);
    free(estimate->unknown);
    gv_key_map_free(&estimate->node_numbers);
    gv_key_map_free(&estimate->entry_numbers);
    gv_key_map_free(&estimate->row_numbers);
    *estimate = (struct gv_estimate){0};
}
