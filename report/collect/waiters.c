#include "report/collect/waiters.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANCESTORS_MOST 64
#define TEXT_BYTES     4096

/* The beginning of a file in /proc; "" if it cannot be read. */
static void read_text(const char *path, char text[TEXT_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, TEXT_BYTES - 1);

    text[got < 0 ? 0 : got] = '\0';
    if (fd >= 0)
        close(fd);
}

/* A number of /proc/PID/status; 0: unknown. */
static uint32_t status_number(const char *pid, const char *name)
{
    char path[48], text[TEXT_BYTES];
    const char *found;

    snprintf(path, sizeof(path), "/proc/%s/status", pid);
    read_text(path, text);
    found = strstr(text, name);
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
    char path[48], text[TEXT_BYTES];

    snprintf(path, sizeof(path), "/proc/%u/wchan", pid);
    read_text(path, text);
    return strcmp(text, "do_wait") == 0;
}

/* Of the children that a process's threads have started or been given. */
static bool is_only_child(uint32_t parent)
{
    char path[300], text[TEXT_BYTES];
    struct dirent *entry;
    bool found = false, others = false;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%u/task", parent);
    tasks = opendir(path);
    if (!tasks)
        return false;
    while (!others && (entry = readdir(tasks))) {
        char *end;

        snprintf(path, sizeof(path), "/proc/%u/task/%s/children", parent, entry->d_name);
        read_text(path, text);
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
