#include "report/commands/explain/explain.h"

#include "report/show/text_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gv_explain_lines(const struct gv_explain_out *to, const char *title, const char *text)
{
    char first[32], *copy, *rest, *line;

    if (to->json) {
        gv_json_text(to->json, title, text);
        return;
    }
    copy = rest = strdup(text);
    snprintf(first, sizeof(first), "  %s", title);
    while (copy && (line = strsep(&rest, "\n"))) {
        gv_text_lines(to->out, GV_EXPLAIN_INDENT, first, line, to->columns);
        first[0] = '\0';
    }
    free(copy);
}

int gv_explain_end(const struct gv_explain_out *to, const char *title)
{
    fputc('\0', to->text); /* what an earlier, longer paragraph left follows */
    if (fflush(to->text) != 0 || ferror(to->text))
        return -ENOMEM;
    if (to->written[0])
        gv_explain_lines(to, title, to->written);
    rewind(to->text);
    return 0;
}
