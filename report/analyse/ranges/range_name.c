#include "report/analyse/ranges/range_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void gv_range_name_fold(const char *text, char *out, size_t size)
{
    size_t length = 0;

    for (; *text && length + 1 < size; text++)
        if (!isdigit((unsigned char)*text))
            out[length++] = *text;
        else if (!isdigit((unsigned char)text[1]))
            out[length++] = '#';
    out[length] = '\0';
}

void gv_range_name_say(const char *domain, const char *message, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s", domain ? domain : "", domain ? ": " : "", message ? message : "");
}

/* After a "*", the shortest text that it can stand for is tried first. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = text;

    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

bool gv_range_name_matches(const char *pattern, const char *domain, const char *message)
{
    char name[GV_RANGE_NAME_BYTES], folded[GV_RANGE_NAME_BYTES];

    gv_range_name_say(domain, message, name, sizeof(name));
    gv_range_name_fold(name, folded, sizeof(folded));
    if (matches(pattern, name) || matches(pattern, folded))
        return true;
    if (!domain)
        return false;
    return gv_range_name_matches(pattern, NULL, message);
}
