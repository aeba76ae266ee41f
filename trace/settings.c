#include "trace/settings.h"

#include "trace/nvtx.h"
#include "trace/old_names.h"
#include "trace/run_note.h"

#include "trace/word_distance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GV_MS_DIGITS 3u

#define GV_MINUTE_NS          INT64_C(60000000000)
#define GV_EXTENT_BYTES_LEAST 10000000
#define GV_EXTENT_DIGITS      9u

static const struct gv_setting settings_table[] = {
#define GV_SETTING_TEXT(field, title, preset_value, words)                                         \
    {.kind = GV_SETTING_IS_TEXT,                                                                   \
     .name = GV_SETTING_PREFIX #title,                                                             \
     .help = words,                                                                                \
     .offset = offsetof(struct gv_settings, field),                                                \
     .preset_text = preset_value},
#define GV_SETTING_NUMBER(field, title, preset_value, low, high, measure, words)                   \
    {.kind = GV_SETTING_IS_NUMBER,                                                                 \
     .unit = measure,                                                                              \
     .name = GV_SETTING_PREFIX #title,                                                             \
     .help = words,                                                                                \
     .offset = offsetof(struct gv_settings, field),                                                \
     .preset = preset_value,                                                                       \
     .lowest = low,                                                                                \
     .highest = high},
#define GV_SETTING_CHOICE(field, title, preset_value, list, words)                                 \
    {.kind = GV_SETTING_IS_CHOICE,                                                                 \
     .name = GV_SETTING_PREFIX #title,                                                             \
     .help = words,                                                                                \
     .offset = offsetof(struct gv_settings, field),                                                \
     .preset = preset_value,                                                                       \
     .choices = list},
#define GV_SETTING_EXTENT(field, title, words)                                                     \
    {.kind = GV_SETTING_IS_EXTENT,                                                                 \
     .name = GV_SETTING_PREFIX #title,                                                             \
     .help = words,                                                                                \
     .offset = offsetof(struct gv_settings, field)},
#include "trace/settings.def"
};

#define GV_SETTINGS_COUNT (sizeof(settings_table) / sizeof(settings_table[0]))

static bool settings_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits, and up to `decimals` more after a point, as one number scaled by 10^decimals.
 * strtod() would depend on the program's locale. Further decimals are dropped. */
static bool settings_parse(const char *text, unsigned int decimals, int64_t *out)
{
    int64_t value = 0;
    bool seen = false;

    for (; settings_is_digit(*text); text++, seen = true)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *text - '0', &value))
            return false;
    if (decimals > 0 && *text == '.')
        text++;
    for (unsigned int i = 0; i < decimals; i++) {
        int digit = 0;
        if (settings_is_digit(*text)) {
            digit = *text++ - '0';
            seen = true;
        }
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    while (decimals > 0 && settings_is_digit(*text))
        text++;
    *out = value;
    return seen && *text == '\0';
}

static const struct {
    const char *name;
    bool is_size;
    int64_t factor, lowest; /* in ns or bytes */
} settings_units[] = {
    {"min", false, GV_MINUTE_NS, GV_MINUTE_NS},
    {"h", false, 60 * GV_MINUTE_NS, 1},
    {"d", false, 1440 * GV_MINUTE_NS, 1},
    {"MB", true, 1000000, GV_EXTENT_BYTES_LEAST},
    {"GB", true, 1000000000, 1},
};

/* One number with its unit, up to a comma or the end; NULL: it is none. */
static const char *settings_take_amount(const char *text, struct gv_setting_extent *extent)
{
    size_t digits = strspn(text, "0123456789"), width = strcspn(text + digits, ",");
    char number[GV_EXTENT_DIGITS + 1];

    if (digits == 0 || digits > GV_EXTENT_DIGITS)
        return NULL;
    memcpy(number, text, digits);
    number[digits] = '\0';
    for (size_t i = 0; i < sizeof(settings_units) / sizeof(settings_units[0]); i++) {
        int64_t *amount = settings_units[i].is_size ? &extent->bytes : &extent->ns, value;

        if (strlen(settings_units[i].name) != width ||
            memcmp(settings_units[i].name, text + digits, width) != 0)
            continue;
        if (*amount || !settings_parse(number, 0, &value) ||
            __builtin_mul_overflow(value, settings_units[i].factor, amount) ||
            *amount < settings_units[i].lowest)
            return NULL;
        return text + digits + width;
    }
    return NULL;
}

bool gv_setting_extent_read(const char *value, struct gv_setting_extent *extent)
{
    struct gv_setting_extent taken = {0};

    value = settings_take_amount(value, &taken);
    if (value && *value == ',')
        value = settings_take_amount(value + 1, &taken);
    if (value && *value == '\0')
        *extent = taken;
    return value && *value == '\0';
}

/* The index of `value` in "a|b|c", or -1. */
static int64_t settings_choose(const char *choices, const char *value)
{
    size_t length = strlen(value);

    for (int64_t index = 0;; index++) {
        size_t width = strcspn(choices, "|");
        if (width == length && memcmp(choices, value, width) == 0)
            return index;
        if (choices[width] == '\0')
            return -1;
        choices += width + 1;
    }
}

/* Whether the value was accepted. */
static bool settings_take(const struct gv_setting *setting, const char *value, char *field)
{
    unsigned int decimals = setting->unit == GV_UNIT_SECONDS ? GV_MS_DIGITS : 0;
    int64_t number = 0;
    bool accepted;

    if (setting->kind == GV_SETTING_IS_TEXT) {
        accepted = strlen(value) < GV_SETTING_TEXT_BYTES;
        if (accepted)
            strcpy(field, value);
        return accepted;
    }
    if (setting->kind == GV_SETTING_IS_EXTENT)
        return gv_setting_extent_read(value, (struct gv_setting_extent *)(void *)field);
    if (setting->kind == GV_SETTING_IS_CHOICE)
        accepted = (number = settings_choose(setting->choices, value)) >= 0;
    else
        accepted = settings_parse(value, decimals, &number) && number >= setting->lowest &&
                   number <= setting->highest;
    if (accepted)
        memcpy(field, &number, sizeof(number));
    return accepted;
}

static void settings_preset(const struct gv_setting *setting, char *field)
{
    if (setting->kind == GV_SETTING_IS_TEXT)
        strcpy(field, setting->preset_text);
    else if (setting->kind != GV_SETTING_IS_EXTENT)
        memcpy(field, &setting->preset, sizeof(setting->preset));
}

static void settings_put_number(const struct gv_setting *setting, int64_t number, char *out,
                                size_t size)
{
    if (setting->unit == GV_UNIT_SECONDS && number % 1000 != 0)
        snprintf(out, size, "%lld.%03lld", (long long)(number / 1000), (long long)(number % 1000));
    else
        snprintf(out, size, "%lld",
                 (long long)(setting->unit == GV_UNIT_SECONDS ? number / 1000 : number));
}

#define GV_ALLOWED_BYTES 128u

static void settings_put_allowed(const struct gv_setting *setting, char out[GV_ALLOWED_BYTES])
{
    char low[32], high[32];

    if (setting->kind == GV_SETTING_IS_NUMBER) {
        settings_put_number(setting, setting->lowest, low, sizeof(low));
        settings_put_number(setting, setting->highest, high, sizeof(high));
        snprintf(out, GV_ALLOWED_BYTES, "%s to %s", low, high);
    } else {
        snprintf(out, GV_ALLOWED_BYTES, "%s",
                 setting->kind == GV_SETTING_IS_TEXT     ? "text"
                 : setting->kind == GV_SETTING_IS_EXTENT ? GV_SETTING_EXTENT_ALLOWED
                                                         : setting->choices);
    }
}

static void settings_refuse(const struct gv_setting *setting, const char *value,
                            gv_settings_complain *complain, void *context)
{
    const char *now = gv_old_name_now(setting->name, value);
    char allowed[GV_ALLOWED_BYTES], why[2 * GV_ALLOWED_BYTES];

    settings_put_allowed(setting, allowed);
    if (setting->kind == GV_SETTING_IS_TEXT)
        snprintf(why, sizeof(why), "it is longer than %u bytes", GV_SETTING_TEXT_BYTES - 1);
    else
        snprintf(why, sizeof(why), "allowed is %s%s%s", allowed, now ? "; " : "", now ? now : "");
    complain(setting->name, value, why, context);
}

void gv_settings_read(struct gv_settings *settings, gv_settings_complain *complain, void *context)
{
    memset(settings, 0, sizeof(*settings));
    for (size_t i = 0; i < GV_SETTINGS_COUNT; i++) {
        const struct gv_setting *setting = &settings_table[i];
        char *field = (char *)settings + setting->offset;
        const char *value = getenv(setting->name);

        settings_preset(setting, field);
        if (value && *value && !settings_take(setting, value, field) && complain)
            settings_refuse(setting, value, complain, context);
    }
}

static const char *settings_nearest(const char *name)
{
    const char *nearest = NULL;
    size_t least = GV_WORD_TYPO;

    for (size_t i = 0; i < GV_SETTINGS_COUNT; i++)
        if (gv_word_is_nearer(name, settings_table[i].name, &least))
            nearest = settings_table[i].name;
    return nearest;
}

/* Variables that are no settings of the library. */
static bool settings_is_other(const char *name)
{
    static const char *const others[] = {
        GV_SETTING_SESSION, GV_RUN_NOTE, GV_NVTX_TOOL, GV_SETTING_COMMAND, GV_SETTING_PYTHON,
#define GV_ENVIRONMENT(name, ...) #name,
#include "trace/environment.def"
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return false;
}

void gv_settings_find_unknown(gv_settings_unknown *unknown, void *context)
{
    const size_t prefix = strlen(GV_SETTING_PREFIX);

    for (char **variable = environ; variable && *variable; variable++) {
        size_t length = strcspn(*variable, "=");
        char name[64];

        if (strncmp(*variable, GV_SETTING_PREFIX, prefix) != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : sizeof(name)),
                 *variable);
        const char *nearest = settings_nearest(name);
        if (!settings_is_other(name) && (!nearest || strcmp(name, nearest) != 0))
            unknown(name, nearest, context);
    }
}

static void settings_put_choice(const struct gv_setting *setting, char *out, size_t size)
{
    const char *choice = setting->choices;

    for (int64_t i = 0; i < setting->preset && strchr(choice, '|'); i++)
        choice = strchr(choice, '|') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(choice, "|"), choice);
}

void gv_settings_describe(gv_settings_row *row, void *context)
{
    for (size_t i = 0; i < GV_SETTINGS_COUNT; i++) {
        const struct gv_setting *setting = &settings_table[i];
        char preset[64], allowed[GV_ALLOWED_BYTES];

        settings_put_allowed(setting, allowed);
        if (setting->kind == GV_SETTING_IS_NUMBER)
            settings_put_number(setting, setting->preset, preset, sizeof(preset));
        else if (setting->kind == GV_SETTING_IS_CHOICE)
            settings_put_choice(setting, preset, sizeof(preset));
        else
            snprintf(preset, sizeof(preset), "%s",
                     setting->preset_text ? setting->preset_text : "");
        row(setting, allowed, preset, context);
    }
}
