#include "report/analyse/idle/sums.h"

#include "report/analyse/idle/reason_words.h"
#include "report/analyse/names/stack_text.h"
#include "report/store/time_sum.h"
#include "report/analyse/time_union.h"
#include "report/analyse_idle_sums.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/key_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_WHERE_BYTES 4096

/* Short idle times of one line and one device. Which of them were at the same time as another
 * device's is not known: of the devices the one with the most counts. */
struct idle_group {
    size_t line;
    int64_t process, device;
    int64_t sum_ns;
};

struct idle_reader {
    sqlite3 *trace;
    struct gv_idle_sums *sums;
    struct gv_time_union *unions; /* of each line: idle times with a row of their own */
    struct gv_time_union all;
    /* The idle time whose parts are being read: a row for each reason, with its start or that of
     * the first call in it. */
    struct {
        int64_t process, device, start_ns, sum_ns;
    } whole;
    struct gv_key_map stack_numbers;
    char **wheres; /* by number - 1 */
    struct idle_group *groups;
    size_t where_count, where_room, group_count, group_room, line_room, union_room;
};

/* The line of a stack; "": none, or unknown. NULL: no memory. */
static const char *where_of(struct idle_reader *reader, int64_t stack)
{
    const struct gv_key key = {{(uint64_t)stack, 0, 0}};
    int64_t known = gv_key_map_find(&reader->stack_numbers, &key);
    char where[IDLE_WHERE_BYTES];

    if (known)
        return reader->wheres[known - 1];
    if (gv_array_room(&reader->wheres, reader->where_count, &reader->where_room,
                      sizeof(*reader->wheres)) ||
        gv_key_map_add(&reader->stack_numbers, &key, (int64_t)reader->where_count + 1))
        return NULL;
    if (stack == 0 || gv_stack_text(reader->trace, stack, 1, where, sizeof(where)))
        where[0] = '\0';
    return reader->wheres[reader->where_count++] = strdup(where);
}

struct gv_idle_line *gv_idle_sums_find(const struct gv_idle_sums *sums, const char *reason,
                                       const char *detail, const char *where)
{
    for (size_t i = 0; i < sums->count; i++)
        if (gv_idle_is_same_line(sums->lines[i].where, where) &&
            strcmp(sums->lines[i].reason, reason) == 0 &&
            (where[0] || strcmp(sums->lines[i].detail, detail) == 0))
            return &sums->lines[i];
    return NULL;
}

/* NULL: no memory. */
static struct gv_idle_line *line_of(struct idle_reader *reader, const char *reason,
                                    const char *detail, const char *where)
{
    struct gv_idle_sums *sums = reader->sums;
    struct gv_idle_line *line = gv_idle_sums_find(sums, reason, detail, where);

    if (line)
        return line;
    if (gv_array_room(&sums->lines, sums->count, &reader->line_room, sizeof(*sums->lines)) ||
        gv_array_room(&reader->unions, sums->count, &reader->union_room, sizeof(*reader->unions)))
        return NULL;
    reader->unions[sums->count] = (struct gv_time_union){0};
    line = &sums->lines[sums->count++];
    *line = (struct gv_idle_line){
        .reason = strdup(reason), .detail = strdup(detail), .where = strdup(where)};
    return line->reason && line->detail && line->where ? line : NULL;
}

static int add_group(struct idle_reader *reader, const struct idle_group *group)
{
    for (size_t i = 0; i < reader->group_count; i++) {
        struct idle_group *known = &reader->groups[i];
        if (known->line == group->line && known->process == group->process &&
            known->device == group->device) {
            known->sum_ns = gv_time_sum(known->sum_ns, group->sum_ns);
            return 0;
        }
    }
    int error = gv_array_room(&reader->groups, reader->group_count, &reader->group_room,
                              sizeof(*reader->groups));
    if (!error)
        reader->groups[reader->group_count++] = *group;
    return error;
}

static const char *text_of(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? text : "";
}

/* Adds the idle time whose parts were read. */
static void end_whole(struct idle_reader *reader)
{
    gv_time_union_add(&reader->all, reader->whole.start_ns,
                      gv_time_sum(reader->whole.start_ns, reader->whole.sum_ns));
    reader->whole.sum_ns = 0;
}

static void add_part(struct idle_reader *reader, int64_t process, int64_t device, int64_t start_ns,
                     int64_t duration_ns)
{
    /* Another idle time of the device starts later than that. */
    int64_t known_end_ns = gv_time_sum(reader->whole.start_ns, reader->whole.sum_ns);

    if (reader->whole.process != process || reader->whole.device != device ||
        start_ns >= known_end_ns) {
        end_whole(reader);
        reader->whole.process = process;
        reader->whole.device = device;
        reader->whole.start_ns = start_ns;
    }
    reader->whole.sum_ns = gv_time_sum(reader->whole.sum_ns, duration_ns);
}

static int take_row(void *context, sqlite3_stmt *row)
{
    struct idle_reader *reader = context;
    struct gv_idle_sums *sums = reader->sums;
    int64_t id = sqlite3_column_int64(row, 0), start_ns = gv_time_column(row, 3);
    int64_t process = sqlite3_column_int64(row, 1), device = sqlite3_column_int64(row, 2);
    int64_t duration_ns = gv_time_column_duration(row, 4), gaps = sqlite3_column_int64(row, 5);
    int64_t inside_ns = gv_time_column_duration(row, 11);
    const char *detail = text_of(row, 10);
    const char *where = where_of(reader, sqlite3_column_int64(row, 7));
    struct gv_idle_line *line = where ? line_of(reader, text_of(row, 9), detail, where) : NULL;

    if (!line)
        return -ENOMEM;
    size_t number = (size_t)(line - sums->lines);
    if (!line->first)
        line->first = id;
    if (duration_ns > line->longest_ns) {
        free(line->detail);
        free(line->where);
        line->detail = strdup(detail);
        line->where = strdup(where);
        if (!line->detail || !line->where)
            return -ENOMEM;
        line->longest = id;
        line->longest_ns = duration_ns;
    }
    line->total_ns = gv_time_sum(line->total_ns, duration_ns);
    line->inside_ns = gv_time_sum(line->inside_ns, inside_ns);
    line->gaps = gv_time_sum(line->gaps, gaps);
    line->samples = gv_time_sum(line->samples, sqlite3_column_int64(row, 6));
    line->inferred |= sqlite3_column_int(row, 8) != 0;
    sums->inferred |= line->inferred;
    sums->total_ns = gv_time_sum(sums->total_ns, duration_ns);
    sums->inside_ns = gv_time_sum(sums->inside_ns, inside_ns);
    sums->rows++;
    if (gaps <= 1) {
        gv_time_union_add(&reader->unions[number], start_ns, gv_time_sum(start_ns, duration_ns));
        add_part(reader, process, device, start_ns, duration_ns);
        return 0;
    }
    return add_group(
        reader, &(struct idle_group){
                    .line = number, .process = process, .device = device, .sum_ns = duration_ns});
}

/* Adds to each line the most that one device has in short idle times; and to the sum of all. */
static void add_groups(struct idle_reader *reader)
{
    struct gv_idle_sums *sums = reader->sums;
    int64_t all_ns = 0;

    for (size_t i = 0; i < sums->count; i++) {
        int64_t most_ns = 0;
        for (size_t j = 0; j < reader->group_count; j++)
            if (reader->groups[j].line == i && reader->groups[j].sum_ns > most_ns)
                most_ns = reader->groups[j].sum_ns;
        sums->lines[i].saves_ns = gv_time_sum(reader->unions[i].sum_ns, most_ns);
        if (sums->lines[i].saves_ns > sums->run_ns)
            sums->lines[i].saves_ns = sums->run_ns;
        all_ns = gv_time_sum(all_ns, most_ns);
    }
    sums->saves_ns = gv_time_sum(reader->all.sum_ns, all_ns);
    if (sums->saves_ns > sums->run_ns)
        sums->saves_ns = sums->run_ns;
}

static int compare_lines(const void *left, const void *right)
{
    const struct gv_idle_line *one = left, *other = right;
    bool unknown = strcmp(one->reason, "unknown") == 0;

    if (unknown != (strcmp(other->reason, "unknown") == 0))
        return unknown ? 1 : -1;
    if (one->saves_ns != other->saves_ns)
        return one->saves_ns > other->saves_ns ? -1 : 1;
    return one->first < other->first ? -1 : one->first > other->first;
}

int gv_idle_sums_read(sqlite3 *trace, const struct gv_totals_part *part, struct gv_idle_sums *sums)
{
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns,
                              part->device};
    struct idle_reader reader = {.trace = trace, .sums = sums};
    int error;

    memset(sums, 0, sizeof(*sums));
    error = gv_database_number(trace, sql_run, values, 4, &sums->run_ns);
    if (part->ranges)
        sums->run_ns = gv_range_choice_own_ns(part->ranges);
    if (!error)
        error = gv_database_number(trace, sql_samples, NULL, 0, &sums->samples);
    if (!error)
        error = gv_database_each(trace, sql_rows, values, 5, take_row, &reader);
    if (!error) {
        end_whole(&reader);
        add_groups(&reader);
    }
    if (!error && sums->count)
        qsort(sums->lines, sums->count, sizeof(*sums->lines), compare_lines);
    for (size_t i = 0; i < reader.where_count; i++)
        free(reader.wheres[i]);
    free(reader.wheres);
    gv_key_map_free(&reader.stack_numbers);
    free(reader.unions);
    free(reader.groups);
    return error;
}

void gv_idle_sums_free(struct gv_idle_sums *sums)
{
    for (size_t i = 0; i < sums->count; i++) {
        free(sums->lines[i].reason);
        free(sums->lines[i].detail);
        free(sums->lines[i].where);
    }
    free(sums->lines);
    memset(sums, 0, sizeof(*sums));
}

const char *gv_idle_sums_lack(const struct gv_idle_sums *sums)
{
    if (sums->samples > 0 || sums->rows == 0)
        return NULL;
    return "no looks at the program's threads were recorded (GPUVERIFY_IDLE_HZ=0, an earlier"
           " version, or a short run)";
}
