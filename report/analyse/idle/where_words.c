#include "report/analyse/idle/where_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t gv_idle_line_bytes(const char *where)
{
    size_t bytes = strcspn(where, " ");

    return memchr(where, ':', bytes) ? bytes : strlen(where);
}

/* What a detail says beyond a line that it names: " (67 % of the samples of 2 workers)". NULL: it
 * does not name that line. */
static const char *beyond_line(const char *detail, const char *where)
{
    char line[256];
    const char *found;

    snprintf(line, sizeof(line), "%.*s", (int)gv_idle_line_bytes(where), where);
    found = line[0] ? strstr(detail, line) : NULL;
    return found && (found[strlen(line)] == '\0' || found[strlen(line)] == ' ')
               ? found + strlen(line)
               : NULL;
}

const char *gv_idle_detail_beside(const char *detail, const char *where, char *out, size_t size)
{
    const char *beyond = detail && where ? beyond_line(detail, where) : NULL;
    size_t length;

    if (!beyond)
        return detail;
    beyond += strspn(beyond, " (");
    length = strlen(beyond);
    if (length > 0 && beyond[length - 1] == ')')
        length--;
    snprintf(out, size, "%.*s", (int)length, beyond);
    return out[0] ? out : NULL;
}

void gv_idle_say(const char *words, const char *detail, const char *where, char *out, size_t size)
{
    bool has_detail = detail && *detail, has_where = where && *where;
    const char *beyond = has_detail && has_where ? beyond_line(detail, where) : NULL;

    if (beyond)
        snprintf(out, size, "%s: %s%s", words, where, beyond);
    else
        snprintf(out, size, "%s%s%s%s%s", words, has_detail || has_where ? ": " : "",
                 has_detail ? detail : "", has_detail && has_where ? ", " : "",
                 has_where ? where : "");
}
