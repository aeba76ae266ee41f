/* gpuverify fleet DIR [QUESTION]: answers a question about exported traces, with DuckDB. */
#include "report/commands/fleet/python.h"

#include "report/commands/commands.h"
#include "report/show/message.h"
#include "trace/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing is imported from the working folder: it may be a folder of strangers' traces. */
static const char python_start[] =
    "import importlib, os, sys\n"
    "sys.path = [folder for folder in sys.path if folder]\n"
    "try:\n"
    "    main = importlib.import_module(sys.argv[1]).main\n"
    "except ImportError as why:\n"
    "    print(f\"gpuverify: this needs gpuverify's Python package, which {sys.executable} does "
    "not "
    "have: {why}; install the wheel, or name another Python in GPUVERIFY_PYTHON\", "
    "file=sys.stderr)\n"
    "    sys.exit(3)\n"
    "code = main(sys.argv[2:])\n"
    "try:\n"
    "    sys.stdout.flush()\n"
    "except OSError as why:\n"
    "    print(f\"gpuverify: cannot write the output: {why.strerror}\", file=sys.stderr)\n"
    "    os._exit(3)\n"
    "sys.exit(code)\n";

static int python_add(char ***words, size_t *count, char *word)
{
    char **grown = realloc(*words, (*count + 2) * sizeof(*grown));

    if (!grown || !word) {
        if (grown)
            *words = grown;
        return -ENOMEM;
    }
    grown[(*count)++] = word;
    grown[*count] = NULL;
    *words = grown;
    return 0;
}

static char *python_option(const struct gv_given *given)
{
    char name[GV_OPTION_NAME_BYTES], *word = NULL;

    gv_option_name(&gv_options[given->option], name);
    return asprintf(&word, "--%s=%s", name, given->text ? given->text : "") < 0 ? NULL : word;
}

/* The package is to call this very command. 0 or -errno. */
static int python_name_command(void)
{
    char path[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (bytes < 0)
        return -errno;
    path[bytes] = '\0';
    return setenv(GV_SETTING_COMMAND, path, 1) < 0 ? -errno : 0;
}

int gv_python_become(const char *module, const struct gv_arguments *arguments)
{
    const char *python = getenv(GV_SETTING_PYTHON);
    char **words = NULL;
    size_t count = 0;
    int error = python_name_command();

    if (!python || !*python)
        python = "python3";
    const char *const first[] = {python, "-c", python_start, module};
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]) && !error; i++)
        error = python_add(&words, &count, strdup(first[i]));
    for (size_t i = 0; i < arguments->given_count && !error; i++)
        error = python_add(&words, &count, python_option(&arguments->given[i]));
    if (!error)
        error = python_add(&words, &count, strdup("--"));
    for (int i = 0; i < arguments->operand_count && !error; i++)
        error = python_add(&words, &count, strdup(arguments->operands[i]));
    if (!error) {
        execvp(python, words);
        error = -errno;
    }
    gv_message("cannot start %s: %s", python, strerror(-error));
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    free(words);
    return GV_EXIT_FAILED;
}

int gv_command_fleet(const struct gv_arguments *arguments)
{
    return gv_python_become("gpuverify.fleet.ask", arguments);
}
