/*
 * children HOW: a parent, with or without CUDA, and children that use CUDA (three launches) or do
 * not. The program waits for each and prints the result.
 */
#include "e2e.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static struct e2e_gpu gpu;

static void work(const char *who, unsigned launches)
{
    e2e_open(&gpu);
    e2e_tick(&gpu, launches);
    OK(cuCtxSynchronize());
    printf("%s: %u launches\n", who, launches);
    fflush(stdout);
}

static void await(pid_t child)
{
    int status = 0;

    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status))
        printf("parent: child exited with %d\n", WEXITSTATUS(status));
    else
        printf("parent: child was killed by %d\n", WTERMSIG(status));
    REQUIRE(wait(NULL) == -1 && errno == ECHILD);
    printf("parent: no other child\n");
    fflush(stdout);
}

static void exec_work(const char *self)
{
    execl(self, self, "work", (char *)NULL);
    _exit(99);
}

static int fork_before(void)
{
    pid_t child = fork();

    if (!child) {
        work("child", 3);
        exit(3);
    }
    await(child);
    work("parent", 2);
    return 0;
}

/* A driver initialised in the parent may answer its child as it likes. */
static int fork_after(int leave_at_once)
{
    pid_t child;

    work("parent", 2);
    child = fork();
    if (!child) {
        printf("child: cuInit %d\n", (int)cuInit(0));
        printf("child: cuCtxSynchronize %d\n", (int)cuCtxSynchronize());
        fflush(stdout);
        if (leave_at_once)
            _exit(4);
        exit(3);
    }
    await(child);
    e2e_tick(&gpu, 1);
    OK(cuCtxSynchronize());
    printf("parent: 1 more launch\n");
    return 0;
}

/* Children that end without a call: by exit(), with all handlers, and by _exit(). */
static int fork_idle(void)
{
    work("parent", 2);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();

        if (!child && i == 0)
            exit(3);
        if (!child)
            _exit(4);
        await(child);
        e2e_tick(&gpu, 1000);
    }
    OK(cuCtxSynchronize());
    printf("parent: 2000 more launches\n");
    return 0;
}

static int fork_exec(const char *self)
{
    pid_t child;

    work("parent", 2);
    child = fork();
    if (!child)
        exec_work(self);
    await(child);
    return 0;
}

static int vfork_exec(const char *self)
{
    pid_t child;

    work("parent", 2);
    child = vfork();
    if (!child)
        exec_work(self);
    await(child);
    child = vfork();
    if (!child)
        _exit(7);
    await(child);
    e2e_tick(&gpu, 1);
    OK(cuCtxSynchronize());
    printf("parent: 1 more launch\n");
    return 0;
}

static int spawn(const char *self)
{
    char name[] = "work";
    char *arguments[] = {(char *)self, name, NULL};
    pid_t child;

    work("parent", 2);
    REQUIRE(!posix_spawn(&child, self, NULL, NULL, arguments, environ));
    await(child);
    return 0;
}

/* Like a daemon: two forks, a new session, standard streams closed. */
static int daemonise(void)
{
    if (fork())
        _exit(0);
    setsid();
    if (fork())
        _exit(0);
    if (!freopen("/dev/null", "r", stdin) || !freopen("daemon.out", "w", stdout) ||
        !freopen("daemon.err", "w", stderr))
        _exit(98);
    work("daemon", 4);
    usleep(200 * 1000);
    printf("daemon: done\n");
    return 0;
}

static int many(void)
{
    for (int i = 0; i < 8; i++) {
        pid_t child = fork();

        if (!child) {
            work("child", 3);
            exit(0);
        }
    }
    for (int i = 0; i < 8; i++) {
        int status = 1;

        REQUIRE(wait(&status) > 0 && status == 0);
    }
    REQUIRE(wait(NULL) == -1 && errno == ECHILD);
    printf("parent: all children are done\n");
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (!strcmp(how, "work"))
        return work("work", 3), 0;
    if (!strcmp(how, "fork-before"))
        return fork_before();
    if (!strcmp(how, "fork-after"))
        return fork_after(0);
    if (!strcmp(how, "fork-after-_exit"))
        return fork_after(1);
    if (!strcmp(how, "fork-idle"))
        return fork_idle();
    if (!strcmp(how, "fork-exec"))
        return fork_exec(argv[0]);
    if (!strcmp(how, "exec"))
        work("before exec", 2), exec_work(argv[0]);
    if (!strcmp(how, "vfork"))
        return vfork_exec(argv[0]);
    if (!strcmp(how, "spawn"))
        return spawn(argv[0]);
    if (!strcmp(how, "daemon"))
        return daemonise();
    if (!strcmp(how, "many"))
        return many();
    fprintf(stderr, "children: no such way: %s\n", how);
    return 2;
}
