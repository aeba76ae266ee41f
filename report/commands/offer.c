#include "report/commands/offer.h"

#include "report/show/message.h"
#include "report/show/output_file.h"
#include "report/show/shown_path.h"
#include "report/store/trace_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *offer_name = "gpuverify";

void gv_offer_called(const char *name)
{
    /* A name that the shell found in PATH is printed unchanged; so is a path. */
    offer_name = name && strchr(name, '/') ? name : "gpuverify";
}

/* Damage is reported when the trace is read. */
static bool offer_is_trace(const char *path)
{
    struct gv_trace_probe probe;
    int error = gv_trace_file_probe(path, &probe);

    return error == 0 || error == -EUCLEAN || error == -EBUSY;
}

static bool offer_is_newer(const struct stat *one, const struct stat *other)
{
    if (one->st_mtim.tv_sec != other->st_mtim.tv_sec)
        return one->st_mtim.tv_sec > other->st_mtim.tv_sec;
    return one->st_mtim.tv_nsec > other->st_mtim.tv_nsec;
}

/* The newest trace of the working folder; NULL: there is none. */
static const char *offer_newest(void)
{
    static char newest[NAME_MAX + 3];
    struct stat best = {0}, status;
    DIR *folder = opendir(".");
    const struct dirent *entry;

    newest[0] = '\0';
    while (folder && (entry = readdir(folder))) {
        char path[sizeof(newest)];
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".db") != 0 || entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s%s", entry->d_name[0] == '-' ? "./" : "", entry->d_name);
        if (lstat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
            (newest[0] && !offer_is_newer(&status, &best)) || !offer_is_trace(path))
            continue;
        best = status;
        strcpy(newest, path);
    }
    if (folder)
        closedir(folder);
    return newest[0] ? newest : NULL;
}

static bool offer_is_newest(const char *path)
{
    const char *newest = offer_newest();

    return newest && gv_output_file_is_same(path, newest);
}

/* Whether a command's name begins `text`, and whether that command finds the newest trace. */
static bool offer_is_command(const char *text, bool *finds)
{
    char word[16];
    const struct gv_command *command;

    snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, " .,;:"), text);
    command = gv_command_find(word);
    *finds =
        command == &gv_commands[GV_COMMAND_report] || command == &gv_commands[GV_COMMAND_stalls] ||
        command == &gv_commands[GV_COMMAND_idle] || command == &gv_commands[GV_COMMAND_explain];
    return command != NULL;
}

const char *gv_offer_fill(char *out, size_t size, const char *text, const char *path, bool named)
{
    static const char name[] = "gpuverify ", file[] = " FILE";
    char program[GV_SHELL_WORD_BYTES], trace[GV_SHELL_WORD_BYTES];
    bool finds = false, newest = !named && strstr(text, file) && offer_is_newest(path);
    size_t used = 0;

    gv_shell_word(program, offer_name);
    gv_shown_word(trace, path);
    out[0] = '\0';
    while (*text && used + 1 < size) {
        int length;
        if (strncmp(text, name, sizeof(name) - 1) == 0 &&
            offer_is_command(text + sizeof(name) - 1, &finds)) {
            length = snprintf(out + used, size - used, "%s ", program);
            text += sizeof(name) - 1;
        } else if (strncmp(text, file, sizeof(file) - 1) == 0) {
            length = finds && newest ? 0 : snprintf(out + used, size - used, " %s", trace);
            text += sizeof(file) - 1;
        } else {
            length = snprintf(out + used, size - used, "%c", *text++);
        }
        used += length > 0 ? (size_t)length : 0;
    }
    return out;
}

const char *gv_offer_join(const struct gv_arguments *arguments, int count)
{
    static char *joined;
    size_t bytes = 1;

    if (count <= 1)
        return count == 1 ? arguments->operands[0] : NULL;
    for (int i = 0; i < count; i++)
        bytes += strlen(arguments->operands[i]) + 1;
    free(joined);
    joined = calloc(1, bytes);
    for (int i = 0; i < count && joined; i++)
        strcat(i ? strcat(joined, ":") : joined, arguments->operands[i]);
    return joined;
}

const char *gv_offer_choose(const struct gv_command *command, const char *operand, int *code)
{
    const char *newest = operand ? operand : offer_newest();

    if (!newest)
        *code =
            gv_arguments_refuse(command, "FILE is missing, and this folder has no trace (*.db)");
    else if (!operand)
        gv_message("reading %s, the newest trace here", newest);
    return newest;
}
