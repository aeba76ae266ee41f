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

/* A file may have such a name. */
static bool is_pattern(const char *word)
{
    struct stat status;

    return strpbrk(word, "*?[") && lstat(word, &status) < 0;
}

static bool is_list(const char *word)
{
    struct stat status;

    return strchr(word, ':') && lstat(word, &status) < 0;
}

bool gv_merge_is_several(const char *word)
{
    return is_folder(word) || is_list(word) || is_pattern(word);
}

/* Unless it is there, by whatever name. */
static int add(struct gv_merge_inputs *inputs, const char *path)
{
    struct stat here, other;
    int error = gv_array_room(&inputs->paths, inputs->count, &inputs->room, sizeof(*inputs->paths));

    for (size_t i = 0; i < inputs->count && !error; i++)
        if (stat(path, &here) == 0 && stat(inputs->paths[i], &other) == 0 &&
            here.st_dev == other.st_dev && here.st_ino == other.st_ino)
            return 0;
    if (!error && !(inputs->paths[inputs->count] = strdup(path)))
        error = -ENOMEM;
    inputs->count += !error;
    return error;
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static int add_folder(struct gv_merge_inputs *inputs, const char *folder)
{
    size_t before = inputs->count;
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    char path[PATH_MAX];
    int error = entries ? 0 : -errno;

    while (!error && (entry = readdir(entries))) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".db") != 0 || entry->d_name[0] == '.')
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= sizeof(path))
            error = -ENAMETOOLONG;
        else
            error = add(inputs, path);
    }
    if (entries)
        closedir(entries);
    if (inputs->count > before)
        qsort(inputs->paths + before, inputs->count - before, sizeof(*inputs->paths), compare);
    else if (!error)
        error = -ENOENT;
    return error;
}

static int add_pattern(struct gv_merge_inputs *inputs, const char *pattern)
{
    glob_t found;
    int result = glob(pattern, 0, NULL, &found);
    int error = result == 0 ? 0 : result == GLOB_NOSPACE ? -ENOMEM : -ENOENT;

    for (size_t i = 0; i < found.gl_pathc && !error; i++)
        error = add(inputs, found.gl_pathv[i]);
    if (result == 0)
        globfree(&found);
    return error;
}

static int add_word(struct gv_merge_inputs *inputs, const char *word)
{
    int error;

    if (is_folder(word))
        error = add_folder(inputs, word);
    else if (is_pattern(word))
        error = add_pattern(inputs, word);
    else
        error = add(inputs, word);
    if (error == -ENOENT)
        gv_message("%s: no traces (*.db) there", gv_shown_path(word));
    else if (error)
        gv_message("cannot read %s: %s", gv_shown_path(word), strerror(-error));
    return error;
}

static int add_list(struct gv_merge_inputs *inputs, const char *list)
{
    char *words = strdup(list), *rest = words, *word;
    int error = words ? 0 : -ENOMEM;

    while (!error && (word = strsep(&rest, ":")))
        error = add_word(inputs, word);
    free(words);
    return error;
}

int gv_merge_inputs_find(struct gv_merge_inputs *inputs, const char *const *words, size_t count)
{
    int error = 0;

    for (size_t i = 0; i < count && !error; i++)
        error = is_list(words[i]) ? add_list(inputs, words[i]) : add_word(inputs, words[i]);
    return error;
}

void gv_merge_inputs_free(struct gv_merge_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        free(inputs->paths[i]);
    free(inputs->paths);
    *inputs = (struct gv_merge_inputs){0};
}
