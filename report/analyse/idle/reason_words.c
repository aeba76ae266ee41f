#include "report/analyse/idle/reason_words.h"

#include <stdio.h>
#include <string.h>

const char gv_idle_reason_names[] = ""
#define GV_IDLE_REASON(id, name, finding, traits, meaning, advice) " " name
#include "report/analyse/idle/reasons.def"
    ;

const struct gv_idle_reason_words gv_idle_reasons[] = {
#define GV_IDLE_REASON(id, name, finding, traits, meaning, advice)                                 \
    {name, finding, traits, meaning, advice},
#include "report/analyse/idle/reasons.def"
};

const struct gv_idle_reason_words *gv_idle_reason_find(const char *name)
{
    for (size_t i = 0; name && i < GV_REASONS; i++)
        if (strcmp(gv_idle_reasons[i].name, name) == 0)
            return &gv_idle_reasons[i];
    return NULL;
}

size_t gv_idle_line_bytes(const char *where)
{
    size_t bytes = strcspn(where, " ");

    return memchr(where, ':', bytes) ? bytes : strlen(where);
}

bool gv_idle_is_same_line(const char *one, const char *other)
{
    size_t bytes = gv_idle_line_bytes(one);

    return bytes == gv_idle_line_bytes(other) && strncmp(one, other, bytes) == 0;
}

/* What a detail says beyond a line that it names: " (67 % of the workers' samples)". NULL: it does
 * not name that line. */
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

void gv_idle_reason_say(const char *name, const char *detail, const char *where, char *out,
                        size_t size)
{
    const struct gv_idle_reason_words *known = gv_idle_reason_find(name);
    const char *words = known ? known->finding : name ? name : "unknown";
    size_t length = strlen(words);
    bool by = length > 3 && strcmp(words + length - 3, " by") == 0;
    bool has_detail = detail && *detail, has_where = where && *where;

    if (has_detail && has_where) {
        const char *beyond = beyond_line(detail, where);
        if (beyond) {
            snprintf(out, size, "%s: %s%s", words, where, beyond);
            return;
        }
    }
    /* "waiting for the GIL, held by" nobody that is known */
    if (by && !has_detail)
        length = strcspn(words, ",");
    snprintf(out, size, "%.*s%s%s%s%s", (int)length, words,
             !has_detail && !has_where ? ""
             : by && has_detail        ? " "
                                       : ": ",
             has_detail ? detail : "", has_detail && has_where ? ", " : "", has_where ? where : "");
}
