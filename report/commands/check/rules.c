#include "report/commands/check/rules.h"

#include "report/analyse/stalls/causes.h"
#include "report/commands/account_words.h"
#include "report/commands/cause_words.h"
#include "report/commands_check_rules.inc"
#include "report/show/value_text.h"
#include "trace/word_distance.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GV_CHECK_LINE_BYTES 1024u

static const struct gv_check checks[] = {
#define GV_CHECK(option, needs, lost)                                                              \
    {GV_OPTION_check_##option, GV_CHECK_NEEDS_##needs, lost, sql_##option},
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
    snprintf(why, GV_CHECK_WHY_BYTES,
             "invalid value '%.64s' for no-load-after, which takes a time, such as 2s, a number of "
             "launches, such as '100 launches', or a mark or range, such as 'mark ready'",
             rule->text);
    return -EINVAL;
}

static int check_read_cause(const struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES])
{
    char near[GV_WORD_BYTES];

    if (strcmp(rule->text, "any") == 0 || gv_cause_find(rule->text) != GV_CAUSE_COUNT)
        return 0;
    if (gv_word_nearest(rule->text, gv_cause_words, near))
        snprintf(why, GV_CHECK_WHY_BYTES,
                 "unknown cause '%.64s'; did you mean '%s'? Choose from:%s", rule->text, near,
                 gv_cause_words);
    else
        snprintf(why, GV_CHECK_WHY_BYTES, "unknown cause '%.64s'; choose from:%s", rule->text,
                 gv_cause_words);
    return -EINVAL;
}

/* "data=5%" */
static int check_read_idle(struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES])
{
    char name[GV_WORD_BYTES], near[GV_WORD_BYTES], room[GV_ACCOUNT_WORDS_BYTES];
    const char *share = strchr(rule->text, '='), *accounts;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(rule->text, "="), rule->text);
    accounts = gv_account_words_of(name, room);
    rule->is_share = true;
    if (accounts && share && gv_value_ratio(share + 1, &rule->fraction) == 0 &&
        rule->fraction <= 1) {
        rule->of = strdup(accounts);
        return rule->of ? 0 : -ENOMEM;
    }
    if (accounts)
        snprintf(why, GV_CHECK_WHY_BYTES,
                 "invalid value '%.64s' for max-idle-of, which takes a reason and a share, such as "
                 "%s=5%%",
                 rule->text, name);
    else if (gv_word_nearest(name, gv_account_words, near))
        snprintf(why, GV_CHECK_WHY_BYTES,
                 "unknown reason '%.64s'; did you mean '%s'? Choose from:%s", name, near,
                 gv_account_words);
    else
        snprintf(why, GV_CHECK_WHY_BYTES, "unknown reason '%.64s'; choose from:%s", name,
                 gv_account_words);
    return -EINVAL;
}

/* "50%", or of a phase "main=50%" */
static int check_read_phase(struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES])
{
    static const char *const phases[] = {"start", "main", "end"};
    const char *share = strchr(rule->text, '=');
    size_t bytes = share ? (size_t)(share - rule->text) : 0;
    char name[GV_OPTION_NAME_BYTES];

    rule->is_share = true;
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]) && share && !rule->of; i++)
        if (strlen(phases[i]) == bytes && memcmp(rule->text, phases[i], bytes) == 0 &&
            (rule->of = strdup(phases[i])) == NULL)
            return -ENOMEM;
    if (gv_value_ratio(rule->of ? share + 1 : rule->text, &rule->fraction) == 0 &&
        rule->fraction <= 1)
        return 0;
    snprintf(why, GV_CHECK_WHY_BYTES,
             "invalid value '%.64s' for %s, which takes a share, such as 50%%, or one of a phase "
             "(start, main, end), such as main=50%%",
             rule->text, gv_option_name(&gv_options[rule->check->option], name));
    return -EINVAL;
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
    rule->is_share = true;
    if (bytes > 0 && gv_value_ratio(share + 1, &rule->fraction) == 0 && rule->fraction <= 1) {
        rule->of = strndup(rule->text, bytes);
        return rule->of ? 0 : -ENOMEM;
    }
    snprintf(
        why, GV_CHECK_WHY_BYTES,
        "invalid value '%.64s' for max-gpu-of, which takes FILE=SHARE or FILE:LINE=SHARE, such as"
        " model.py:41=30%%",
        rule->text);
    return -EINVAL;
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
    snprintf(why, GV_CHECK_WHY_BYTES, "invalid value '%.64s' for %s", rule->text,
             is_time ? "max-stall-in, which takes RANGE=TIME, such as step=5ms"
                     : "max-idle-in, which takes RANGE=SHARE, such as step=10%");
    return -EINVAL;
}

int gv_check_rules_add(struct gv_check_rules *rules, const struct gv_given *given,
                       char why[GV_CHECK_WHY_BYTES])
{
    struct gv_check_rule rule = {
        .check = check_find(given->option), .number = given->number, .fraction = given->fraction};
    int error = 0;

    if (!rule.check)
        return 0;
    struct gv_check_rule *grown = realloc(rules->rules, (rules->count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    rules->rules = grown;
    rule.text = given->text ? strdup(given->text) : NULL;
    if (given->text && !rule.text)
        return -ENOMEM;
    if (given->option == GV_OPTION_check_no_load_after)
        error = check_read_after(&rule, why);
    else if (given->option == GV_OPTION_check_no_stall)
        error = check_read_cause(&rule, why);
    else if (given->option == GV_OPTION_check_min_gpu_busy ||
             given->option == GV_OPTION_check_max_finding)
        error = check_read_phase(&rule, why);
    else if (given->option == GV_OPTION_check_max_idle_of)
        error = check_read_idle(&rule, why);
    else if (given->option == GV_OPTION_check_max_gpu_of)
        error = check_read_gpu(&rule, why);
    else if (given->option == GV_OPTION_check_max_stall_in ||
             given->option == GV_OPTION_check_max_idle_in)
        error = check_read_range(&rule, why);
    if (error) {
        free(rule.text);
        free(rule.of);
    } else {
        rules->rules[rules->count++] = rule;
    }
    return error;
}

static int check_refuse_word(const char *word, char why[GV_CHECK_WHY_BYTES])
{
    const struct gv_option *near = gv_option_nearest(GV_COMMAND_check, word);
    char name[GV_OPTION_NAME_BYTES];

    if (near && check_find((enum gv_option_id)(near - gv_options)))
        snprintf(why, GV_CHECK_WHY_BYTES, "unknown rule '%.64s'; did you mean '%s'?", word,
                 gv_option_name(near, name));
    else
        snprintf(why, GV_CHECK_WHY_BYTES, "unknown rule '%.64s'; see 'gpuverify check --help'",
                 word);
    return -EINVAL;
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

static int check_rule_line(struct gv_check_rules *rules, char *line, char why[GV_CHECK_WHY_BYTES])
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
    if (!value) {
        snprintf(why, GV_CHECK_WHY_BYTES, "unexpected text after the quoted value of %.64s", word);
        return -EINVAL;
    }
    const struct gv_option *option = gv_option_find(GV_COMMAND_check, word, length);
    if (!option || !check_find((enum gv_option_id)(option - gv_options)))
        return check_refuse_word(word, why);
    given.option = (enum gv_option_id)(option - gv_options);
    given.text = option->kind == GV_OPTION_IS_FLAG ? NULL : value;
    if (!given.text && *value) {
        snprintf(why, GV_CHECK_WHY_BYTES, "%s takes no value", word);
        return -EINVAL;
    }
    if (given.text && (!*value || gv_option_read(option, &given) < 0)) {
        snprintf(why, GV_CHECK_WHY_BYTES, "invalid value '%.64s' for %s, which takes %s", value,
                 word, gv_option_expected(option));
        return -EINVAL;
    }
    return gv_check_rules_add(rules, &given, why);
}

int gv_check_rules_parse(struct gv_check_rules *rules, const char *text, size_t bytes,
                         char why[GV_CHECK_WHY_BYTES])
{
    char line[GV_CHECK_LINE_BYTES], what[GV_CHECK_WHY_BYTES] = "";
    size_t number = 1;
    int error = 0;

    for (size_t at = 0; at < bytes && !error; number++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t length = end ? (size_t)(end - text) - at : bytes - at;
        if (length >= sizeof(line) || memchr(text + at, '\0', length)) {
            snprintf(what, sizeof(what), "not text, or too long");
            error = -EINVAL;
        } else {
            memcpy(line, text + at, length);
            line[length] = '\0';
            error = check_rule_line(rules, line, what);
        }
        if (error == -EINVAL)
            snprintf(why, GV_CHECK_WHY_BYTES, "line %zu: %.450s", number, what);
        at += length + 1;
    }
    return error;
}

void gv_check_rules_free(struct gv_check_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        free(rules->rules[i].text);
        free(rules->rules[i].range);
        free(rules->rules[i].of);
    }
    free(rules->rules);
    memset(rules, 0, sizeof(*rules));
}
