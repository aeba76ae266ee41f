#include "report/commands/arguments.h"

#include "report/commands/exit.h"
#include "report/commands/usage.h"
#include "report/show/message.h"
#include "report/show/value_text.h"
#include "trace/old_names.h"
#include "trace/settings.h"
#include "trace/word_distance.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gv_parse {
    const struct gv_command *command;
    enum gv_command_id id;
    struct gv_arguments *arguments;
    char **argv;
    int argc;
    int at;
    bool help;
};

int gv_arguments_refuse(const struct gv_command *command, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    gv_message_of(command->name, format, arguments);
    va_end(arguments);
    gv_command_text_usage(stderr, command);
    return GV_EXIT_USAGE;
}

int gv_arguments_refuse_empty(const struct gv_command *command)
{
    return gv_arguments_refuse(command, "an argument is empty");
}

int gv_arguments_refuse_word(const struct gv_command *command, const char *what, const char *word,
                             const char *words)
{
    const char *now = gv_old_name_now(what, word);
    char near[GV_WORD_BYTES];

    if (now)
        return gv_arguments_refuse(command, "unknown %s '%s'; %s", what, word, now);
    if (gv_word_nearest(word, words, near))
        return gv_arguments_refuse(command, "unknown %s '%s'; did you mean '%s'? Choose from:%s",
                                   what, word, near, words);
    return gv_arguments_refuse(command, "unknown %s '%s'; choose from:%s", what, word, words);
}

/* The index of a word among `words`; -1: none. */
static int word_find(const char *words, const char *word)
{
    for (int index = 0; *words; index++) {
        size_t known = strcspn(words + 1, " ");
        if (gv_word_is(word, words + 1, known))
            return index;
        words += known + 1;
    }
    return -1;
}

int gv_arguments_choose(const struct gv_arguments *arguments, enum gv_option_id option,
                        const char *what, const char *words, bool *wanted)
{
    int chosen = 0;

    for (size_t i = 0; i < arguments->given_count; i++) {
        if (arguments->given[i].option != option)
            continue;
        int index = word_find(words, arguments->given[i].text);
        if (index < 0) {
            gv_arguments_refuse_word(arguments->command, what, arguments->given[i].text, words);
            return -EINVAL;
        }
        wanted[index] = true;
        chosen++;
    }
    for (int index = 0; chosen == 0 && *words; index++) {
        wanted[index] = true;
        words += 1 + strcspn(words + 1, " ");
    }
    return chosen;
}

static int parse_unknown(const struct gv_parse *parse, const char *word, size_t length)
{
    char name[GV_OPTION_NAME_BYTES], near[GV_OPTION_NAME_BYTES];
    const struct gv_option *nearest = NULL;
    const char *now = NULL;

    if (length < sizeof(name)) {
        memcpy(name, word, length);
        name[length] = '\0';
        nearest = gv_option_nearest(parse->id, name);
        now = gv_old_name_now("option", name);
    }
    if (now)
        return gv_arguments_refuse(parse->command, "unknown option '--%s'; %s", name, now);
    if (nearest)
        return gv_arguments_refuse(parse->command, "unknown option '--%.*s'; did you mean '--%s'?",
                                   (int)length, word, gv_option_name(nearest, near));
    return gv_arguments_refuse(parse->command, "unknown option '--%.*s'", (int)length, word);
}

const char *gv_option_expected(const struct gv_option *option)
{
    static const char *const expected[] = {
        [GV_OPTION_IS_NUMBER] = "a whole number",
        [GV_OPTION_IS_DURATION] = "a time with its unit, such as 500us, 10ms or 2s",
        [GV_OPTION_IS_MOMENT] = "a time such as 10ms, 2h, 03:00 or '2026-11-22 03:00'",
        [GV_OPTION_IS_SIZE] = "a size with its unit, such as 500MB, 60GB or 2GiB",
        [GV_OPTION_IS_PERCENT] = "a percentage, such as 50% or 0.5",
        [GV_OPTION_IS_RATIO] = "a ratio, such as 0.3 or 30%",
        [GV_OPTION_IS_CHOICE] = NULL,
        [GV_OPTION_IS_EXTENT] = GV_SETTING_EXTENT_ALLOWED,
    };

    return expected[option->kind] ? expected[option->kind] : option->value;
}

int gv_option_read(const struct gv_option *option, struct gv_given *given)
{
    struct gv_setting_extent extent;
    int index;

    switch (option->kind) {
    case GV_OPTION_IS_NUMBER:
        return gv_value_number(given->text, &given->number);
    case GV_OPTION_IS_DURATION:
        return gv_value_duration(given->text, &given->number);
    case GV_OPTION_IS_MOMENT:
        return gv_value_moment(given->text, &given->moment);
    case GV_OPTION_IS_SIZE:
        return gv_value_size(given->text, &given->number);
    case GV_OPTION_IS_PERCENT:
    case GV_OPTION_IS_RATIO:
        index = gv_value_ratio(given->text, &given->fraction);
        if (!index && option->kind == GV_OPTION_IS_PERCENT && given->fraction > 1)
            return -ERANGE;
        return index;
    case GV_OPTION_IS_CHOICE:
        index = gv_choice_find(option->value, given->text);
        given->number = index;
        return index < 0 ? -EINVAL : 0;
    case GV_OPTION_IS_EXTENT:
        return gv_setting_extent_read(given->text, &extent) ? 0 : -EINVAL;
    default:
        return 0;
    }
}

static int parse_refuse_value(const struct gv_parse *parse, const struct gv_option *option,
                              const char *name, const char *value)
{
    const char *expected = gv_option_expected(option), *now = gv_old_name_now(name, value);
    char near[GV_WORD_BYTES];

    if (now)
        return gv_arguments_refuse(parse->command,
                                   "invalid value '%s' for --%s, which takes %s; %s", value, name,
                                   expected, now);
    if (option->kind == GV_OPTION_IS_CHOICE && gv_word_nearest(value, option->value, near))
        return gv_arguments_refuse(
            parse->command, "invalid value '%s' for --%s, which takes %s; did you mean '%s'?",
            value, name, expected, near);
    return gv_arguments_refuse(parse->command, "invalid value '%s' for --%s, which takes %s", value,
                               name, expected);
}

/* `value` NULL: takes the next word if needed. 0 or the exit code. */
static int parse_take(struct gv_parse *parse, const struct gv_option *option, const char *value)
{
    struct gv_given *given = &parse->arguments->given[parse->arguments->given_count];
    char name[GV_OPTION_NAME_BYTES];

    gv_option_name(option, name);
    memset(given, 0, sizeof(*given));
    given->option = (enum gv_option_id)(option - gv_options);
    if (option->kind == GV_OPTION_IS_FLAG) {
        if (value)
            return gv_arguments_refuse(parse->command, "--%s takes no value", name);
        parse->arguments->given_count++;
        return 0;
    }
    if (!value && parse->at + 1 < parse->argc)
        value = parse->argv[++parse->at];
    if (!value)
        return gv_arguments_refuse(parse->command, "--%s needs a value: %s", name,
                                   gv_option_expected(option));
    given->text = value;
    if (gv_option_read(option, given) < 0)
        return parse_refuse_value(parse, option, name, value);
    parse->arguments->given_count++;
    return 0;
}

static int parse_long(struct gv_parse *parse, const char *word)
{
    size_t length = strcspn(word, "=");
    const struct gv_option *option = gv_option_find(parse->id, word, length);

    if (option)
        return parse_take(parse, option, word[length] ? word + length + 1 : NULL);
    if (strcmp(word, "help") == 0) {
        parse->help = true;
        return 0;
    }
    return parse_unknown(parse, word, length);
}

/* "-o FILE", "-oFILE", and combined flags. */
static int parse_letters(struct gv_parse *parse, const char *word)
{
    for (const char *at = word; *at; at++) {
        const struct gv_option *option = gv_option_find_letter(parse->id, *at);
        if (!option && *at == 'h') {
            parse->help = true;
            return 0;
        }
        if (!option)
            return gv_arguments_refuse(parse->command, "unknown option '-%c'", *at);
        if (option->kind != GV_OPTION_IS_FLAG)
            return parse_take(parse, option, at[1] ? at + 1 : NULL);
        int code = parse_take(parse, option, NULL);
        if (code)
            return code;
    }
    return 0;
}

static int parse_words(struct gv_parse *parse)
{
    struct gv_arguments *arguments = parse->arguments;
    bool only_operands = false;
    int code = 0;

    for (parse->at = 1; parse->at < parse->argc && !code && !parse->help; parse->at++) {
        char *word = parse->argv[parse->at];
        bool is_programs = only_operands && parse->command->placing == GV_PLACING_FIRST;
        /* In a list it would be left out; who takes one says what it is not. */
        if (!word[0] && !is_programs && parse->command->most == GV_OPERANDS_MANY)
            code = gv_arguments_refuse_empty(parse->command);
        else if (only_operands || word[0] != '-' || word[1] == '\0') {
            arguments->operands[arguments->operand_count++] = word;
            only_operands |= parse->command->placing == GV_PLACING_FIRST;
        } else if (strcmp(word, "--") == 0) {
            arguments->parted_at = arguments->operand_count;
            only_operands = true;
        } else if (word[1] == '-') {
            code = parse_long(parse, word + 2);
        } else {
            code = parse_letters(parse, word + 1);
        }
    }
    return code;
}

static int parse_check_count(const struct gv_arguments *arguments)
{
    const struct gv_command *command = arguments->command;
    const enum gv_command_id id = (enum gv_command_id)(command - gv_commands);

    if (arguments->operand_count == 0 && command->fewest > 0)
        return gv_arguments_refuse(command, "%s is missing", command->operands);
    if (arguments->operand_count < command->fewest)
        return gv_arguments_refuse(command, "%s is not enough; expected: %s",
                                   arguments->operands[0], command->operands);
    bool fits = arguments->operand_count <= command->most;
    bool are_traces = command->placing == GV_PLACING_ANYWHERE;
    if (fits && (arguments->operand_count < 2 || !are_traces))
        return 0;
    for (int i = 0; i < arguments->operand_count; i++)
        if (gv_option_find(id, arguments->operands[i], strlen(arguments->operands[i])) &&
            (!fits || access(arguments->operands[i], F_OK) < 0))
            return gv_arguments_refuse(command, "unexpected argument '%s'; did you mean '--%s'?",
                                       arguments->operands[i], arguments->operands[i]);
    if (fits)
        return 0;
    return gv_arguments_refuse(command, "unexpected argument '%s'",
                               arguments->operands[command->most]);
}

/* Refuses options that would have no effect. */
static int parse_check_apart(const struct gv_arguments *arguments)
{
    static const struct {
        enum gv_option_id option;
        int other; /* -1: every other one */
        bool operands;
    } apart[] = {
#define GV_APART(command, option, other)                                                           \
    {GV_OPTION_##command##_##option, GV_OPTION_##command##_##other, true},
#define GV_ALONE(command, option, operands) {GV_OPTION_##command##_##option, -1, operands},
#include "report/commands/options_apart.def"
    };
    char one[GV_OPTION_NAME_BYTES], other[GV_OPTION_NAME_BYTES];

    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
        if (!gv_arguments_has(arguments, apart[i].option))
            continue;
        gv_option_name(&gv_options[apart[i].option], one);
        for (size_t j = 0; j < arguments->given_count; j++) {
            enum gv_option_id given = arguments->given[j].option;
            if (given != apart[i].option && (apart[i].other < 0 || (int)given == apart[i].other))
                return gv_arguments_refuse(arguments->command, "--%s cannot be used with --%s", one,
                                           gv_option_name(&gv_options[given], other));
        }
        if (!apart[i].operands && arguments->operand_count > 0)
            return gv_arguments_refuse(arguments->command, "--%s cannot be used with '%s'", one,
                                       arguments->operands[0]);
    }
    return 0;
}

bool gv_arguments_parse(const struct gv_command *command, int argc, char **argv,
                        struct gv_arguments *arguments, int *code)
{
    struct gv_parse parse = {
        .command = command,
        .id = (enum gv_command_id)(command - gv_commands),
        .arguments = arguments,
        .argv = argv,
        .argc = argc,
    };
    size_t letters = 1;

    for (int i = 1; i < argc; i++)
        letters += strlen(argv[i]); /* each may be a flag */
    *arguments = (struct gv_arguments){.command = command, .parted_at = -1};
    arguments->given = calloc(letters, sizeof(*arguments->given));
    arguments->operands = calloc((size_t)argc + 1, sizeof(*arguments->operands));
    if (!arguments->given || !arguments->operands) {
        gv_message("out of memory");
        *code = GV_EXIT_FAILED;
        return false;
    }
    *code = parse_words(&parse);
    if (*code == 0 && parse.help)
        gv_command_text_help(stdout, command);
    else if (*code == 0)
        *code = parse_check_count(arguments);
    if (*code == 0 && !parse.help)
        *code = parse_check_apart(arguments);
    return *code == 0 && !parse.help;
}

void gv_arguments_free(struct gv_arguments *arguments)
{
    free(arguments->given);
    free(arguments->operands);
    memset(arguments, 0, sizeof(*arguments));
}

const struct gv_given *gv_arguments_find(const struct gv_arguments *arguments,
                                         enum gv_option_id option)
{
    for (size_t i = arguments->given_count; i-- > 0;)
        if (arguments->given[i].option == option)
            return &arguments->given[i];
    return NULL;
}

bool gv_arguments_has(const struct gv_arguments *arguments, enum gv_option_id option)
{
    return gv_arguments_find(arguments, option) != NULL;
}

const char *gv_arguments_text(const struct gv_arguments *arguments, enum gv_option_id option,
                              const char *preset)
{
    const struct gv_given *given = gv_arguments_find(arguments, option);

    return given ? given->text : preset;
}

int64_t gv_arguments_number(const struct gv_arguments *arguments, enum gv_option_id option,
                            int64_t preset)
{
    const struct gv_given *given = gv_arguments_find(arguments, option);

    return given ? given->number : preset;
}
