#include "report/commands/explain/explain.h"

#include "report/analyse/names/stack_text.h"
#include "report/commands/offer.h"
#include "report/show/format.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GV_EXPLAIN_WHERE_BYTES 16384
/* What we write ourselves is shorter; texts of a stranger's trace may be longer. */
#define GV_EXPLAIN_TEXT_BYTES 8192

void gv_explain_begin(struct gv_explain_out *to)
{
    to->text = open_memstream(&to->written, &to->bytes);
    to->error = to->text ? 0 : -ENOMEM;
}

int gv_explain_finish(struct gv_explain_out *to)
{
    if (to->text && fclose(to->text) != 0 && !to->error)
        to->error = -ENOMEM;
    free(to->written);
    return to->error;
}

void gv_explain_open(struct gv_explain_out *to, const char *key)
{
    if (to->json)
        gv_json_open(to->json, key, '{');
    else if (to->told)
        fputc('\n', to->out);
    to->told++;
}

void gv_explain_close(struct gv_explain_out *to)
{
    if (to->json)
        gv_json_close(to->json, '}');
}

void gv_explain_lines(struct gv_explain_out *to, const char *title, const char *text)
{
    char first[32], part[GV_EXPLAIN_TEXT_BYTES], *rest = part, *line;

    if (to->error || !text || !text[0])
        return;
    if (to->json) {
        gv_json_text(to->json, title, text);
        return;
    }
    gv_format_cut(part, sizeof(part), text);
    snprintf(first, sizeof(first), "  %s", title);
    while ((line = strsep(&rest, "\n"))) {
        gv_text_lines(to->out, GV_EXPLAIN_INDENT, first, line, to->columns);
        first[0] = '\0';
    }
}

void gv_explain_end(struct gv_explain_out *to, const char *title)
{
    if (to->error)
        return;
    fputc('\0', to->text); /* what an earlier, longer paragraph left follows */
    if (fflush(to->text) != 0 || ferror(to->text))
        to->error = -ENOMEM;
    gv_explain_lines(to, title, to->written);
    rewind(to->text);
}

int gv_explain_take_fix(void *context, sqlite3_stmt *row)
{
    struct gv_explain_out *to = context;
    char fix[GV_OFFER_BYTES];

    to->has_fix = gv_database_text(row, 0)[0] != '\0';
    gv_explain_lines(to, "fix",
                     gv_offer_fill(fix, sizeof(fix), gv_database_text(row, 0), to->path, false));
    return 0;
}

bool gv_explain_stack(struct gv_explain_out *to, const char *title, int64_t stack, int frames)
{
    char where[GV_EXPLAIN_WHERE_BYTES];

    if (to->error)
        return false;
    to->error = gv_stack_text(to->trace, stack, frames, where, sizeof(where));
    gv_explain_lines(to, title, where);
    return !to->error && where[0];
}
