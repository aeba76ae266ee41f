/* Steps of a thread of soak: children. */
#include "kernels/soak/soak.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Per thread, because children take as long as everything else. */
#define FORKS_MAX    4
#define CHILDREN_MAX 1

extern char **environ;

static int wait_for(pid_t child)
{
    int status = -1;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/* Without exec: a driver that the parent initialised returns only errors. */
static void use_forked(bool ends_at_once)
{
    CUdeviceptr device = 0;

    soak_open();
    DO(cuInit, 0);
    DO(cuMemAlloc_v2, &device, 4096);
    soak_close();
    if (ends_at_once)
        _exit(7);
    exit(7);
}

void soak_step_fork(struct soak_thread *thread)
{
    bool uses = soak_random(thread, 2), ends_at_once = soak_random(thread, 4) > 0;
    pid_t child;

    if (thread->forks++ >= FORKS_MAX)
        return;
    soak_quiet = true;
    child = fork();
    if (child == 0) {
        if (uses)
            use_forked(ends_at_once);
        _exit(7);
    }
    soak_quiet = false;
    soak_digest(thread, (uint64_t)(child < 0 ? -1 : wait_for(child)));
}

static pid_t start(char **arguments, int output, uint32_t how)
{
    posix_spawn_file_actions_t actions;
    pid_t child = -1;

    if (how) {
        child = fork();
        if (child)
            return child;
        if (how == 2) { /* one process, two programs */
            soak_open();
            DO(cuInit, 0);
            soak_close();
        }
        dup2(output, STDOUT_FILENO);
        execv(arguments[0], arguments);
        _exit(9);
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (posix_spawn(&child, arguments[0], &actions, NULL, arguments, environ))
        child = -1;
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

/* This program with its own seed; its output is compared too. */
void soak_step_child(struct soak_thread *thread)
{
    char seed[32], steps[32], features[32], piece[256];
    char *arguments[] = {(char *)soak.program, seed, steps, features, NULL};
    uint32_t how = soak_random(thread, soak_has('f') ? 3 : 2);
    size_t length = 0;
    int ends[2];
    pid_t child;

    if (thread->children++ >= CHILDREN_MAX)
        return;
    for (const char *at = soak.features; *at && length + 1 < sizeof features; at++)
        if (*at != 'x')
            features[length++] = *at;
    features[length] = 0;
    snprintf(seed, sizeof seed, "%u", soak_random(thread, 1u << 30));
    snprintf(steps, sizeof steps, "%ld", soak.steps / 4 + 1);
    soak_quiet = true;
    if (pipe2(ends, O_CLOEXEC))
        abort();
    child = start(arguments, ends[1], how);
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], piece, sizeof piece)) != 0;) {
        if (got < 0 && errno != EINTR)
            break;
        for (ssize_t i = 0; i < got; i++)
            soak_digest(thread, (unsigned char)piece[i]);
    }
    close(ends[0]);
    soak_quiet = false;
    soak_digest(thread, (uint64_t)(child < 0 ? -1 : wait_for(child)));
}
