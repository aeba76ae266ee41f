/* gpuverify: finds the command that was asked for. */
#include "report/commands.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct gv_command {
    const char *name;
    int (*function)(int argc, char **argv);
    const char *arguments;
    const char *summary;
    bool listed;
};

static const struct gv_command gv_commands[] = {
#define GV_COMMAND(name, function, arguments, summary, listed)                                     \
    {#name, function, arguments, summary, listed},
#include "report/commands.def"
};

#define GV_COMMANDS_COUNT (sizeof(gv_commands) / sizeof(gv_commands[0]))
/* A word this many edits away from a command was probably meant to be it. */
#define GV_TYPO_LIMIT 3u
#define GV_WORD_LIMIT 31u

static const struct gv_command *gv_command_find(const char *name)
{
    for (size_t i = 0; i < GV_COMMANDS_COUNT; i++)
        if (strcmp(gv_commands[i].name, name) == 0)
            return &gv_commands[i];
    return NULL;
}

int gv_command_usage(const char *name)
{
    const struct gv_command *command = gv_command_find(name);

    if (command)
        fprintf(stderr, "usage: gpuverify %s %s\n", command->name, command->arguments);
    return GV_EXIT_USAGE;
}

void gv_command_list(FILE *out)
{
    for (size_t i = 0; i < GV_COMMANDS_COUNT; i++)
        if (gv_commands[i].listed)
            fprintf(out, "  %-8s %s\n", gv_commands[i].name, gv_commands[i].summary);
}

/* The number of letters to insert, delete or replace. */
static size_t gv_word_distance(const char *left, const char *right)
{
    size_t row[GV_WORD_LIMIT + 1], width = strlen(right);

    if (strlen(left) > GV_WORD_LIMIT || width > GV_WORD_LIMIT)
        return GV_WORD_LIMIT;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; left[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t best = diagonal + (left[i - 1] != right[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[width];
}

static int gv_command_unknown(const char *word)
{
    const char *nearest = NULL;
    size_t least = GV_TYPO_LIMIT;

    for (size_t i = 0; i < GV_COMMANDS_COUNT; i++) {
        size_t distance = gv_word_distance(word, gv_commands[i].name);
        if (gv_commands[i].listed && distance < least) {
            least = distance;
            nearest = gv_commands[i].name;
        }
    }
    if (nearest)
        gv_message("there is no command '%s'; did you mean '%s'?", word, nearest);
    else
        gv_message("there is no command '%s'; see 'gpuverify help'", word);
    return GV_EXIT_USAGE;
}

/* What went to stdout has to have arrived, or the exit code is worth nothing. */
static int gv_finish_output(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        gv_message("cannot write the output");
        return GV_EXIT_FAILED;
    }
    return code;
}

/* One thread uses SQLite here; its locks and its memory statistics cost a fifth of an insert. */
static int gv_configure_sqlite(void)
{
    return sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK &&
                   sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK
               ? 0
               : -EINVAL;
}

int main(int argc, char **argv)
{
    const struct gv_command *command;
    char *help[] = {(char[]){"help"}, NULL, NULL};

    if (gv_configure_sqlite())
        fputs("gpuverify: SQLite could not be set up; going on with its defaults\n", stderr);
    if (argc < 2) {
        fputs("usage: gpuverify COMMAND [ARGUMENT...]\n", stderr);
        gv_command_list(stderr);
        return GV_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("gpuverify " GV_VERSION);
        return gv_finish_output(GV_EXIT_FINE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return gv_finish_output(gv_command_help(1, help));
    command = gv_command_find(argv[1]);
    if (!command)
        return gv_command_unknown(argv[1]);
    if (argc >= 3 && strcmp(argv[2], "--help") == 0) {
        help[1] = argv[1];
        return gv_finish_output(gv_command_help(2, help));
    }
    return gv_finish_output(command->function(argc - 1, argv + 1));
}
