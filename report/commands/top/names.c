/* Names native code while the program runs: the collector does so when it has ended. */
#include "report/commands/top/top.h"

#include "report/collect/stack_names.h"
#include "trace/futex.h"
#include "trace/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Reading the symbols of a large library takes a second; the next look goes on. */
#define NAMES_PATIENCE_NS 200000000

/* The file of this name that the process has mapped. */
static bool find_file(int64_t pid, const char *name, char path[PATH_MAX])
{
    char maps[64], line[PATH_MAX + 128];
    bool found = false;

    snprintf(maps, sizeof(maps), "/proc/%" PRId64 "/maps", pid);
    FILE *file = fopen(maps, "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        const char *begin = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        found = begin && strlen(begin) < PATH_MAX && strcmp(gv_text_base(begin), name) == 0;
        if (found)
            strcpy(path, begin);
    }
    if (file)
        (void)fclose(file);
    return found;
}

/* "loop+0x12ba" as "loop.c:26 load"; what is not known keeps its address. */
static void name_place(const char *place, int64_t pid, char out[GV_LIVE_TEXT_BYTES])
{
    char path[PATH_MAX], library[GV_LIVE_TEXT_BYTES];
    const char *plus = strstr(place, "+0x");
    int64_t address = plus ? strtoll(plus + 1, NULL, 16) : 0;

    snprintf(library, sizeof(library), "%.*s", plus ? (int)(plus - place) : 0, place);
    if (address <= 0 || !find_file(pid, library, path) ||
        gv_stack_names_at(path, address, out, GV_LIVE_TEXT_BYTES) != 0)
        snprintf(out, GV_LIVE_TEXT_BYTES, "%s", place);
}

static const char *known(struct gv_top_names *names, const char *place, int64_t pid)
{
    size_t at = 0;

    while (at < GV_TOP_NAMES && names->list[at].place[0] &&
           strcmp(names->list[at].place, place) != 0)
        at++;
    if (at == GV_TOP_NAMES)
        return NULL;
    if (!names->list[at].place[0]) {
        if ((int64_t)gv_monotonic_ns() > names->until_ns)
            return NULL;
        name_place(place, pid, names->list[at].name);
        snprintf(names->list[at].place, GV_LIVE_TEXT_BYTES, "%s", place);
    }
    return names->list[at].name;
}

/* The place is the text's last word. */
static void name_text(struct gv_top_names *names, char text[GV_LIVE_TEXT_BYTES], int64_t pid)
{
    const char *plus = strstr(text, "+0x"), *begin = plus;
    const char *name;

    while (begin > text && begin[-1] != ' ')
        begin--;
    if (plus && !strchr(plus, ' ') && (name = known(names, begin, pid))) {
        size_t before = (size_t)(begin - text);
        snprintf(text + before, GV_LIVE_TEXT_BYTES - before, "%s", name);
    }
}

void gv_top_name(struct gv_top *top, bool patient)
{
    struct gv_live_page *page = &top->view.page;
    const struct gv_live_row *root = gv_live_page_find(page, "root", NULL, NULL);

    top->names.until_ns = patient ? INT64_MAX : (int64_t)gv_monotonic_ns() + NAMES_PATIENCE_NS;
    for (size_t i = 0; root && i < page->count; i++) {
        name_text(&top->names, page->rows[i].one, root->count);
        name_text(&top->names, page->rows[i].two, root->count);
    }
}
