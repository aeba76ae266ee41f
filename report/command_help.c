/* gpuverify help: the commands, one of them, or the environment. */
#include "report/commands.h"

#include "trace/settings.h"

#include <stdbool.h>
#include <string.h>

#define GV_HELP_COLUMNS 78u

struct gv_help_text {
    const char *name;
    const char *arguments;
    const char *summary;
    const char *more;
};

static const char gv_help_run[] =
    "Runs PROGRAM as it is, with the library in LD_PRELOAD. Its input, output, signals and exit\n"
    "code are its own; the summary comes on stderr when it has ended.\n\n"
    "  -o FILE   where the trace goes; %p, %h and %n expand to the process id, the host and\n"
    "            the program. Otherwise GPUVERIFY_TRACE says it.\n\n"
    "Exit code: the program's; 127 if it was not found, 126 if it could not be started, 2 or 3\n"
    "if gpuverify itself could not go on.\n";
static const char gv_help_report[] =
    "Prints what FILE holds: calls by name, failed calls, loads of code, launches by kernel, "
    "calls\n"
    "that had not returned, and what was lost. Records that are still in shared memory are\n"
    "brought into the trace before.\n\n"
    "Exit code: 0, or 3 if FILE cannot be read or is no trace.\n";
static const char gv_help_stalls[] = "Lists stalls.\n";
static const char gv_help_explain[] = "Tells one stall.\n";
static const char gv_help_recover[] =
    "Brings records into their trace that stayed in shared memory because no collector took them:\n"
    "those of the traces, spools, session files or directories given, or all of this user's.\n"
    "What belongs to a collector at work is left to it.\n\n"
    "  -o FILE   where the trace goes, for one session\n\n"
    "Exit code: 0, also if nothing was there to recover, or 3 if something failed.\n";
static const char gv_help_help[] =
    "gpuverify help environment lists the variables that are obeyed.\n";
static const char gv_help_collect[] = "Started by the library, with the session's file locked as\n"
                                      "descriptor 3.\n";

static const struct gv_help_text gv_help_texts[] = {
#define GV_COMMAND(name, function, arguments, summary, listed)                                     \
    {#name, arguments, summary, gv_help_##name},
#include "report/commands.def"
};

/* Prints a text in lines of GV_HELP_COLUMNS at most, indented. */
static void gv_help_wrap(const char *text, unsigned int indent)
{
    unsigned int column = 0;

    while (*text) {
        unsigned int length = (unsigned int)strcspn(text, " ");
        if (column > 0 && column + 1 + length > GV_HELP_COLUMNS) {
            putchar('\n');
            column = 0;
        }
        if (column == 0)
            column = (unsigned int)printf("%*s", (int)indent, "");
        else
            column += (unsigned int)printf(" ");
        column += (unsigned int)printf("%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void gv_help_setting(const struct gv_setting *setting, const char *allowed,
                            const char *preset, void *context)
{
    (void)context;
    printf("%s", setting->name);
    if (setting->kind != GV_SETTING_IS_TEXT)
        printf("=%s (%s)", allowed, preset);
    putchar('\n');
    gv_help_wrap(setting->help, 4);
}

static int gv_help_environment(void)
{
    puts("Environment variables, with what they may be and their defaults:\n");
    gv_settings_describe(gv_help_setting, NULL);
    return GV_EXIT_FINE;
}

static int gv_help_general(void)
{
    puts("gpuverify shows whether a program uses the GPU, and which of its CUDA calls wait.\n\n"
         "usage: gpuverify COMMAND [ARGUMENT...]\n"
         "       LD_PRELOAD=libgpuverify.so PROGRAM\n");
    gv_command_list(stdout);
    puts("\n  --version  the version\n\n"
         "'gpuverify help COMMAND' says more, 'gpuverify help environment' lists the variables.\n"
         "Exit codes: 0 fine, 1 there is something to look at, 2 wrong use, 3 something could not\n"
         "be read or written.");
    return GV_EXIT_FINE;
}

int gv_command_help(int argc, char **argv)
{
    if (argc < 2)
        return gv_help_general();
    if (strcmp(argv[1], "environment") == 0)
        return gv_help_environment();
    for (size_t i = 0; i < sizeof(gv_help_texts) / sizeof(gv_help_texts[0]); i++) {
        const struct gv_help_text *text = &gv_help_texts[i];
        if (strcmp(text->name, argv[1]) != 0)
            continue;
        printf("usage: gpuverify %s %s\n\n%s\n", text->name, text->arguments, text->more);
        return GV_EXIT_FINE;
    }
    gv_message("there is no command '%s'", argv[1]);
    return GV_EXIT_USAGE;
}
