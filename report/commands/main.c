/* gpuverify: runs the requested command. */
#include "report/commands/commands.h"
#include "report/commands/offer.h"
#include "report/commands/run/environment.h"
#include "report/commands/usage.h"
#include "report/show/message.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <string.h>

typedef int gv_command_function(const struct gv_arguments *arguments);

static gv_command_function *const command_functions[GV_COMMANDS_COUNT] = {
#define GV_COMMAND(name, function, operands, fewest, most, placing, summary, listed)               \
    [GV_COMMAND_##name] = function,
#include "report/commands/commands.def"
};

/* Checks that everything reached stdout; otherwise the exit code is worthless. */
static int finish_output(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        gv_message("cannot write the output");
        return GV_EXIT_FAILED;
    }
    return code;
}

/* Only one thread uses SQLite; its locks and memory statistics cost a fifth of an insert. */
static int configure_sqlite(void)
{
    return sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK &&
                   sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK
               ? 0
               : -EINVAL;
}

/* For LD_PRELOAD=$(gpuverify --library). */
static int print_library(void)
{
    char path[PATH_MAX];

    if (gv_run_find_library(path, sizeof(path)))
        return GV_EXIT_FAILED;
    puts(path);
    return finish_output(GV_EXIT_FINE);
}

static int command_run_by_name(const char *name, int argc, char **argv)
{
    const struct gv_command *command = gv_command_find(name);
    struct gv_arguments arguments;
    int code;

    if (!command)
        return gv_command_text_unknown(name);
    if (gv_arguments_parse(command, argc, argv, &arguments, &code))
        code = command_functions[command - gv_commands](&arguments);
    gv_arguments_free(&arguments);
    return finish_output(code);
}

int main(int argc, char **argv)
{
    gv_offer_called(argc > 0 ? argv[0] : NULL);
    if (configure_sqlite())
        fputs("gpuverify: cannot configure SQLite; using its defaults\n", stderr);
    if (argc < 2) {
        fputs("usage: gpuverify COMMAND [ARGUMENT...]\n", stderr);
        gv_command_text_list(stderr);
        return GV_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("gpuverify " GV_VERSION);
        return finish_output(GV_EXIT_FINE);
    }
    if (strcmp(argv[1], "--library") == 0)
        return print_library();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return command_run_by_name("help", 1, argv + 1);
    return command_run_by_name(argv[1], argc - 1, argv + 1);
}
