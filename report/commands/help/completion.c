/* Completion of gpuverify's words in bash, zsh and fish. */
#include "report/commands/usage.h"

#include "report/commands/account_words.h"
#include "report/commands/diff/diff.h"
#include "report/commands/options.h"
#include "report/commands/report/report.h"
#include "report/store/schema_text.h"

#include <string.h>

static const char completion_queries[] = ""
#define GV_SQL(name, help, text) " " #name
#include "report/commands_query_queries.inc"
    ;

/* The words that an option may be, between ' ' or '|'; NULL: free text. */
static const char *completion_words(enum gv_option_id option)
{
    switch (option) {
    case GV_OPTION_report_section:
        return gv_report_section_words + 1;
    case GV_OPTION_diff_section:
        return gv_diff_area_words + 1;
    case GV_OPTION_stalls_cause:
    case GV_OPTION_check_no_stall:
        return gv_cause_words + 1;
    default:
        return gv_options[option].kind == GV_OPTION_IS_CHOICE ? gv_options[option].value : NULL;
    }
}

/* Prints those words, for the shells: "a b c". false: there are none. */
static bool completion_choose(FILE *out, enum gv_option_id option, const char *before,
                              const char *after)
{
    const char *words = completion_words(option);

    if (!words)
        return false;
    fputs(before, out);
    for (; *words; words++)
        fputc(*words == '|' ? ' ' : *words, out);
    fprintf(out, "%s%s", option == GV_OPTION_check_no_stall ? " any" : "", after);
    return true;
}

struct gv_completion_view {
    FILE *out;
    char last[64];
};

static void completion_view(const struct gv_schema_column *column, void *context)
{
    struct gv_completion_view *view = context;

    if (strcmp(view->last, column->object) == 0)
        return;
    fprintf(view->out, "%s%s", view->last[0] ? " " : "", column->object);
    snprintf(view->last, sizeof(view->last), "%s", column->object);
}

/* Without memory there are none. */
static void completion_views(FILE *out)
{
    struct gv_completion_view view = {.out = out};

    gv_schema_describe(NULL, false, completion_view, &view);
}

static void completion_commands(FILE *out)
{
    for (int i = 0; i < GV_COMMANDS_COUNT; i++)
        if (gv_commands[i].listed)
            fprintf(out, " %s", gv_commands[i].name);
}

/* case "$command $before" in ...: the values of choices; of all others, files. */
static void completion_bash_values(FILE *out)
{
    char name[GV_OPTION_NAME_BYTES];

    for (int i = 0; i < GV_OPTIONS_COUNT; i++) {
        const struct gv_option *option = &gv_options[i];
        if (option->kind == GV_OPTION_IS_FLAG)
            continue;
        fprintf(out, "        '%s --%s'", gv_commands[option->command].name,
                gv_option_name(option, name));
        if (option->letter)
            fprintf(out, " | '%s -%c'", gv_commands[option->command].name, option->letter);
        fputs(") ", out);
        if (!completion_choose(out, (enum gv_option_id)i, "words='", "' ;;\n"))
            fprintf(out, "%s ;;\n", option->kind == GV_OPTION_IS_PATH ? "files=-f" : "return");
    }
}

static void completion_bash_options(FILE *out)
{
    char name[GV_OPTION_NAME_BYTES];

    for (int i = 0; i < GV_COMMANDS_COUNT; i++) {
        if (!gv_commands[i].listed)
            continue;
        fprintf(out, "        %s) words='--help", gv_commands[i].name);
        for (int j = 0; j < GV_OPTIONS_COUNT; j++)
            if ((int)gv_options[j].command == i)
                fprintf(out, " --%s", gv_option_name(&gv_options[j], name));
        fputs("' ;;\n", out);
    }
}

void gv_completion_print_bash(FILE *out)
{
    fputs("# gpuverify's words in bash; made by 'gpuverify help --completion bash'.\n"
          "_gpuverify() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} words='' files=''\n"
          "    if [ \"$word\" = = ]; then word=''; fi\n"
          "    if [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '--help --library --version",
          out);
    completion_commands(out);
    fputs("' -- \"$word\")\n"
          "        return\n"
          "    fi\n"
          "    case \"$command $before\" in\n",
          out);
    completion_bash_values(out);
    fputs("        help\\ *) words='environment", out);
    completion_commands(out);
    fputs("' ;;\n        query\\ *) files=-f words='", out);
    fputs(completion_queries + 1, out);
    fputs("' ;;\n        schema\\ *) words='", out);
    completion_views(out);
    fputs("' ;;\n"
          "        *) files=-f ;;\n"
          "    esac\n"
          "    if [ \"$command$files\" = run-f ]; then files=-cf; fi\n"
          "    if [ \"${word:0:1}\" = - ]; then\n"
          "        files=''\n"
          "        case \"$command\" in\n",
          out);
    completion_bash_options(out);
    fputs("        esac\n"
          "    fi\n"
          "    mapfile -t COMPREPLY < <(\n"
          "        compgen -W \"$words\" -- \"$word\"\n"
          "        [ -z \"$files\" ] || compgen \"$files\" -- \"$word\")\n"
          "}\n"
          "complete -o filenames -F _gpuverify gpuverify\n",
          out);
}

/* A word inside '...' of zsh's _arguments: [, ] and : would end it. */
static void completion_zsh_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void completion_zsh_option(FILE *out, const struct gv_option *option)
{
    char name[GV_OPTION_NAME_BYTES];

    fprintf(out, "                '*--%s%s[", gv_option_name(option, name),
            option->kind == GV_OPTION_IS_FLAG ? "" : "=");
    completion_zsh_text(out, option->help);
    fputc(']', out);
    if (!completion_choose(out, (enum gv_option_id)(option - gv_options), ":value:(", ")") &&
        option->kind != GV_OPTION_IS_FLAG)
        fputs(option->kind == GV_OPTION_IS_PATH ? ":file:_files" : ":value: ", out);
    fputs("' \\\n", out);
}

static void completion_zsh_command(FILE *out, int number)
{
    const struct gv_command *command = &gv_commands[number];

    fprintf(out, "        %s) _arguments \\\n                '--help[how to use it]' \\\n",
            command->name);
    for (int i = 0; i < GV_OPTIONS_COUNT; i++)
        if ((int)gv_options[i].command == number)
            completion_zsh_option(out, &gv_options[i]);
    if (number == GV_COMMAND_help) {
        fputs("                '*:command:(environment", out);
        completion_commands(out);
        fputs(")' ;;\n", out);
    } else if (number == GV_COMMAND_query) {
        fprintf(out, "                '1:file:_files' '2:query:(%s)' ;;\n", completion_queries + 1);
    } else if (number == GV_COMMAND_schema) {
        fputs("                '1:view:(", out);
        completion_views(out);
        fputs(")' ;;\n", out);
    } else {
        fprintf(out, "                '*:%s' ;;\n",
                command->placing == GV_PLACING_FIRST ? ": _normal" : "file:_files");
    }
}

void gv_completion_print_zsh(FILE *out)
{
    fputs("#compdef gpuverify\n"
          "# gpuverify's words in zsh; made by 'gpuverify help --completion zsh'.\n"
          "_gpuverify() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (int i = 0; i < GV_COMMANDS_COUNT; i++)
        if (gv_commands[i].listed) {
            fprintf(out, "        '%s:", gv_commands[i].name);
            completion_zsh_text(out, gv_commands[i].summary);
            fputs("'\n", out);
        }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local name=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case \"$name\" in\n",
          out);
    for (int i = 0; i < GV_COMMANDS_COUNT; i++)
        if (gv_commands[i].listed)
            completion_zsh_command(out, i);
    fputs("    esac\n"
          "}\n"
          "_gpuverify \"$@\"\n",
          out);
}

/* A word inside '...' of fish. */
static void completion_fish_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

/* What may follow the command: words between blanks, or files. */
static void completion_fish_words(FILE *out, const char *command, const char *words)
{
    fprintf(out, "complete -c gpuverify -n '__fish_seen_subcommand_from %s' -a '%s'\n", command,
            words);
}

static void completion_fish_option(FILE *out, const struct gv_option *option)
{
    char name[GV_OPTION_NAME_BYTES];

    fprintf(out, "complete -c gpuverify -n '__fish_seen_subcommand_from %s' -l %s",
            gv_commands[option->command].name, gv_option_name(option, name));
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (!completion_choose(out, (enum gv_option_id)(option - gv_options), " -x -a '", "'") &&
        option->kind != GV_OPTION_IS_FLAG)
        fputs(option->kind == GV_OPTION_IS_PATH ? " -rF" : " -x", out);
    fputs(" -d '", out);
    completion_fish_text(out, option->help);
    fputs("'\n", out);
}

void gv_completion_print_fish(FILE *out)
{
    fputs("# gpuverify's words in fish; made by 'gpuverify help --completion fish'.\n", out);
    for (int i = 0; i < GV_COMMANDS_COUNT; i++)
        if (gv_commands[i].listed) {
            fprintf(out, "complete -c gpuverify -n __fish_use_subcommand -f -a %s -d '",
                    gv_commands[i].name);
            completion_fish_text(out, gv_commands[i].summary);
            fputs("'\n", out);
        }
    for (int i = 0; i < GV_OPTIONS_COUNT; i++)
        completion_fish_option(out, &gv_options[i]);
    completion_fish_words(out, "run doctor", "(__fish_complete_subcommand --fcs-skip=2)");
    completion_fish_words(out, "query", completion_queries + 1);
    fputs("complete -c gpuverify -n '__fish_seen_subcommand_from schema' -a '", out);
    completion_views(out);
    fputs("'\ncomplete -c gpuverify -n '__fish_seen_subcommand_from help' -a 'environment", out);
    completion_commands(out);
    fputs("'\n", out);
}
