#include "report/commands/options.h"

#include "trace/word_distance.h"

#include <string.h>

#define GV_DETAILS(command, text) static const char gv_details_##command[] = text;
#define GV_OPTION(command, name, letter, kind, value, preset, help)
#define GV_EXAMPLE(command, arguments, help)
#include "report/commands/options.def"

const struct gv_command gv_commands[GV_COMMANDS_COUNT] = {
#define GV_COMMAND(name, function, operands, fewest, most, placing, summary, listed)               \
    [GV_COMMAND_##name] = {#name,   operands,          fewest, most, GV_PLACING_##placing,         \
                           summary, gv_details_##name, listed},
#include "report/commands/commands.def"
};

/* Those of settings that run has an option for. */
#define GV_SETTING_TEXT(field, name, preset, help)
#define GV_SETTING_NUMBER(field, name, preset, lowest, highest, unit, help)
#define GV_SETTING_CHOICE(field, name, preset, choices, help)                                      \
    __attribute__((unused)) static const char setting_##field[] = choices;
#define GV_SETTING_EXTENT(field, name, help)
#include "trace/settings.def"

/* Words of options, each after a |. */
static const char export_formats[] =
#define GV_EXPORT_STACKS(name, lines, write, is_own) "|" #name
#define GV_EXPORT_TRACE                              GV_EXPORT_STACKS
#define GV_EXPORT_FOLDER(name, write)                "|" #name
#define GV_EXPORT_FLEET(name)                        "|" #name
#include "report/commands/export/formats.def"
    ;
static const char export_weighed[] =
#define GV_WEIGHED(name, title, leaf) "|" #name
#include "report/commands/export/weighed.def"
    ;

const struct gv_option gv_options[] = {
#define GV_DETAILS(command, text)
#define GV_OPTION(command, name, letter, kind, value, preset, help)                                \
    [GV_OPTION_##command##_##                                                                      \
        name] = {GV_COMMAND_##command, #name, letter, GV_OPTION_IS_##kind, value, preset, help},
#define GV_EXAMPLE(command, arguments, help)
#include "report/commands/options.def"
};

const struct gv_example gv_examples[] = {
#define GV_DETAILS(command, text)
#define GV_OPTION(command, name, letter, kind, value, preset, help)
#define GV_EXAMPLE(command, arguments, help) {GV_COMMAND_##command, arguments, help},
#include "report/commands/options.def"
};

const size_t gv_examples_count = sizeof(gv_examples) / sizeof(gv_examples[0]);

const char *gv_option_name(const struct gv_option *option, char out[GV_OPTION_NAME_BYTES])
{
    size_t length = 0;

    for (const char *at = option->identifier; *at && length + 1 < GV_OPTION_NAME_BYTES; at++)
        out[length++] = *at == '_' ? '-' : *at;
    out[length] = '\0';
    return out;
}

const struct gv_command *gv_command_find(const char *name)
{
    for (int i = 0; i < GV_COMMANDS_COUNT; i++)
        if (strcmp(gv_commands[i].name, name) == 0)
            return &gv_commands[i];
    return NULL;
}

const struct gv_command *gv_command_nearest(const char *word)
{
    const struct gv_command *nearest = NULL;
    size_t least = GV_WORD_TYPO;

    for (int i = 0; i < GV_COMMANDS_COUNT; i++)
        if (gv_commands[i].listed && gv_word_is_nearer(word, gv_commands[i].name, &least))
            nearest = &gv_commands[i];
    return nearest;
}

const struct gv_option *gv_option_find(enum gv_command_id command, const char *name, size_t length)
{
    char known[GV_OPTION_NAME_BYTES];

    for (int i = 0; i < GV_OPTIONS_COUNT; i++)
        if (gv_options[i].command == command &&
            strlen(gv_option_name(&gv_options[i], known)) == length &&
            strncmp(known, name, length) == 0)
            return &gv_options[i];
    return NULL;
}

const struct gv_option *gv_option_find_letter(enum gv_command_id command, char letter)
{
    for (int i = 0; i < GV_OPTIONS_COUNT; i++)
        if (letter && gv_options[i].command == command && gv_options[i].letter == letter)
            return &gv_options[i];
    return NULL;
}

const struct gv_option *gv_option_nearest(enum gv_command_id command, const char *word)
{
    const struct gv_option *nearest = NULL;
    size_t least = GV_WORD_TYPO;
    char known[GV_OPTION_NAME_BYTES];

    for (int i = 0; i < GV_OPTIONS_COUNT; i++)
        if (gv_options[i].command == command &&
            gv_word_is_nearer(word, gv_option_name(&gv_options[i], known), &least))
            nearest = &gv_options[i];
    return nearest;
}

int gv_choice_find(const char *choices, const char *text)
{
    size_t length = strlen(text);

    for (int index = 0;; index++) {
        size_t choice = strcspn(choices, "|");
        if (choice == length && strncmp(choices, text, length) == 0)
            return index;
        if (!choices[choice])
            return -1;
        choices += choice + 1;
    }
}
