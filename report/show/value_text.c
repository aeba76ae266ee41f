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
