#include "report/commands/usage.h"

#include "report/commands/exit.h"
#include "report/commands/program_path.h"
#include "report/show/message.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The widest and the narrowest help. */
#define GV_TEXT_COLUMNS     78u
#define GV_TEXT_LEAST       40u
#define GV_TEXT_HELP_INDENT 24u
#define GV_TEXT_LIST_INDENT 11u

bool gv_command_has_options(const struct gv_command *command)
{
    for (int i = 0; i < GV_OPTIONS_COUNT; i++)
        if (&gv_commands[gv_options[i].command] == command)
            return true;
    return false;
}

void gv_command_text_usage(FILE *out, const struct gv_command *command)
{
    const char *options = gv_command_has_options(command) ? "[OPTION...]" : NULL;

    fprintf(out, "usage: gpuverify %s", command->name);
    if (options && command->placing == GV_PLACING_FIRST)
        fprintf(out, " %s [--] %s\n", options, command->operands);
    else if (options)
        fprintf(out, "%s%s %s\n", command->operands[0] ? " " : "", command->operands, options);
    else
        fprintf(out, " %s\n", command->operands);
}

int gv_command_text_unknown(const char *word)
{
    const struct gv_command *nearest = gv_command_nearest(word);
    char path[PATH_MAX];
    struct stat status;

    if (nearest)
        gv_message("unknown command '%s'; did you mean '%s'?", word, nearest->name);
    else if (stat(word, &status) == 0 && S_ISREG(status.st_mode))
        gv_message("unknown command '%s'; did you mean 'gpuverify %s %s'?", word,
                   access(word, X_OK) == 0 ? "run" : "report", word);
    else if (!strchr(word, '/') && gv_program_find(word, path) == 0)
        gv_message("unknown command '%s'; did you mean 'gpuverify run -- %s'?", word, word);
    else
        gv_message("unknown command '%s'; see 'gpuverify help'", word);
    return GV_EXIT_USAGE;
}

static unsigned int text_columns(FILE *out)
{
    unsigned int width = gv_terminal_width(out);

    if (width == 0 || width > GV_TEXT_COLUMNS)
        return GV_TEXT_COLUMNS;
    return width < GV_TEXT_LEAST ? GV_TEXT_LEAST : width;
}

/* One paragraph, which ends at its first newline. `column`: the current one, at most `indent`. */
static const char *text_paragraph(FILE *out, const char *text, unsigned int indent,
                                  unsigned int column)
{
    size_t length = strcspn(text, "\n");
    char *line = strndup(text, length);

    fprintf(out, "%*s", (int)(indent - column), "");
    if (line)
        gv_text_lines_on(out, (int)indent, (int)indent, line, (int)text_columns(out));
    free(line);
    return text + length;
}

void gv_command_text_list(FILE *out)
{
    for (int i = 0; i < GV_COMMANDS_COUNT; i++)
        if (gv_commands[i].listed)
            text_paragraph(out, gv_commands[i].summary, GV_TEXT_LIST_INDENT,
                           (unsigned int)fprintf(out, "  %s", gv_commands[i].name));
}

void gv_command_text_wrap(FILE *out, const char *text, unsigned int indent)
{
    while (*text) {
        text = text_paragraph(out, text, indent, 0);
        if (*text == '\n' && text[1] == '\n')
            fputc('\n', out);
        text += strspn(text, "\n");
    }
}

static void text_option(FILE *out, const struct gv_option *option)
{
    char name[GV_OPTION_NAME_BYTES], letter[] = "    ", help[1024];
    int column;

    if (option->letter)
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    column = fprintf(out, "  %s--%s%s%s", letter, gv_option_name(option, name),
                     option->kind == GV_OPTION_IS_FLAG ? "" : " ", option->value);
    if (column < 0)
        return;
    snprintf(help, sizeof(help), "%s%s%s%s", option->help, *option->preset ? " (default " : "",
             option->preset, *option->preset ? ")" : "");
    if ((unsigned int)column + 2 > GV_TEXT_HELP_INDENT) {
        fputc('\n', out);
        column = 0;
    }
    text_paragraph(out, help, GV_TEXT_HELP_INDENT, (unsigned int)column);
}

static void text_options(FILE *out, const struct gv_command *command)
{
    if (gv_command_has_options(command))
        fputs("\nOptions:\n", out);
    for (int i = 0; i < GV_OPTIONS_COUNT; i++)
        if (&gv_commands[gv_options[i].command] == command)
            text_option(out, &gv_options[i]);
}

static void text_examples(FILE *out, const struct gv_command *command)
{
    const char *heading = "\nExamples:\n";

    for (size_t i = 0; i < gv_examples_count; i++) {
        const struct gv_example *example = &gv_examples[i];
        if (&gv_commands[example->command] != command)
            continue;
        fprintf(out, "%s  gpuverify %s%s%s\n", heading, command->name,
                *example->arguments ? " " : "", example->arguments);
        gv_command_text_wrap(out, example->help, 6);
        heading = "";
    }
}

void gv_command_text_help(FILE *out, const struct gv_command *command)
{
    gv_command_text_usage(out, command);
    fputc('\n', out);
    gv_command_text_wrap(out, command->details, 0);
    text_options(out, command);
    text_examples(out, command);
    if (command->placing == GV_PLACING_FIRST)
        return; /* the exit code is the program's, as its details say */
    fputc('\n', out);
    gv_command_text_wrap(out, "Exit code: " GV_EXIT_TEXT, 0);
}
