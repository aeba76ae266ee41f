#include "report/show/shown_path.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

const char *gv_shown_path(const char *path)
{
    char folder[PATH_MAX];
    const char *shown = path;
    size_t length;

    if (path[0] == '/' && getcwd(folder, sizeof(folder))) {
        length = strlen(folder);
        if (length > 1 && strncmp(path, folder, length) == 0 && path[length] == '/')
            shown += length + 1;
    }
    while (strncmp(shown, "./", 2) == 0)
        shown += 2;
    while (shown > path && shown[0] == '/') /* ".//x" */
        shown++;
    /* Must not look like an option, or be empty. */
    return shown[0] == '-' || !shown[0] ? path : shown;
}

const char *gv_shown_word(char word[GV_SHELL_WORD_BYTES], const char *path)
{
    return gv_shell_word(word, gv_shown_path(path));
}
