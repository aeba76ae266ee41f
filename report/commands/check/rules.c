#include "report/commands/check/check.h"

#include "report/analyse/stalls/causes.h"
#include "report/commands/account_words.h"
#include "report/commands_check_rules.inc"
#include "report/show/value_text.h"
#include "report/store/array.h"
#include "trace/word_distance.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GV_CHECK_LINE_BYTES 4096u

int gv_check_refuse(char why[GV_CHECK_WHY_BYTES], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, GV_CHECK_WHY_BYTES, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

/* Of a word that is none of `words`. */
static int check_refuse_word(char why[GV_CHECK_WHY_BYTES], const char *what, const char *word,
                             const char *words)
{
    char near[GV_WORD_BYTES];

    return gv_word_nearest(word, words, near)
               ? gv_check_refuse(why, "unknown %s '%.64s'; did you mean '%s'? Choose from:%s", what,
                                 word, near, words)
               : gv_check_refuse(why, "unknown %s '%.64s'; choose from:%s", what, word, words);
}

/* ---- values ---- */

#define check_read_value NULL /* the option's kind says all */

/* "2s", "100 launches" or "mark ready". */
static int check_read_after(struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES])
{
    static const char mark[] = "mark ";
    char number[GV_OPTION_NAME_BYTES];
    size_t digits = strspn(rule->text, "0123456789");
    const char *unit = rule->text + digits;

    if (gv_value_duration(rule->text, &rule->number) == 0)
        return 0;
    if (strncmp(rule->text, mark, sizeof(mark) - 1) == 0 && rule->text[sizeof(mark) - 1]) {
        rule->range = strdup(rule->text + sizeof(mark) - 1);
        return rule->range ? 0 : -ENOMEM;
    }
    unit += *unit == ' ';
    snprintf(number, sizeof(number), "%.*s", (int)digits, rule->text);
    if ((strcmp(unit, "launches") == 0 || strcmp(unit, "launch") == 0) &&
        gv_value_number(number, &rule->launches) == 0 && rule->launches > 0)
        return 0;
    return gv_check_refuse(
        why,
        "invalid value '%.64s' for no-load-after, which takes a time, such as 2s, a number of "
        "launches, such as '100 launches', or a mark or range, such as 'mark ready'",
        rule->text);
}

static int check_read_cause(struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES])
{
    if (strcmp(rule->text, "any") == 0 || gv_cause_find(rule->text) != GV_CAUSE_COUNT)
        return 0;
    return check_refuse_word(why, "cause", rule->text, gv_cause_words);
}

/* "data=5%" */
static int check_read_idle(struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES])
{
    char name[GV_WORD_BYTES], room[GV_ACCOUNT_WORDS_BYTES];
    const char *share = strchr(rule->text, '='), *accounts;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(rule->text, "="), rule->text);
    accounts = gv_account_words_of(name, room);
    if (accounts && share && gv_value_ratio(share + 1, &rule->fraction) == 0 &&
        rule->fraction <= 1) {
        rule->of = strdup(accounts);
        return rule->of ? 0 : -ENOMEM;
    }
    return accounts ? gv_check_refuse(why,
                                      "invalid value '%.64s' for max-idle-of, which takes a reason "
                                      "and a share, such as %s=5%%",
                                      rule->text, name)
                    : check_refuse_word(why, "reason", name, gv_account_words);
}

/* "50%", or of a phase "main=50%" */
static int check_read_phase(struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES])
{
    static const char *const phases[] = {"start", "main", "end"};
    const char *share = strchr(rule->text, '=');
    size_t bytes = share ? (size_t)(share - rule->text) : 0;
    char name[GV_OPTION_NAME_BYTES];

    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]) && share && !rule->of; i++)
        if (strlen(phases[i]) == bytes && memcmp(rule->text, phases[i], bytes) == 0 &&
            (rule->of = strdup(phases[i])) == NULL)
            return -ENOMEM;
    if (gv_value_ratio(rule->of ? share + 1 : rule->text, &rule->fraction) == 0 &&
        rule->fraction <= 1)
        return 0;
    return gv_check_refuse(
        why,
        "invalid value '%.64s' for %s, which takes a share, such as 50%%, or one of a phase "
        "(start, main, end), such as main=50%%",
        rule->text, gv_option_name(&gv_options[rule->check->option], name));
}

/* "model.py:41=30%" or "model.py=30%" */
static int check_read_gpu(struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES])
{
    const char *share = strrchr(rule->text, '='), *digits = share;

    while (digits && digits > rule->text && isdigit((unsigned char)digits[-1]))
        digits--;
    size_t bytes = share ? (size_t)(share - rule->text) : 0;
    if (digits && digits < share && digits > rule->text && digits[-1] == ':') {
        bytes = (size_t)(digits - 1 - rule->text);
        rule->line = strtoll(digits, NULL, 10);
    }
    if (bytes > 0 && gv_value_ratio(share + 1, &rule->fraction) == 0 && rule->fraction <= 1) {
        rule->of = strndup(rule->text, bytes);
        return rule->of ? 0 : -ENOMEM;
    }
    return gv_check_refuse(
        why,
        "invalid value '%.64s' for max-gpu-of, which takes FILE=SHARE or FILE:LINE=SHARE, such as"
        " model.py:41=30%%",
        rule->text);
}

/* "step=5ms" or "step=10%" */
static int check_read_range(struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES])
{
    bool is_time = rule->check->option == GV_OPTION_check_max_stall_in;
    const char *limit = strrchr(rule->text, '=');

    if (limit && limit > rule->text &&
        (is_time ? gv_value_duration(limit + 1, &rule->number) == 0
                 : gv_value_ratio(limit + 1, &rule->fraction) == 0 && rule->fraction <= 1)) {
        rule->range = strndup(rule->text, (size_t)(limit - rule->text));
        return rule->range ? 0 : -ENOMEM;
    }
    return gv_check_refuse(why, "invalid value '%.64s' for %s", rule->text,
                           is_time ? "max-stall-in, which takes RANGE=TIME, such as step=5ms"
                                   : "max-idle-in, which takes RANGE=SHARE, such as step=10%");
}

/* ---- rules ---- */

static const struct gv_check checks[] = {
#define GV_CHECK(option, value, needs, lost)                                                       \
    {GV_OPTION_check_##option, check_read_##value, GV_CHECK_NEEDS_##needs, lost, sql_##option},
#include "report/commands/check/rules.def"
};

#define GV_CHECKS_COUNT (sizeof(checks) / sizeof(checks[0]))

static const struct gv_check *check_find(enum gv_option_id option)
{
    for (size_t i = 0; i < GV_CHECKS_COUNT; i++)
        if (checks[i].option == option)
            return &checks[i];
    return NULL;
}

static void check_rule_free(struct gv_check_rule *rule)
{
    free(rule->text);
    free(rule->range);
    free(rule->of);
}

int gv_check_rules_add(struct gv_check_rules *rules, const struct gv_given *given,
                       char why[GV_CHECK_WHY_BYTES])
{
    struct gv_check_rule rule = {
        .check = check_find(given->option), .number = given->number, .fraction = given->fraction};
    int error;

    if (!rule.check)
        return 0;
    error = gv_array_room(&rules->rules, rules->count, &rules->room, sizeof(rule));
    if (!error && given->text && !(rule.text = strdup(given->text)))
        error = -ENOMEM;
    if (!error)
        error = rule.check->read ? rule.check->read(&rule, why) : 0;
    if (error)
        check_rule_free(&rule);
    else
        rules->rules[rules->count++] = rule;
    return error;
}

static int check_refuse_rule(const char *word, char why[GV_CHECK_WHY_BYTES])
{
    const struct gv_option *near = gv_option_nearest(GV_COMMAND_check, word);
    char name[GV_OPTION_NAME_BYTES];

    if (near && check_find((enum gv_option_id)(near - gv_options)))
        return gv_check_refuse(why, "unknown rule '%.64s'; did you mean '%s'?", word,
                               gv_option_name(near, name));
    return gv_check_refuse(why, "unknown rule '%.64s'; see 'gpuverify check --help'", word);
}

/* The text between quotes; or else up to a comment, without blanks around it. NULL: something
 * other than a comment follows the quotes. */
static char *check_trim(char *text)
{
    char *end = *text == '\'' || *text == '"' ? strchr(text + 1, *text) : NULL;

    if (end) {
        const char *more = end + 1 + strspn(end + 1, " \t\r");
        *end = '\0';
        return *more == '\0' || (*more == '#' && more > end + 1) ? text + 1 : NULL;
    }
    for (char *hash = strchr(text, '#'); hash; hash = strchr(hash + 1, '#'))
        if (hash == text || isspace((unsigned char)hash[-1])) {
            *hash = '\0';
            break;
        }
    for (size_t length = strlen(text); length > 0 && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
    return text;
}

int gv_check_rules_line(void *into, char *line, char why[GV_CHECK_WHY_BYTES])
{
    char *word = line + strspn(line, " \t-"), *value;
    size_t length = strcspn(word, " \t\r=");
    struct gv_given given = {.number = 0};

    if (*word == '\0' || *word == '#' || *word == '\r')
        return 0;
    value = word + length;
    if (*value) {
        *value++ = '\0';
        value += strspn(value, " \t=");
    }
    value = check_trim(value);
    if (!value)
        return gv_check_refuse(why, "unexpected text after the quoted value of %.64s", word);
    const struct gv_option *option = gv_option_find(GV_COMMAND_check, word, length);
    if (!option || !check_find((enum gv_option_id)(option - gv_options)))
        return check_refuse_rule(word, why);
    given.option = (enum gv_option_id)(option - gv_options);
    given.text = option->kind == GV_OPTION_IS_FLAG ? NULL : value;
    if (!given.text && *value)
        return gv_check_refuse(why, "%s takes no value", word);
    if (given.text && (!*value || gv_option_read(option, &given) < 0))
        return gv_check_refuse(why, "invalid value '%.64s' for %s, which takes %s", value, word,
                               gv_option_expected(option));
    return gv_check_rules_add(into, &given, why);
}

int gv_check_lines(const char *text, size_t bytes, gv_check_line *add, void *into,
                   char why[GV_CHECK_WHY_BYTES])
{
    char line[GV_CHECK_LINE_BYTES], what[GV_CHECK_WHY_BYTES] = "";
    size_t number = 1;
    int error = 0;

    for (size_t at = 0; at < bytes && !error; number++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t length = end ? (size_t)(end - text) - at : bytes - at;
        if (length >= sizeof(line) || memchr(text + at, '\0', length)) {
            error = gv_check_refuse(what, "not text, or too long");
        } else {
            memcpy(line, text + at, length);
            line[length] = '\0';
            error = add(into, line, what);
        }
        if (error == -EINVAL)
            gv_check_refuse(why, "line %zu: %.450s", number, what);
        at += length + 1;
    }
    return error;
}

void gv_check_rules_free(struct gv_check_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        check_rule_free(&rules->rules[i]);
    free(rules->rules);
    memset(rules, 0, sizeof(*rules));
}
