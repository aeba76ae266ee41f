#include "report/collect/live.h"

#include "report/store/time_sum.h"
#include "trace/mix.h"

#include <string.h>

enum live_way { LIVE_SUM, LIVE_THING, LIVE_FACT };

static const struct {
    uint32_t most;
    enum live_way way;
} live_kinds[GV_LIVE_KINDS] = {
#define GV_LIVE(name, most, way) {most, LIVE_##way},
#include "report/collect/live.def"
};

const char *const gv_live_names[GV_LIVE_KINDS] = {
#define GV_LIVE(name, most, way) #name,
#include "report/collect/live.def"
};

/* A thread is one thing whatever it does, and so is what a device tells. */
static bool is_named_by_one(enum gv_live_kind kind)
{
    return kind == GV_LIVE_thread || kind == GV_LIVE_gpu ||
           (live_kinds[kind].way == LIVE_FACT && live_kinds[kind].most == 1);
}

uint64_t gv_live_hash(enum gv_live_kind kind, const char *one, const char *two)
{
    uint64_t hash = gv_mix(0, kind);

    if (live_kinds[kind].most > 1)
        hash = gv_mix_bytes(hash, one, strnlen(one, GV_LIVE_TEXT_BYTES - 1));
    if (!is_named_by_one(kind) && two && *two)
        hash = gv_mix_bytes(hash, two, strnlen(two, GV_LIVE_TEXT_BYTES - 1));
    return hash | 1;
}

struct gv_live_row *gv_live_row_of(struct gv_live *live, uint64_t hash)
{
    const struct gv_key key = {{hash}};
    int64_t index = gv_key_map_find(&live->rows, &key);

    return index ? &live->page.rows[index - 1] : NULL;
}

/* What changed longest ago makes room. */
static struct gv_live_row *oldest_of(struct gv_live *live, enum gv_live_kind kind)
{
    struct gv_live_row *oldest = NULL;

    for (uint32_t i = 0; i < live->page.count; i++) {
        struct gv_live_row *row = &live->page.rows[i];
        if (strcmp(row->kind, gv_live_names[kind]) == 0 && (!oldest || row->at_ns < oldest->at_ns))
            oldest = row;
    }
    if (oldest) {
        const struct gv_key key = {{live->hashes[oldest - live->page.rows]}};
        gv_key_map_remove(&live->rows, &key);
    }
    return oldest;
}

static struct gv_live_row *new_row(struct gv_live *live, enum gv_live_kind kind, uint64_t hash,
                                   const char *one, const char *two)
{
    const struct gv_key key = {{hash}};
    struct gv_live_row *row;

    if (live->kind_count[kind] < live_kinds[kind].most && live->page.count < GV_LIVE_ROWS) {
        row = &live->page.rows[live->page.count++];
        live->kind_count[kind]++;
    } else if (live_kinds[kind].way != LIVE_THING || !(row = oldest_of(live, kind))) {
        return NULL;
    }
    size_t index = (size_t)(row - live->page.rows);
    memset(row, 0, sizeof(*row));
    memset(live->marks[index], 0, sizeof(live->marks[index]));
    strncpy(row->kind, gv_live_names[kind], sizeof(row->kind) - 1);
    gv_live_text(row->one, one);
    gv_live_text(row->two, two);
    live->hashes[index] = hash;
    return gv_key_map_add(&live->rows, &key, (int64_t)index + 1) == 0 ? row : NULL;
}

struct gv_live_row *gv_live_find(struct gv_live *live, enum gv_live_kind kind, const char *one,
                                 const char *two)
{
    uint64_t hash = gv_live_hash(kind, one, two);
    struct gv_live_row *row = gv_live_row_of(live, hash);

    if (!row) {
        /* The last place of a sum is for all that come later. */
        if (live_kinds[kind].way == LIVE_SUM &&
            live->kind_count[kind] + 1 >= live_kinds[kind].most) {
            one = "others";
            two = two ? "others" : NULL;
            hash = gv_live_hash(kind, one, two);
            row = gv_live_row_of(live, hash);
        }
        if (!row)
            row = new_row(live, kind, hash, one, two);
    }
    if (row) {
        row->at_ns = live->page.now_ns;
        if (!row->kind[0])
            strncpy(row->kind, gv_live_names[kind], sizeof(row->kind) - 1);
        if (is_named_by_one(kind)) {
            gv_live_text(row->one, one);
            gv_live_text(row->two, two);
        }
    }
    return row;
}

void gv_live_rows_index(struct gv_live *live)
{
    gv_key_map_free(&live->rows);
    memset(live->kind_count, 0, sizeof(live->kind_count));
    memset(live->marks, 0, sizeof(live->marks));
    for (uint32_t i = 0; i < live->page.count; i++) {
        struct gv_live_row *row = &live->page.rows[i];
        for (int kind = 0; kind < GV_LIVE_KINDS; kind++) {
            if (strcmp(row->kind, gv_live_names[kind]) != 0)
                continue;
            live->hashes[i] = gv_live_hash((enum gv_live_kind)kind, row->one, row->two);
            const struct gv_key key = {{live->hashes[i]}};
            live->kind_count[kind]++;
            if (!gv_key_map_find(&live->rows, &key))
                gv_key_map_add(&live->rows, &key, (int64_t)i + 1);
        }
    }
}

void gv_live_add(struct gv_live_row *row, int64_t count, int64_t ns)
{
    if (!row)
        return;
    row->count = gv_time_sum(row->count, count);
    row->ns = gv_time_sum(row->ns, ns > 0 ? ns : 0);
}

void gv_live_longest(struct gv_live_row *row, int64_t at_ns, int64_t ns)
{
    if (!row)
        return;
    row->count++;
    row->at_ns = at_ns;
    if (ns > row->ns)
        row->ns = ns;
}

void gv_live_ask(const struct gv_live *live, const char *sql, int64_t number, char *out,
                 size_t size)
{
    sqlite3_stmt *row = NULL;

    if (gv_database_ask(live->trace, sql, &number, 1, &row) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
        snprintf(out, size, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}
