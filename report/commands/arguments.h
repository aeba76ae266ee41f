/*
 * A command line, checked against the tables of commands and options.
 *
 * Texts belong to argv.
 */
#ifndef GV_COMMANDS_ARGUMENTS_H
#define GV_COMMANDS_ARGUMENTS_H

#include "report/commands/options.h"
#include "report/show/value_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One option as it was given. */
struct gv_given {
    enum gv_option_id option;
    const char *text; /* NULL: a flag */
    int64_t number;   /* of a NUMBER; a DURATION's nanoseconds; a CHOICE's index */
    double fraction;  /* of a PERCENT or RATIO: 0.5 for 50% */
    struct gv_moment moment;
};

struct gv_arguments {
    const struct gv_command *command;
    struct gv_given *given; /* in the command line's order */
    size_t given_count;
    char **operands; /* ended by a NULL */
    int operand_count;
    int parted_at; /* the number of operands before "--"; -1: there was none */
};

/* Whether the command should run with *arguments, which must be freed in any case. If not, a
 * message or help was printed, and *code is the exit code. argv[0] is the command's name. */
bool gv_arguments_parse(const struct gv_command *command, int argc, char **argv,
                        struct gv_arguments *arguments, int *code);
void gv_arguments_free(struct gv_arguments *arguments);

/* The last value of an option; `preset` or NULL if it was not given. */
const struct gv_given *gv_arguments_find(const struct gv_arguments *arguments,
                                         enum gv_option_id option);
bool gv_arguments_has(const struct gv_arguments *arguments, enum gv_option_id option);
const char *gv_arguments_text(const struct gv_arguments *arguments, enum gv_option_id option,
                              const char *preset);
int64_t gv_arguments_number(const struct gv_arguments *arguments, enum gv_option_id option,
                            int64_t preset);

/* Sets wanted[i] for each of `words`, " a b c", that the option names; all if it was not given. The
 * number of times it was given, or -EINVAL after refusing a word; `what` is what a word names. */
int gv_arguments_choose(const struct gv_arguments *arguments, enum gv_option_id option,
                        const char *what, const char *words, bool *wanted);

/* Reads given->text as a value of the option, into *given. 0 or -errno. */
int gv_option_read(const struct gv_option *option, struct gv_given *given);
/* What an option's value must be, in words. */
const char *gv_option_expected(const struct gv_option *option);

/* Prints what is wrong with the use of a command, and its usage. Returns GV_EXIT_USAGE. */
int gv_arguments_refuse(const struct gv_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int gv_arguments_refuse_empty(const struct gv_command *command);
/* The same for a word that is none of `words`, " a b c": names the nearest one, and all. `what` is
 * their name, "section". */
int gv_arguments_refuse_word(const struct gv_command *command, const char *what, const char *word,
                             const char *words);

#endif
