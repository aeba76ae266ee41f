/* Which traces a command line names. */
#include "report/commands/merge/merge.h"

#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "report/store/array.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Whether it has one of the characters, and is no file of such a name. */
static bool has_any(const char *word, const char *characters)
{
    struct stat status;

    return strpbrk(word, characters) && lstat(word, &status) < 0;
}

static bool is_pattern(const char *word)
{
    return has_any(word, "*?[");
}

static bool is_list(const char *word)
{
    return has_any(word, ":");
}

bool gv_merge_is_several(const char *word)
{
    return is_folder(word) || is_list(word) || is_pattern(word);
}

static int add(struct gv_merge_inputs *inputs, const char *path)
{
    int error = gv_array_room(&inputs->paths, inputs->count, &inputs->room, sizeof(*inputs->paths));

    if (!error && !(inputs->paths[inputs->count] = strdup(path)))
        error = -ENOMEM;
    inputs->count += !error;
    return error;
}

/* *.db */
static int is_trace(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');

    return end && end > entry->d_name && strcmp(end, ".db") == 0 && entry->d_name[0] != '.';
}

static int add_folder(struct gv_merge_inputs *inputs, const char *folder)
{
    const char *between = folder[strlen(folder) - 1] == '/' ? "" : "/";
    struct dirent **entries = NULL;
    size_t before = inputs->count;
    int count = scandir(folder, &entries, is_trace, alphasort), error = count < 0 ? -errno : 0;
    char path[PATH_MAX];

    for (int i = 0; i < count; i++) {
        if ((size_t)snprintf(path, sizeof(path), "%s%s%s", folder, between, entries[i]->d_name) >=
            sizeof(path))
            error = error ? error : -ENAMETOOLONG;
        else if (!error && !is_folder(path))
            error = add(inputs, path);
        free(entries[i]);
    }
    free(entries);
    return error || inputs->count > before ? error : -ENOENT;
}

static int add_pattern(struct gv_merge_inputs *inputs, const char *pattern, bool spread)
{
    glob_t found;
    int result = glob(pattern, 0, NULL, &found);
    int error = result == 0 ? 0 : result == GLOB_NOSPACE ? -ENOMEM : -ENOENT;

    for (size_t i = 0; i < found.gl_pathc && !error; i++)
        error = !spread && is_folder(found.gl_pathv[i]) ? add_folder(inputs, found.gl_pathv[i])
                                                        : add(inputs, found.gl_pathv[i]);
    if (result == 0)
        globfree(&found);
    return error;
}

/* Gives the error back, after a message. */
static int say_error(const char *word, int error)
{
    if (error == -ENOENT)
        gv_message("%s: no traces (*.db) there", gv_shown_path(word));
    else if (error)
        gv_message("cannot read %s: %s", gv_shown_path(word), strerror(-error));
    return error;
}

static int add_word(struct gv_merge_inputs *inputs, const char *word)
{
    return say_error(word, is_folder(word)    ? add_folder(inputs, word)
                           : is_pattern(word) ? add_pattern(inputs, word, false)
                                              : add(inputs, word));
}

int gv_merge_inputs_spread(struct gv_merge_inputs *inputs, const char *word)
{
    return say_error(word, is_pattern(word) ? add_pattern(inputs, word, true) : add(inputs, word));
}

static int add_list(struct gv_merge_inputs *inputs, const char *list)
{
    char *words = strdup(list), *rest = words, *word;
    int error = words ? 0 : -ENOMEM;

    while (!error && (word = strsep(&rest, ":")))
        error = word[0] ? add_word(inputs, word) : 0;
    free(words);
    return error;
}

/* Of files that are there. */
struct known_file {
    dev_t device;
    ino_t inode;
    size_t number;
};

static int compare_files(const void *left, const void *right)
{
    const struct known_file *one = left, *other = right;

    if (one->device != other->device)
        return one->device < other->device ? -1 : 1;
    if (one->inode != other->inode)
        return one->inode < other->inode ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

/* Of several names of a file the first one stays. */
static int drop_repeated(struct gv_merge_inputs *inputs)
{
    struct known_file *files = calloc(inputs->count + 1, sizeof(*files));
    size_t count = 0, kept = 0;
    struct stat status;

    if (!files)
        return -ENOMEM;
    for (size_t i = 0; i < inputs->count; i++)
        if (stat(inputs->paths[i], &status) == 0)
            files[count++] = (struct known_file){status.st_dev, status.st_ino, i};
    qsort(files, count, sizeof(*files), compare_files);
    for (size_t i = 1; i < count; i++)
        if (files[i].device == files[i - 1].device && files[i].inode == files[i - 1].inode) {
            free(inputs->paths[files[i].number]);
            inputs->paths[files[i].number] = NULL;
        }
    for (size_t i = 0; i < inputs->count; i++)
        if (inputs->paths[i])
            inputs->paths[kept++] = inputs->paths[i];
    inputs->count = kept;
    free(files);
    return 0;
}

/* Each file is among them once. */
static void leave_out_output(struct gv_merge_inputs *inputs, const char *output)
{
    for (size_t i = 0; i < inputs->count && !inputs->replaced; i++)
        if (gv_output_file_is_same(inputs->paths[i], output)) {
            free(inputs->paths[i]);
            memmove(inputs->paths + i, inputs->paths + i + 1,
                    (--inputs->count - i) * sizeof(*inputs->paths));
            inputs->replaced = true;
        }
}

int gv_merge_inputs_find(struct gv_merge_inputs *inputs, const char *const *words, size_t count,
                         const char *output)
{
    int error = 0;

    for (size_t i = 0; i < count && !error; i++)
        error = is_list(words[i]) ? add_list(inputs, words[i]) : add_word(inputs, words[i]);
    if (error)
        return error;
    if ((error = drop_repeated(inputs)) != 0) {
        gv_message("cannot merge: %s", strerror(-error));
        return error;
    }
    if (output)
        leave_out_output(inputs, output);
    if (inputs->count == 0) {
        gv_message("there is nothing to merge");
        return -ENOENT;
    }
    return 0;
}

void gv_merge_inputs_free(struct gv_merge_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        free(inputs->paths[i]);
    free(inputs->paths);
    *inputs = (struct gv_merge_inputs){0};
}
