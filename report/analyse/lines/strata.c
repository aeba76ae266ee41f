#include "report/analyse/lines/strata.h"

#include "report/store/time_sum.h"
#include "report/store/array.h"
#include "trace/mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the items ---- */

static int node_add(struct gv_strata *strata, size_t above, size_t class, size_t *number)
{
    int error = gv_array_room(&strata->nodes, strata->node_count, &strata->node_room,
                              sizeof(*strata->nodes));

    if (error)
        return error;
    *number = strata->node_count++;
    strata->nodes[*number] = (struct gv_strata_node){
        .above = above, .class = class, .last_call = -1, .row = GV_STRATA_NONE};
    if (above != GV_STRATA_NONE)
        strata->nodes[*number].depth = strata->nodes[above].depth + 1;
    return 0;
}

int gv_strata_class(struct gv_strata *strata, size_t *class)
{
    return node_add(strata, GV_STRATA_NONE, strata->node_count, class);
}

/* The node at one depth. */
static struct gv_key key_at(size_t class, uint64_t path, unsigned depth)
{
    return (struct gv_key){{class, path, depth}};
}

/* Makes the nodes that are missing; as many of a path as there is room for, so that coarse ones can
 * always be made. */
static int cell_add(struct gv_strata *strata, size_t class, const uint64_t paths[GV_STRATA_DEPTH],
                    size_t *cell)
{
    int error = 0;

    *cell = class;
    for (unsigned i = 0; i < GV_STRATA_DEPTH && !error; i++) {
        const struct gv_key key = key_at(class, paths[i], i);
        int64_t number = gv_key_map_find(&strata->node_numbers, &key);
        size_t above = *cell;
        if (number) {
            *cell = (size_t)number - 1;
            continue;
        }
        if (strata->node_numbers.used >= GV_STRATA_NODES - GV_STRATA_NODES / 10 * i)
            break;
        error = node_add(strata, above, class, cell);
        if (!error)
            error = gv_key_map_add(&strata->node_numbers, &key, (int64_t)*cell + 1);
    }
    return error;
}

/* The cell of an item; or what is above it, if there is no room for a new one. */
static int cell_of(struct gv_strata *strata, const struct gv_strata_item *item, size_t *cell)
{
    uint64_t paths[GV_STRATA_DEPTH], path = 0;

    for (unsigned i = 0; i < GV_STRATA_DEPTH; i++)
        paths[i] = path = gv_mix(path, item->keys[i]);
    const struct gv_key key = key_at(item->class, path, GV_STRATA_DEPTH - 1);
    int64_t number = gv_key_map_find(&strata->node_numbers, &key);

    *cell = (size_t)number - 1;
    int error = number ? 0 : cell_add(strata, item->class, paths, cell);
    if (!error && !number && strata->nodes[*cell].depth == GV_STRATA_DEPTH)
        strata->nodes[*cell].group = (struct gv_key){
            {item->class,
             gv_mix(gv_mix(item->keys[0], item->keys[1]), item->keys[GV_STRATA_DEPTH - 1]), 1}};
    return error;
}

static int row_of(struct gv_strata *strata, size_t class, int64_t stack, size_t *row)
{
    const struct gv_key key = {{class, (uint64_t)stack, 0}};
    int64_t number = gv_key_map_find(&strata->row_numbers, &key);
    int error;

    *row = (size_t)number - 1;
    if (number)
        return 0;
    error =
        gv_array_room(&strata->rows, strata->row_count, &strata->row_room, sizeof(*strata->rows));
    if (error)
        return error;
    *row = strata->row_count++;
    strata->rows[*row] = (struct gv_strata_row){.class = class, .stack = stack, .last_call = -1};
    return gv_key_map_add(&strata->row_numbers, &key, (int64_t)*row + 1);
}

static int note_own(struct gv_strata *strata, size_t cell, size_t row,
                    const struct gv_strata_item *item, bool again)
{
    const struct gv_key key = {{cell, row, 0}};
    struct gv_strata_node *node = &strata->nodes[cell];
    int64_t number = gv_key_map_find(&strata->entry_numbers, &key);
    int error = 0;

    if (!number) {
        if (strata->entry_count >= GV_STRATA_ENTRIES)
            return 0; /* it counts for itself only */
        error = gv_array_room(&strata->entries, strata->entry_count, &strata->entry_room,
                              sizeof(*strata->entries));
        if (error)
            return error;
        strata->entries[strata->entry_count++] = (struct gv_strata_entry){.cell = cell, .row = row};
        number = (int64_t)strata->entry_count;
        error = gv_key_map_add(&strata->entry_numbers, &key, number);
    }
    struct gv_strata_entry *entry = &strata->entries[number - 1];
    double gpu = item->one_of * (double)item->amounts[GV_STRATA_GPU];

    if (item->known == GV_STRATA_OWN) {
        entry->others += !again;
        return error;
    }
    entry->gpu += gpu;
    node->chosen_gpu += gpu;
    if (again)
        return error;
    entry->calls += item->one_of;
    entry->chosen++;
    node->chosen_calls += item->one_of;
    node->direct.chosen++;
    return error;
}

int gv_strata_add(struct gv_strata *strata, const struct gv_strata_item *item)
{
    size_t cell, row = 0;
    int error = cell_of(strata, item, &cell);

    if (!error && item->known != GV_STRATA_NOTHING)
        error = row_of(strata, item->class, item->stack, &row);
    if (error)
        return error;

    struct gv_strata_node *node = &strata->nodes[cell];
    struct gv_strata_row *of = item->known != GV_STRATA_NOTHING ? &strata->rows[row] : NULL;
    bool again = node->last_call == item->call;

    node->last_call = item->call;
    if (item->known != GV_STRATA_OWN) {
        node->direct.gpu += (double)item->amounts[GV_STRATA_GPU];
        node->direct.calls += !again;
        node->direct.chance += again ? 0 : item->chance;
    }
    if (item->known != GV_STRATA_NOTHING) {
        of->guesses += of->last_call != item->call;
        of->samples += of->last_call != item->call && item->known != GV_STRATA_OTHER;
        of->last_call = item->call;
    }
    if (item->known >= GV_STRATA_OWN) {
        for (int i = 0; i < GV_STRATA_AMOUNTS; i++)
            of->amounts[i] = gv_time_sum(of->amounts[i], item->amounts[i]);
        return note_own(strata, cell, row, item, again);
    }
    for (int i = 0; i < GV_STRATA_AMOUNTS; i++) {
        node->direct.amounts[i] += (double)item->amounts[i];
        if (item->known == GV_STRATA_OTHER)
            of->guessed[i] += (double)item->amounts[i];
    }
    return 0;
}

/* ---- the estimate ---- */

double gv_strata_odds(const struct gv_strata_part *part)
{
    return 1 / expm1(fmin(fmax(part->chance, 1e-6), 600));
}

static enum gv_strata_measure measure_of(int amount)
{
    return amount == GV_STRATA_GPU || amount == GV_STRATA_ERROR ? GV_STRATA_BY_TIME
                                                                : GV_STRATA_BY_CALLS;
}

/* Never 0. */
static double weight_of(const struct gv_strata_part *part, enum gv_strata_measure measure)
{
    return (measure == GV_STRATA_BY_TIME ? part->gpu : part->calls) + 1e-3;
}

static void part_sum(struct gv_strata_node *above, const struct gv_strata_part *part)
{
    double odds = gv_strata_odds(part);

    for (int i = 0; i < GV_STRATA_AMOUNTS; i++) {
        above->all.amounts[i] += part->amounts[i];
        if (!part->chosen)
            above->lacking[i] += part->amounts[i];
    }
    for (int i = 0; i < GV_STRATA_MEASURES && part->chosen; i++) {
        above->odds[i] += odds * weight_of(part, i);
        above->weights[i] += weight_of(part, i);
    }
    if (part->chosen)
        above->odds_squared += pow(odds * weight_of(part, GV_STRATA_BY_TIME), 2);
    else
        above->lacking_squared += pow(part->amounts[GV_STRATA_GPU], 2);
    above->all.gpu += part->gpu;
    above->all.calls += part->calls;
    above->all.chance += part->chance;
    above->all.chosen += part->chosen;
}

/* What a part with chosen calls gets of those beside it that have none, and of what the node above
 * got in the same way. */
static void part_extra(const struct gv_strata_node *above, const struct gv_strata_part *part,
                       double extra[GV_STRATA_AMOUNTS])
{
    double odds = gv_strata_odds(part);

    for (int i = 0; i < GV_STRATA_AMOUNTS; i++) {
        enum gv_strata_measure by = measure_of(i);
        extra[i] = above->lacking[i] * odds * weight_of(part, by) / above->odds[by] +
                   above->extra[i] * weight_of(part, by) / above->weights[by];
    }
}

static void share_cell(struct gv_strata *strata, const struct gv_strata_entry *entry)
{
    const struct gv_strata_node *node = &strata->nodes[entry->cell];
    double calls = entry->calls / node->chosen_calls;
    double gpu = node->chosen_gpu > 0 ? entry->gpu / node->chosen_gpu : calls;
    double *estimate = strata->rows[entry->row].estimate, extra[GV_STRATA_AMOUNTS];

    part_extra(node, &node->direct, extra);

    for (int i = 0; i < GV_STRATA_AMOUNTS; i++)
        estimate[i] += (node->direct.amounts[i] + extra[i]) *
                       (measure_of(i) == GV_STRATA_BY_TIME ? gpu : calls);
}

struct class_guess {
    int64_t guesses;
    double guessed[GV_STRATA_AMOUNTS];
};

/* A class without a chosen call: each call whose stack is known, also if it is that of another call
 * of its site, stands for the same part of the rest. */
static void guess_row(const struct gv_strata_node *class, const struct class_guess *sum,
                      struct gv_strata_row *row)
{
    for (int i = 0; i < GV_STRATA_AMOUNTS; i++)
        row->estimate[i] = row->guessed[i] + (class->all.amounts[i] - sum->guessed[i]) *
                                                 (double)row->guesses / (double)sum->guesses;
}

/* A class of which no stack is known. */
static int guess_nothing(struct gv_strata *strata, size_t class)
{
    size_t row;
    int error = row_of(strata, class, 0, &row);

    for (int i = 0; i < GV_STRATA_AMOUNTS && !error; i++)
        strata->rows[row].estimate[i] = strata->nodes[class].all.amounts[i];
    return error;
}

static int guess(struct gv_strata *strata)
{
    struct class_guess *sums = calloc(strata->node_count + 1, sizeof(*sums));
    int error = sums ? 0 : -ENOMEM;

    for (size_t i = 0; i < strata->row_count && !error; i++) {
        const struct gv_strata_row *row = &strata->rows[i];
        sums[row->class].guesses += row->guesses;
        for (int k = 0; k < GV_STRATA_AMOUNTS; k++)
            sums[row->class].guessed[k] += row->guessed[k];
    }
    for (size_t i = 0; i < strata->row_count && !error; i++) {
        struct gv_strata_row *row = &strata->rows[i];
        if (!strata->nodes[row->class].all.chosen)
            guess_row(&strata->nodes[row->class], &sums[row->class], row);
    }
    for (size_t i = 0; i < strata->node_count && !error; i++)
        if (strata->nodes[i].above == GV_STRATA_NONE && !strata->nodes[i].all.chosen &&
            !sums[i].guesses)
            error = guess_nothing(strata, i);
    free(sums);
    return error;
}

/* What rounding takes from a row goes to the next one, so that the sums stay. */
static void round_rows(struct gv_strata *strata)
{
    double carry[GV_STRATA_AMOUNTS] = {0};

    for (size_t i = 0; i < strata->row_count; i++) {
        struct gv_strata_row *row = &strata->rows[i];
        for (int k = 0; k < GV_STRATA_AMOUNTS; k++) {
            double exact = fmin(fmax(row->estimate[k], 0), 9e18) + carry[k];
            int64_t rounded = llround(exact);
            carry[k] = exact - (double)rounded;
            row->amounts[k] = gv_time_sum(row->amounts[k], rounded);
        }
    }
}

/* ---- groups ---- */

struct group {
    size_t row; /* GV_STRATA_NONE: several */
    int64_t chosen;
};

/* A group with fewer chosen calls may be of several lines. */
#define GV_STRATA_AGREED 8
/* A cell with fewer calls than this part of the largest beside it holds calls of that one's line
 * that took longer by chance. */
#define GV_STRATA_SATELLITE 4

/* Of each node: the calls of the largest cell below it. */
static double *largest_cells(const struct gv_strata *strata)
{
    double *largest = calloc(strata->node_count + 1, sizeof(*largest));

    for (size_t i = 0; i < strata->node_count && largest; i++)
        if (strata->nodes[i].depth == GV_STRATA_DEPTH)
            largest[strata->nodes[i].above] =
                fmax(largest[strata->nodes[i].above], strata->nodes[i].direct.calls);
    return largest;
}

static int find_groups(const struct gv_strata *strata, struct gv_key_map *numbers,
                       struct group *groups, size_t *count)
{
    int error = 0;

    for (size_t i = 0; i < strata->entry_count && !error; i++) {
        const struct gv_strata_entry *entry = &strata->entries[i];
        const struct gv_strata_node *cell = &strata->nodes[entry->cell];
        int64_t number;

        if (cell->depth < GV_STRATA_DEPTH || !entry->chosen)
            continue;
        number = gv_key_map_find(numbers, &cell->group);
        if (!number) {
            groups[*count] = (struct group){.row = entry->row};
            number = (int64_t)(*count += 1);
            error = gv_key_map_add(numbers, &cell->group, number);
        }
        groups[number - 1].chosen += entry->chosen;
        if (groups[number - 1].row != entry->row)
            groups[number - 1].row = GV_STRATA_NONE;
    }
    return error;
}

static int follow_groups(struct gv_strata *strata)
{
    struct group *groups = calloc(strata->entry_count + 1, sizeof(*groups));
    double *largest = largest_cells(strata);
    struct gv_key_map numbers = {0};
    size_t count = 0;
    int error = groups && largest ? find_groups(strata, &numbers, groups, &count) : -ENOMEM;

    for (size_t i = 0; i < strata->node_count && !error; i++) {
        struct gv_strata_node *cell = &strata->nodes[i];
        int64_t number;

        if (cell->depth < GV_STRATA_DEPTH || cell->direct.chosen ||
            cell->direct.calls * GV_STRATA_SATELLITE < largest[cell->above])
            continue;
        number = gv_key_map_find(&numbers, &cell->group);
        if (!number || groups[number - 1].row == GV_STRATA_NONE ||
            groups[number - 1].chosen < GV_STRATA_AGREED)
            continue;
        cell->row = groups[number - 1].row;
        cell->row_chosen = groups[number - 1].chosen;
        cell->row_gpu = cell->direct.amounts[GV_STRATA_GPU];
        for (int k = 0; k < GV_STRATA_AMOUNTS; k++) {
            strata->rows[cell->row].estimate[k] += cell->direct.amounts[k];
            cell->direct.amounts[k] = 0; /* nothing is left to be divided */
        }
    }
    gv_key_map_free(&numbers);
    free(groups);
    free(largest);
    return error;
}

/* ---- calls that do the same ---- */

/* Of a node: how many calls below it have a stack of their own. */
struct own {
    int64_t chosen, all;
    size_t row; /* of one of them; GV_STRATA_NONE: they are of several lines */
    int64_t place;
};

static int find_own(const struct gv_strata *strata, gv_strata_place *place_of, void *context,
                    struct own *own)
{
    int error = 0;

    for (size_t i = 0; i < strata->entry_count && !error; i++) {
        const struct gv_strata_entry *entry = &strata->entries[i];
        int64_t place = 0;
        error = place_of(context, strata->rows[entry->row].stack, &place);
        for (size_t node = entry->cell; node != GV_STRATA_NONE; node = strata->nodes[node].above) {
            if (!own[node].all) {
                own[node].row = entry->row;
                own[node].place = place;
            }
            if (own[node].place != place)
                own[node].row = GV_STRATA_NONE;
            own[node].chosen += entry->chosen;
            own[node].all += entry->chosen + entry->others;
        }
    }
    return error;
}

/* A class without a chosen call is guessed as a whole. */
static void follow_own(struct gv_strata *strata, struct gv_strata_node *node, const struct own *own,
                       const struct own *class)
{
    if (own->chosen || !own->all || own->row == GV_STRATA_NONE || !class->chosen)
        return;
    node->row = own->row;
    node->row_chosen = own->all;
    node->row_gpu = node->all.amounts[GV_STRATA_GPU];
    for (int k = 0; k < GV_STRATA_AMOUNTS; k++) {
        strata->rows[node->row].estimate[k] += node->all.amounts[k];
        node->all.amounts[k] = 0; /* nothing is left to be divided */
    }
}

int gv_strata_solve(struct gv_strata *strata, gv_strata_place *place_of, void *context)
{
    struct own *own = calloc(strata->node_count + 1, sizeof(*own));
    int error = own ? find_own(strata, place_of, context, own) : -ENOMEM;

    if (!error)
        error = follow_groups(strata);
    for (size_t i = strata->node_count; i-- > 0 && !error;) {
        struct gv_strata_node *node = &strata->nodes[i];
        part_sum(node, &node->direct);
        if (node->depth == 1)
            follow_own(strata, node, &own[i], &own[node->above]);
        if (node->above != GV_STRATA_NONE)
            part_sum(&strata->nodes[node->above], &node->all);
    }
    free(own);
    if (error)
        return error;
    for (size_t i = 0; i < strata->node_count; i++) {
        struct gv_strata_node *node = &strata->nodes[i];
        if (node->above != GV_STRATA_NONE && node->all.chosen)
            part_extra(&strata->nodes[node->above], &node->all, node->extra);
    }
    for (size_t i = 0; i < strata->entry_count; i++)
        if (strata->entries[i].chosen)
            share_cell(strata, &strata->entries[i]);
    error = guess(strata);
    if (!error)
        round_rows(strata);
    return error;
}

void gv_strata_free(struct gv_strata *strata)
{
    gv_key_map_free(&strata->node_numbers);
    gv_key_map_free(&strata->entry_numbers);
    gv_key_map_free(&strata->row_numbers);
    free(strata->nodes);
    free(strata->entries);
    free(strata->rows);
    memset(strata, 0, sizeof(*strata));
}
