/* gpuverify help: the commands, one of them, the environment, the manual page. */
#include "report/commands/commands.h"
#include "report/commands/usage.h"
#include "trace/settings.h"

#include <string.h>

static void help_setting(const struct gv_setting *setting, const char *allowed, const char *preset,
                         void *context)
{
    (void)context;
    printf("%s", setting->name);
    if (*preset)
        printf("=%s (%s)", allowed, preset);
    putchar('\n');
    gv_command_text_wrap(stdout, setting->help, 4);
}

static int help_environment(void)
{
    puts("Environment variables, with their values and defaults:\n");
    gv_settings_describe(help_setting, NULL);
    puts("\nVariables whose values a trace holds, because they change or name what it shows;\n"
         "no others are recorded:\n");
#define GV_ENVIRONMENT(name, help)                                                                 \
    puts(#name);                                                                                   \
    gv_command_text_wrap(stdout, help, 4);
#include "trace/environment.def"
    puts("\nVariables of launchers, from which a trace has a process's rank, local rank, world\n"
         "size, job and host; the first that are set:\n");
#define GV_LAUNCHER(name, rank, local, size, job, host)                                            \
    puts(name);                                                                                    \
    gv_command_text_wrap(stdout, #rank ", " #local ", " #size ", " #job ", " #host, 4);
#include "trace/launchers.def"
    return GV_EXIT_FINE;
}

static int help_general(void)
{
    gv_command_text_wrap(
        stdout, "gpuverify shows whether a program uses the GPU, and which of its CUDA calls wait.",
        0);
    puts("\nusage: gpuverify COMMAND [ARGUMENT...]\n"
         "       LD_PRELOAD=$(gpuverify --library) PROGRAM\n");
    gv_command_text_list(stdout);
    puts("\n  --version  the version\n"
         "  --library  the path of libgpuverify.so\n");
    gv_command_text_wrap(stdout,
                         "'gpuverify help COMMAND' explains a command, 'gpuverify help "
                         "environment' lists the variables.\n"
                         "Text and tables are as wide as the terminal, or as COLUMNS says.\n"
                         "Exit code: " GV_EXIT_TEXT,
                         0);
    return GV_EXIT_FINE;
}

int gv_command_help(const struct gv_arguments *arguments)
{
    static void (*const print[])(FILE * out) = {gv_completion_print_bash, gv_completion_print_zsh,
                                                gv_completion_print_fish};
    const struct gv_given *shell = gv_arguments_find(arguments, GV_OPTION_help_completion);
    const char *name = arguments->operands[0];

    if (gv_arguments_has(arguments, GV_OPTION_help_man)) {
        gv_man_print(stdout);
        return GV_EXIT_FINE;
    }
    if (shell) {
        print[shell->number](stdout);
        return GV_EXIT_FINE;
    }
    if (!name)
        return help_general();
    if (strcmp(name, "environment") == 0)
        return help_environment();
    const struct gv_command *command = gv_command_find(name);
    if (!command)
        return gv_command_text_unknown(name);
    gv_command_text_help(stdout, command);
    return GV_EXIT_FINE;
}
