#include "report/collect/waiters.h"

#include "trace/proc_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANCESTORS_MOST 64
#define TEXT_BYTES     4096

/* A number of /proc/PID/status; 0: unknown. */
static uint32_t status_number(const char *pid, const char *name)
{
    char text[TEXT_BYTES];
    const char *found =
        gv_proc_read(text, sizeof(text), "/proc/%s/status", pid) > 0 ? strstr(text, name) : NULL;

    return found ? (uint32_t)strtoul(found + strlen(name), NULL, 10) : 0;
}

static bool is_below(uint32_t pid, uint32_t root)
{
    for (int i = 0; pid > 0 && i < ANCESTORS_MOST; i++) {
        char name[16];

        if (pid == root)
            return true;
        snprintf(name, sizeof(name), "%u", pid);
        pid = status_number(name, "\nPPid:");
    }
    return false;
}

bool gv_waiters_are_below(uint32_t root)
{
    return is_below((uint32_t)getppid(), root) ||
           is_below(status_number("self", "\nTracerPid:"), root);
}

bool gv_waiters_is_waiting(uint32_t pid)
{
    char text[TEXT_BYTES];

    (void)gv_proc_read(text, sizeof(text), "/proc/%u/wchan", pid);
    return strcmp(text, "do_wait") == 0;
}

/* Of the children that a process's threads have started or been given. */
static bool is_only_child(uint32_t parent)
{
    char path[64], text[TEXT_BYTES];
    struct dirent *entry;
    bool found = false, others = false;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%u/task", parent);
    tasks = opendir(path);
    if (!tasks)
        return false;
    while (!others && (entry = readdir(tasks))) {
        char *end;

        (void)gv_proc_read(text, sizeof(text), "/proc/%u/task/%s/children", parent, entry->d_name);
        for (char *at = text; strtoul(at, &end, 10) > 0 && end != at; at = end) {
            bool is_us = strtoul(at, NULL, 10) == (unsigned long)getpid();

            found |= is_us;
            others |= !is_us;
        }
    }
    closedir(tasks);
    return found && !others;
}

bool gv_waiters_parent_waits(void)
{
    uint32_t parent = (uint32_t)getppid();

    return gv_waiters_is_waiting(parent) && is_only_child(parent);
}
