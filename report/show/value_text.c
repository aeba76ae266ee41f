#include "report/show/value_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GV_VALUE_LIMIT 9.2e18

struct gv_unit {
    const char *name;
    double times;
};

static const struct gv_unit durations[] = {
    {"ns", 1},  {"us", 1e3},   {"\xc2\xb5s", 1e3}, {"ms", 1e6},
    {"s", 1e9}, {"min", 60e9}, {"h", 3600e9},
};

static const struct gv_unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1e3},
    {"KB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
    {"KiB", 1024},
    {"MiB", 1 << 20},
    {"GiB", 1 << 30},
    {"TiB", 1024.0 * (1 << 30)},
};

int gv_value_number(const char *text, int64_t *number)
{
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return -EINVAL;
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (*end)
        return -EINVAL;
    return errno ? -ERANGE : 0;
}

/* Reads a decimal number at the start of a text, without strtod()'s "inf", "0x1p3" and locale. */
static const char *value_decimal(const char *text, double *value)
{
    const char *at = text;
    double place = 1;

    *value = 0;
    for (; isdigit((unsigned char)*at); at++)
        *value = *value * 10 + (*at - '0');
    if (at == text)
        return NULL;
    if (*at == '.' && isdigit((unsigned char)at[1]))
        for (at++; isdigit((unsigned char)*at); at++) {
            place *= 10;
            *value += (*at - '0') / place;
        }
    return at;
}

/* Reads a number with one of these units. */
static int value_with_unit(const char *text, const struct gv_unit *units, size_t count,
                           int64_t *number)
{
    double value;
    const char *unit = value_decimal(text, &value);

    *number = 0;
    if (!unit)
        return -EINVAL;
    if (!*unit && value <= 0)
        return 0;
    unit += *unit == ' ';
    for (size_t i = 0; i < count; i++) {
        if (strcmp(unit, units[i].name) != 0)
            continue;
        value *= units[i].times;
        if (value > GV_VALUE_LIMIT)
            return -ERANGE;
        *number = (int64_t)(value + 0.5);
        return 0;
    }
    return -EINVAL;
}

int gv_value_duration(const char *text, int64_t *ns)
{
    return value_with_unit(text, durations, sizeof(durations) / sizeof(durations[0]), ns);
}

/* Two or four digits, and what must follow them. NULL: it is something else. */
static const char *value_digits(const char *text, int count, int *value)
{
    *value = 0;
    for (int i = 0; i < count; i++) {
        if (!isdigit((unsigned char)text[i]))
            return NULL;
        *value = *value * 10 + (text[i] - '0');
    }
    return text + count;
}

/* "2026-11-22". What follows, or NULL. */
static const char *value_day(const char *text, struct tm *local)
{
    text = value_digits(text, 4, &local->tm_year);
    text = text && *text == '-' ? value_digits(text + 1, 2, &local->tm_mon) : NULL;
    text = text && *text == '-' ? value_digits(text + 1, 2, &local->tm_mday) : NULL;
    local->tm_year -= 1900;
    local->tm_mon--;
    return text;
}

/* "03:00" or "03:00:30". What follows, or NULL. */
static const char *value_time(const char *text, struct tm *local)
{
    text = value_digits(text, 2, &local->tm_hour);
    text = text && *text == ':' ? value_digits(text + 1, 2, &local->tm_min) : NULL;
    if (text && *text == ':')
        text = value_digits(text + 1, 2, &local->tm_sec);
    return text;
}

int gv_value_moment(const char *text, struct gv_moment *moment)
{
    struct tm *local = &moment->local, same;
    const char *after;

    *moment = (struct gv_moment){.kind = GV_MOMENT_DAY};
    after = value_day(text, local);
    if (after && (*after == ' ' || *after == 'T'))
        after = value_time(after + 1, local);
    if (!after) {
        *moment =
            (struct gv_moment){.kind = GV_MOMENT_TIME, .local.tm_mday = 1, .local.tm_year = 100};
        after = value_time(text, local);
    }
    if (!after) {
        *moment = (struct gv_moment){.kind = GV_MOMENT_SINCE};
        return gv_value_duration(text, &moment->since_ns);
    }
    if (*after || local->tm_year < 70)
        return -EINVAL;
    same = *local; /* timegm() makes 1 March of 30 February */
    if (timegm(&same) < 0 || same.tm_mon != local->tm_mon || same.tm_mday != local->tm_mday ||
        same.tm_hour != local->tm_hour || same.tm_min != local->tm_min ||
        same.tm_sec != local->tm_sec)
        return -EINVAL;
    local->tm_isdst = -1;
    return local->tm_year < 300 ? 0 : -ERANGE;
}

int gv_value_size(const char *text, int64_t *bytes)
{
    return value_with_unit(text, sizes, sizeof(sizes) / sizeof(sizes[0]), bytes);
}

int gv_value_ratio(const char *text, double *ratio)
{
    const char *end = value_decimal(text, ratio);

    if (!end)
        return -EINVAL;
    end += *end == ' ' && end[1] == '%';
    if (strcmp(end, "%") == 0)
        *ratio /= 100;
    else if (*end)
        return -EINVAL;
    return 0;
}
