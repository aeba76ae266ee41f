/* The manual page, in the language of man(7). */

#include "report/commands/exit.h"
#include "report/commands/usage.h"
#include "trace/settings.h"

#include <string.h>

/* What roff would interpret, and how it is written. */
static const char *const man_escapes[][2] = {
    {"-", "\\-"},   {"\\", "\\e"},  {"'", "\\(aq"},  {"`", "\\(ga"},
    {"^", "\\(ha"}, {"~", "\\(ti"}, {"\"", "\\(dq"},
};

static const char *man_character(char character)
{
    for (size_t i = 0; i < sizeof(man_escapes) / sizeof(man_escapes[0]); i++)
        if (man_escapes[i][0][0] == character)
            return man_escapes[i][1];
    return NULL;
}

static void man_text(FILE *out, const char *text)
{
    char last = '\n';

    for (; *text; last = *text++) {
        const char *written = man_character(*text);
        if (last == '\n' && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\n' && text[1] == '\n')
            fputs("\n.PP", out);
        else if (written)
            fputs(written, out);
        else
            fputc(*text, out);
    }
}

static void man_option(FILE *out, const struct gv_option *option)
{
    char name[GV_OPTION_NAME_BYTES];

    fputs(".TP\n\\fB", out);
    if (option->letter)
        fprintf(out, "\\-%c\\fP, \\fB", option->letter);
    man_text(out, "--");
    man_text(out, gv_option_name(option, name));
    fputs("\\fP", out);
    if (option->kind != GV_OPTION_IS_FLAG) {
        fputs(" \\fI", out);
        man_text(out, option->value);
        fputs("\\fP", out);
    }
    fputc('\n', out);
    man_text(out, option->help);
    if (option->help[0] && !strchr(".)", option->help[strlen(option->help) - 1]))
        fputc('.', out);
    if (*option->preset) {
        fputs("\nDefault: ", out);
        man_text(out, option->preset);
        fputc('.', out);
    }
    fputc('\n', out);
}

static void man_synopsis(FILE *out, const struct gv_command *command)
{
    bool options = gv_command_has_options(command);

    fprintf(out, "\\fBgpuverify %s\\fP ", command->name);
    if (options && command->placing == GV_PLACING_FIRST)
        fputs("[\\fIOPTION\\fP...] [\\-\\-] ", out);
    man_text(out, command->operands);
    if (options && command->placing != GV_PLACING_FIRST)
        fputs(" [\\fIOPTION\\fP...]", out);
    fputc('\n', out);
}

static void man_command(FILE *out, const struct gv_command *command)
{
    fprintf(out, ".SS %s\n", command->name);
    man_synopsis(out, command);
    fputs(".PP\n", out);
    man_text(out, command->details);
    fputc('\n', out);
    for (int i = 0; i < GV_OPTIONS_COUNT; i++)
        if (&gv_commands[gv_options[i].command] == command)
            man_option(out, &gv_options[i]);
    for (size_t i = 0; i < gv_examples_count; i++) {
        const struct gv_example *example = &gv_examples[i];
        if (&gv_commands[example->command] != command)
            continue;
        fprintf(out, ".PP\n.RS 4\n\\fBgpuverify %s ", command->name);
        man_text(out, example->arguments);
        fputs("\\fP\n.br\n", out);
        man_text(out, example->help);
        fputs("\n.RE\n", out);
    }
}

static void man_setting(const struct gv_setting *setting, const char *allowed, const char *preset,
                        void *context)
{
    FILE *out = context;

    fprintf(out, ".TP\n\\fB%s\\fP", setting->name);
    if (*preset) {
        fputs("=\\fI", out);
        man_text(out, allowed);
        fputs("\\fP (", out);
        man_text(out, preset);
        fputc(')', out);
    }
    fputc('\n', out);
    man_text(out, setting->help);
    fputc('\n', out);
}

void gv_man_print(FILE *out)
{
    fputs(".TH GPUVERIFY 1 \"\" \"gpuverify " GV_VERSION "\" \"User Commands\"\n"
          ".SH NAME\n"
          "gpuverify \\- show whether a program uses the GPU, and which of its CUDA calls wait\n"
          ".SH SYNOPSIS\n",
          out);
    for (int i = 0; i < GV_COMMANDS_COUNT; i++)
        if (gv_commands[i].listed) {
            man_synopsis(out, &gv_commands[i]);
            fputs(".br\n", out);
        }
    fputs("\\fBLD_PRELOAD=$(gpuverify \\-\\-library)\\fP PROGRAM [ARGUMENT...]\n"
          ".SH DESCRIPTION\n"
          "gpuverify records the CUDA calls of an unmodified, dynamically linked program: which\n"
          "calls, when, for how long, with what result, why they stalled, which code was\n"
          "loaded, and what ran on the GPU. It leaves one SQLite file, its trace.\n"
          ".SH COMMANDS\n",
          out);
    for (int i = 0; i < GV_COMMANDS_COUNT; i++)
        if (gv_commands[i].listed)
            man_command(out, &gv_commands[i]);
    fputs(".SH ENVIRONMENT\n", out);
    gv_settings_describe(man_setting, out);
    fputs(".TP\n\\fBCOLUMNS\\fP\nHow wide text and tables are; otherwise as wide as the terminal.\n"
          ".TP\n\\fBNO_COLOR\\fP\nIf it is set and not empty, no colours and no bold type on a "
          "terminal.\n"
          ".PP\n\\fBgpuverify help environment\\fP also lists the variables whose values a trace "
          "has.\n",
          out);
    fputs(".SH EXIT STATUS\n", out);
    man_text(out, GV_EXIT_TEXT);
    fputs("\n\\fBgpuverify run\\fP ends as the program did.\n"
          ".SH SEE ALSO\n"
          ".BR ld.so (8),\n"
          ".BR sqlite3 (1)\n",
          out);
}
