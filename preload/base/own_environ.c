#include "preload/base/own_environ.h"

#include "preload/base/own_memory.h"

#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 4096u /* or a part of a page */

static bool kernel_refuses(void)
{
    char **all;

    return !gv_own_memory_read(&all, (uintptr_t)&environ, sizeof(all));
}

char *gv_own_environ_at(size_t index)
{
    char **all = environ, *entry = NULL;

    if (!all || gv_own_memory_read(&entry, (uintptr_t)&all[index], sizeof(entry)))
        return entry;
    return kernel_refuses() ? all[index] : NULL;
}

bool gv_own_environ_read(size_t index, char *text, size_t bytes)
{
    char *entry = gv_own_environ_at(index);
    size_t first = PAGE_BYTES - (uintptr_t)entry % PAGE_BYTES;

    if (!entry)
        return false;
    first = first < bytes ? first : bytes;
    const struct iovec ranges[] = {{entry, first}, {entry + first, bytes - first}};
    memset(text, 0, bytes);
    /* As of another process: valgrind checks what is written from, and this is more than the text.
     */
    if (gv_other_memory_gather((uint32_t)getpid(), text, ranges, 2) == 0 && kernel_refuses())
        strncpy(text, entry, bytes);
    text[bytes - 1] = '\0';
    return true;
}
