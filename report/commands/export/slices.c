#include "report/commands/export/slices.h"

#include "report/store/time_sum.h"
#include "report/store/array.h"

/* Printable, and nothing that JSON or HTML would escape. */
const char gv_slices_digits[] = "#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQR"
                                "STUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~! ";
_Static_assert(sizeof(gv_slices_digits) == 2 * GV_SLICES_HALF + 1, "two digits for each value");

/* ---- a bounded number of them ---- */

static int slices_compare(const void *left, const void *right)
{
    const struct gv_slice *one = left, *other = right;

    if (one->track != other->track)
        return one->track < other->track ? -1 : 1;
    return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

/* Whether the stretch of time in which `last` begins takes `slice` in as well. */
static bool slices_belong(const struct gv_slice *last, const struct gv_slice *slice,
                          unsigned int shift)
{
    int64_t stretch_ns = INT64_C(1) << shift;

    return last->track == slice->track && last->start_ns >> shift == slice->start_ns >> shift &&
           last->duration_ns < stretch_ns && slice->duration_ns < stretch_ns;
}

static void slices_take(struct gv_slice *into, const struct gv_slice *slice)
{
    int64_t end_ns = gv_time_sum(into->start_ns, into->duration_ns);
    int64_t other_ns = gv_time_sum(slice->start_ns, slice->duration_ns);

    if (slice->busy_ns / (float)slice->count > into->busy_ns / (float)into->count) {
        into->name = slice->name;
        into->id = slice->id;
        into->link = slice->link;
    }
    into->duration_ns = (other_ns > end_ns ? other_ns : end_ns) - into->start_ns;
    into->count = into->count > UINT32_MAX - slice->count ? UINT32_MAX : into->count + slice->count;
    into->busy_ns += slice->busy_ns;
}

void gv_slices_merge(struct gv_slices *slices)
{
    const unsigned int first_shift = 10, last_shift = 62;
    size_t kept = 0;

    if (slices->merged_shift < last_shift)
        slices->merged_shift = slices->merged_shift ? slices->merged_shift + 1 : first_shift;
    for (size_t i = 0; i < slices->count; i++) {
        struct gv_slice *slice = &slices->list[i];
        if (kept > 0 && slices_belong(&slices->list[kept - 1], slice, slices->merged_shift))
            slices_take(&slices->list[kept - 1], slice);
        else
            slices->list[kept++] = *slice;
    }
    slices->count = kept;
}

void gv_slices_sort(struct gv_slices *slices)
{
    if (slices->count > 0)
        qsort(slices->list, slices->count, sizeof(slices->list[0]), slices_compare);
    if (slices->merged_shift) {
        slices->merged_shift--; /* what was added since is merged like the rest */
        gv_slices_merge(slices);
    }
}

int gv_slices_add(struct gv_slices *slices, const struct gv_slice *slice)
{
    if (slices->count == GV_SLICES_MOST) {
        gv_slices_sort(slices);
        while (slices->count > GV_SLICES_MOST / 4 * 3)
            gv_slices_merge(slices);
    }
    if (gv_array_room(&slices->list, slices->count, &slices->room, sizeof(*slice)))
        return -ENOMEM;
    slices->list[slices->count++] = *slice;
    return 0;
}

void gv_slices_free(struct gv_slices *slices)
{
    free(slices->list);
    *slices = (struct gv_slices){0};
}

/* ---- as text ---- */

static void slices_digit(struct gv_slices_text *text, unsigned int digit)
{
    if (!text->error)
        text->error = gv_array_room(&text->bytes, text->count, &text->room, 1);
    if (!text->error)
        text->bytes[text->count++] = gv_slices_digits[digit];
}

static void slices_number(struct gv_slices_text *text, uint64_t number)
{
    for (; number >= GV_SLICES_HALF; number = number / GV_SLICES_HALF - 1)
        slices_digit(text, GV_SLICES_HALF + (unsigned int)(number % GV_SLICES_HALF));
    slices_digit(text, (unsigned int)number);
}

static uint64_t slices_folded(int64_t number)
{
    return number < 0 ? ~((uint64_t)number << 1) : (uint64_t)number << 1;
}

static uint64_t slices_units(int64_t ns)
{
    const int64_t half = (INT64_C(1) << GV_SLICES_UNIT_SHIFT) / 2;

    return (uint64_t)(gv_time_sum(ns > 0 ? ns : 0, half) >> GV_SLICES_UNIT_SHIFT);
}

static unsigned int slices_share(double part, double whole)
{
    return part >= whole ? GV_SLICES_HALF - 1
                         : (unsigned int)(part / whole * (GV_SLICES_HALF - 1) + 0.5);
}

/* What comes before a slice or a group in its sequence. */
struct slices_before {
    uint64_t start;
    int64_t id, link;
};

static int64_t slices_step(int64_t now, int64_t before)
{
    return (int64_t)((uint64_t)now - (uint64_t)before);
}

static void slices_write_one(struct gv_slices_text *body, const struct gv_slice *slice,
                             uint64_t start, bool links, struct slices_before *before)
{
    slices_number(body, start - before->start);
    slices_number(body, slices_units(slice->duration_ns));
    if (slice->count > 1) {
        slices_number(body, 0);
        slices_number(body, slice->count);
        slices_number(body, slices_share((double)slice->busy_ns, (double)slice->duration_ns));
    }
    slices_number(body, slice->name);
    slices_number(body, slices_folded(slices_step(slice->id, before->id)));
    if (links)
        slices_number(body,
                      slice->link ? slices_folded(slices_step(slice->link, before->link)) + 1 : 0);
    before->start = start;
    before->id = slice->id;
    before->link = slice->link ? slice->link : before->link;
}

static void slices_write_group(struct gv_slices_text *index, const struct gv_slice *list,
                               size_t count, uint64_t start, size_t bytes,
                               struct slices_before *before)
{
    const struct gv_slice *longest = list;
    int64_t span_ns = 0;
    double busy_ns = 0;

    for (const struct gv_slice *slice = list; slice < list + count; slice++) {
        int64_t end_ns = gv_time_sum(slice->start_ns - list->start_ns, slice->duration_ns);
        span_ns = end_ns > span_ns ? end_ns : span_ns;
        longest = slice->duration_ns > longest->duration_ns ? slice : longest;
        busy_ns += (double)slice->busy_ns;
    }
    slices_number(index, start - before->start);
    slices_number(index, slices_units(span_ns));
    slices_number(index, slices_share(busy_ns, (double)span_ns));
    slices_number(index, longest->name);
    slices_number(index, bytes);
    slices_number(index, slices_folded(slices_step(list->id, before->id)));
    slices_number(index, slices_folded(slices_step(list->link, before->link)));
    *before = (struct slices_before){start, list->id, list->link};
}

int gv_slices_write(const struct gv_slices *slices, size_t first, size_t count, bool links,
                    struct gv_slices_text *index, struct gv_slices_text *body)
{
    const struct gv_slice *list = slices->list + first;
    struct slices_before group = {0};

    for (size_t at = 0, members; at < count; at += members) {
        size_t bytes = body->count;
        uint64_t start = slices_units(list[at].start_ns);
        struct slices_before before = {start, list[at].id, list[at].link};

        members = count - at < GV_SLICES_GROUP ? count - at : GV_SLICES_GROUP;
        for (size_t i = at; i < at + members; i++)
            slices_write_one(body, &list[i], slices_units(list[i].start_ns), links, &before);
        slices_write_group(index, &list[at], members, start, body->count - bytes, &group);
    }
    return index->error ? index->error : body->error;
}
