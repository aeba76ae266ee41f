#include "report/kernel_names.h"

#include "report/demangle.h"
#include "report/kernel_name.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct gv_known_kernel {
    char *name; /* as gv_kernel_names_plain() spells it */
    char *shown;
    unsigned int level;
};

/* Sorted by name. */
static struct gv_known_kernel *gv_known_kernels;
static size_t gv_known_count;

/* One spelling of a name, which is stored as it is linked and as it is written. */
static const char *gv_kernel_names_plain(const char *name, char room[GV_KERNEL_NAME_LONG])
{
    const char *plain = gv_demangle(name, room, GV_KERNEL_NAME_LONG);
    size_t length = strnlen(plain, GV_KERNEL_NAME_LONG - 1);

    memmove(room, plain, length);
    room[length] = '\0';
    return room;
}

static int gv_kernel_names_by_name(const void *left, const void *right)
{
    const struct gv_known_kernel *one = left, *other = right;

    return strcmp(one->name, other->name);
}

static int gv_kernel_names_by_shown(const void *left, const void *right)
{
    const struct gv_known_kernel *one = left, *other = right;

    return strcmp(one->shown ? one->shown : "", other->shown ? other->shown : "");
}

static void gv_kernel_names_show(struct gv_known_kernel *kernel, unsigned int level)
{
    char shown[GV_KERNEL_NAME_LONG];

    kernel->level = gv_kernel_name_at(kernel->name, level, shown, sizeof(shown));
    free(kernel->shown);
    kernel->shown = strdup(shown);
}

/* Gives those that look alike more of their names. False: all differ, as far as they can. */
static bool gv_kernel_names_part(void)
{
    struct gv_known_kernel *kernels = gv_known_kernels;
    bool more = false;

    qsort(kernels, gv_known_count, sizeof(*kernels), gv_kernel_names_by_shown);
    for (size_t first = 0, next; first < gv_known_count; first = next) {
        for (next = first + 1; next < gv_known_count; next++)
            if (gv_kernel_names_by_shown(&kernels[first], &kernels[next]) != 0)
                break;
        for (size_t i = first; next - first > 1 && i < next; i++)
            if (kernels[i].level < GV_KERNEL_NAME_WHOLE) {
                gv_kernel_names_show(&kernels[i], kernels[i].level + 1);
                more = true;
            }
    }
    return more;
}

static void gv_kernel_names_add(struct gv_known_kernel *kernels, size_t *count, const char *name)
{
    char room[GV_KERNEL_NAME_LONG];
    struct gv_known_kernel wanted = {.name = room};

    gv_kernel_names_plain(name, room);
    if (*count < GV_KERNEL_NAMES_MOST &&
        !bsearch(&wanted, kernels, gv_known_count, sizeof(wanted), gv_kernel_names_by_name) &&
        (wanted.name = strdup(room)))
        kernels[(*count)++] = wanted;
}

void gv_kernel_names_learn(sqlite3 *trace)
{
    static const char sql[] = "SELECT name FROM gpu_name WHERE name IS NOT NULL UNION SELECT name"
                              " FROM kernel WHERE name IS NOT NULL";
    struct gv_known_kernel *kernels =
        realloc(gv_known_kernels, GV_KERNEL_NAMES_MOST * sizeof(*kernels));
    size_t count = gv_known_count, kept = 0;
    sqlite3_stmt *rows = NULL;

    if (!kernels)
        return;
    gv_known_kernels = kernels;
    if (sqlite3_prepare_v2(trace, sql, -1, &rows, NULL) == SQLITE_OK)
        while (count < GV_KERNEL_NAMES_MOST && sqlite3_step(rows) == SQLITE_ROW)
            gv_kernel_names_add(kernels, &count, (const char *)sqlite3_column_text(rows, 0));
    sqlite3_finalize(rows);
    qsort(kernels, count, sizeof(*kernels), gv_kernel_names_by_name);
    for (size_t i = 0; i < count; i++) { /* a kernel can have both spellings */
        if (kept > 0 && strcmp(kernels[kept - 1].name, kernels[i].name) == 0)
            free(kernels[i].name);
        else
            kernels[kept++] = kernels[i];
    }
    gv_known_count = kept;
    for (size_t i = 0; i < kept; i++)
        gv_kernel_names_show(&kernels[i], GV_KERNEL_NAME_FITTING);
    while (gv_kernel_names_part())
        ;
    for (size_t i = 0; i < kept; i++) {
        free(kernels[i].shown);
        kernels[i].shown = NULL;
    }
    qsort(kernels, kept, sizeof(*kernels), gv_kernel_names_by_name);
}

unsigned int gv_kernel_names_level(const char *name)
{
    char room[GV_KERNEL_NAME_LONG];
    struct gv_known_kernel wanted = {.name = room};
    const struct gv_known_kernel *known;

    gv_kernel_names_plain(name ? name : "", room);
    known = gv_known_count ? bsearch(&wanted, gv_known_kernels, gv_known_count, sizeof(wanted),
                                     gv_kernel_names_by_name)
                           : NULL;
    return known ? known->level : GV_KERNEL_NAME_FITTING;
}
