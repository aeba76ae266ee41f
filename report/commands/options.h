/* The tables of commands and options as data; see report/commands/commands.def and
 * report/commands/options.def. */
#ifndef GV_COMMANDS_OPTIONS_H
#define GV_COMMANDS_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define GV_OPERANDS_MANY INT_MAX

enum gv_command_id {
#define GV_COMMAND(name, function, operands, fewest, most, placing, summary, listed)               \
    GV_COMMAND_##name,
#include "report/commands/commands.def"
    GV_COMMANDS_COUNT
};

enum gv_option_id {
#define GV_DETAILS(command, text)
#define GV_OPTION(command, name, letter, kind, value, preset, help) GV_OPTION_##command##_##name,
#define GV_EXAMPLE(command, arguments, help)
#include "report/commands/options.def"
    GV_OPTIONS_COUNT
};

enum gv_option_kind {
    GV_OPTION_IS_FLAG,
    GV_OPTION_IS_TEXT,
    GV_OPTION_IS_PATH,
    GV_OPTION_IS_NUMBER,
    GV_OPTION_IS_DURATION,
    GV_OPTION_IS_MOMENT,
    GV_OPTION_IS_SIZE,
    GV_OPTION_IS_PERCENT,
    GV_OPTION_IS_RATIO,
    GV_OPTION_IS_CHOICE,
    GV_OPTION_IS_EXTENT,
};

enum gv_placing {
    GV_PLACING_ANYWHERE,
    GV_PLACING_FIRST, /* the first operand ends the options */
};

struct gv_option {
    enum gv_command_id command;
    const char *identifier; /* the name, with _ for - */
    char letter;            /* 0: none */
    enum gv_option_kind kind;
    const char *value; /* its name in help; for a choice all of them, separated by | */
    const char *preset;
    const char *help;
};

struct gv_example {
    enum gv_command_id command;
    const char *arguments;
    const char *help;
};

struct gv_command {
    const char *name;
    const char *operands;
    int fewest;
    int most;
    enum gv_placing placing;
    const char *summary;
    const char *details;
    bool listed;
};

extern const struct gv_command gv_commands[GV_COMMANDS_COUNT];
extern const struct gv_option gv_options[];
extern const struct gv_example gv_examples[];
extern const size_t gv_examples_count;

#define GV_OPTION_NAME_BYTES 40u

/* "min-gpu-busy". Returns `out`. */
const char *gv_option_name(const struct gv_option *option, char out[GV_OPTION_NAME_BYTES]);

/* NULL: there is none. */
const struct gv_command *gv_command_find(const char *name);
/* The listed command that was probably meant; NULL: none is near. */
const struct gv_command *gv_command_nearest(const char *word);

/* Finds an option by its long name of `length` bytes. NULL: none. */
const struct gv_option *gv_option_find(enum gv_command_id command, const char *name, size_t length);
const struct gv_option *gv_option_find_letter(enum gv_command_id command, char letter);
const struct gv_option *gv_option_nearest(enum gv_command_id command, const char *word);

/* The index of a text among the choices a|b|c; -1: none. */
int gv_choice_find(const char *choices, const char *text);

#endif
