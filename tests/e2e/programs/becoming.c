/*
 * becoming HOW: uses the GPU, tries in vain to become a program that is not there, uses the GPU
 * again, and becomes a shell by the exec call HOW, or does what else HOW says. `killed`: the
 * shell ends by a signal. `waiting`: it
 * becomes one while another thread waits for the GPU.
 */
#include "e2e.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 10

extern char **environ;

static struct e2e_gpu gpu;
static char *const words[] = {"sh", "-c", "echo $0 $1 ${MARK-unmarked}", "became", "one", NULL};
static char *const marked[] = {"MARK=marked", NULL};

static int become(const char *how, const char *path, const char *file)
{
    if (!strcmp(how, "execve"))
        return execve(path, words, marked);
    if (!strcmp(how, "execv"))
        return execv(path, words);
    if (!strcmp(how, "execvp"))
        return execvp(file, words);
    if (!strcmp(how, "execvpe"))
        return execvpe(file, words, marked);
    if (!strcmp(how, "fexecve"))
        return fexecve(open(path, O_RDONLY | O_CLOEXEC), words, marked);
    if (!strcmp(how, "execveat"))
        return execveat(AT_FDCWD, path, words, marked, 0);
    if (!strcmp(how, "execl"))
        return execl(path, words[0], words[1], words[2], words[3], words[4], (char *)NULL);
    if (!strcmp(how, "execle"))
        return execle(path, words[0], words[1], words[2], words[3], words[4], (char *)NULL, marked);
    if (!strcmp(how, "execlp"))
        return execlp(file, words[0], words[1], words[2], words[3], words[4], (char *)NULL);
    if (!strcmp(how, "killed"))
        return execl(path, words[0], words[1], "kill -KILL $$", (char *)NULL);
    fprintf(stderr, "becoming: no such way: %s\n", how);
    exit(2);
}

static void await(pid_t child)
{
    int status;

    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Children that become something else: this process stays what it is. */
static void have_children(void)
{
    pid_t child;

    for (int i = 0; i < CHILDREN; i++) {
        child = vfork();
        if (child == 0) {
            execl("/nowhere/true", "true", (char *)NULL);
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        await(child);
        child = fork();
        if (child == 0) {
            execv("/bin/true", (char *const[]){"true", NULL});
            _exit(1);
        }
        await(child);
        REQUIRE(!posix_spawn(&child, "/bin/true", NULL, NULL, words, environ));
        await(child);
        REQUIRE(!system("true"));
    }
}

static void *wait_for_the_gpu(void *ignored)
{
    OK(cuCtxSetCurrent(gpu.context));
    e2e_spin(&gpu, NULL, 5000000000ull);
    OK(cuCtxSynchronize());
    return ignored;
}

static void become_while_another_waits(void)
{
    pthread_t thread;

    REQUIRE(!pthread_create(&thread, NULL, wait_for_the_gpu, NULL));
    usleep(500000);
    execv("/bin/sh", words);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "execve";

    e2e_open(&gpu);
    e2e_tick(&gpu, 3);
    OK(cuCtxSynchronize());
    if (!strcmp(how, "children")) {
        have_children();
    } else {
        errno = 0;
        REQUIRE(become(!strcmp(how, "remain") || !strcmp(how, "waiting") ? "execve" : how,
                       "/nowhere/sh", "gv-nowhere-sh") == -1);
        REQUIRE(errno == (strcmp(how, "fexecve") ? ENOENT : EINVAL));
    }
    e2e_tick(&gpu, 1);
    OK(cuCtxSynchronize());
    printf("four launches\n");
    fflush(stdout);
    if (!strcmp(how, "children"))
        return 0;
    if (!strcmp(how, "remain"))
        return 3;
    if (!strcmp(how, "waiting"))
        become_while_another_waits();
    else
        become(how, "/bin/sh", "sh");
    return 1;
}
