/* Folded stacks: a line for each, as Brendan Gregg's flamegraph.pl, inferno and speedscope read
 * them. */
#include "report/commands/export/flame.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* A semicolon in a name would be the end of its frame. */
static void folded_name(FILE *out, const char *name)
{
    for (; *name; name++)
        if (*name == ';')
            fputs("\\x3b", out);
        else
            fputc(*name, out);
}

static void folded_path(FILE *out, const struct gv_flame *frame)
{
    if (frame->parent->parent) {
        folded_path(out, frame->parent);
        fputc(';', out);
    }
    folded_name(out, frame->name);
}

static void folded_write(FILE *out, const struct gv_flame *frame)
{
    if (frame->kind == GV_FLAME_LEAF && frame->parent) {
        folded_path(out, frame);
        fprintf(out, " %" PRId64 "\n", frame->ns);
    }
    for (size_t i = 0; i < frame->count; i++)
        folded_write(out, frame->children[i]);
}

int gv_export_folded(sqlite3 *trace, const struct gv_weighed *what, FILE *out)
{
    struct gv_flame *root;
    int error = gv_flame_read(trace, what, &root);

    if (!error)
        folded_write(out, root);
    gv_flame_free(root);
    return error;
}

/* Every whole line ends in a number. */
bool gv_export_is_folded(const char *head)
{
    const char *end = strchr(head, '\n');

    if (!end)
        return false;
    for (; end; head = end + 1, end = strchr(head, '\n')) {
        const char *at = end;
        while (at > head && isdigit((unsigned char)at[-1]))
            at--;
        if (at == end || at == head || at[-1] != ' ')
            return false;
    }
    return true;
}
