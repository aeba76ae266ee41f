/* gpuverify fleet DIR [QUESTION]: answers a question about exported traces, with DuckDB. */
#include "report/commands/fleet/python.h"

#include "report/commands/commands.h"
#include "report/commands/run/environment.h"
#include "report/show/message.h"
#include "report/store/array.h"
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

struct python_words {
    char **list; /* ended by a NULL */
    size_t count, room;
};

static int python_add(struct python_words *words, char *word)
{
    if (!word || gv_array_room(&words->list, words->count + 1, &words->room, sizeof(word)))
        return -ENOMEM;
    words->list[words->count++] = word;
    words->list[words->count] = NULL;
    return 0;
}

static char *python_option(const struct gv_given *given)
{
    char name[GV_OPTION_NAME_BYTES], *word = NULL;

    gv_option_name(&gv_options[given->option], name);
    int length =
        given->text ? asprintf(&word, "--%s=%s", name, given->text) : asprintf(&word, "--%s", name);
    return length < 0 ? NULL : word;
}

int gv_python_become(const char *module, const struct gv_arguments *arguments)
{
    const char *python = getenv(GV_SETTING_PYTHON);
    struct python_words words = {0};
    char path[PATH_MAX];
    int error = gv_run_self(path, sizeof(path));

    if (!error && setenv(GV_SETTING_COMMAND, path, 1) < 0) /* what the package is to call */
        error = -errno;
    if (!python || !*python)
        python = "python3";
    const char *const first[] = {python, "-c", python_start, module};
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]) && !error; i++)
        error = python_add(&words, strdup(first[i]));
    for (size_t i = 0; i < arguments->given_count && !error; i++)
        error = python_add(&words, python_option(&arguments->given[i]));
    if (!error && arguments->operand_count > 0)
        error = python_add(&words, strdup("--"));
    for (int i = 0; i < arguments->operand_count && !error; i++)
        error = python_add(&words, strdup(arguments->operands[i]));
    if (!error) {
        execvp(python, words.list);
        error = -errno;
    }
    gv_message("cannot start %s: %s", python, strerror(-error));
    for (size_t i = 0; i < words.count; i++)
        free(words.list[i]);
    free(words.list);
    return GV_EXIT_FAILED;
}

int gv_command_fleet(const struct gv_arguments *arguments)
{
    for (int i = 0; i < arguments->operand_count; i++)
        if (!arguments->operands[i][0])
            return gv_arguments_refuse_empty(arguments->command);
    return gv_python_become("gpuverify.fleet.ask", arguments);
}
