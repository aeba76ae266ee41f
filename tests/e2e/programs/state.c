/*
 * state WHAT: uses the GPU, and prints or changes a part of the process's own state. The output
 * must be the same with the library and without.
 */
#include "e2e.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct e2e_gpu gpu;

static void work(void)
{
    e2e_open(&gpu);
    e2e_tick(&gpu, 3);
    OK(cuCtxSynchronize());
}

/* Lists open descriptors and their targets; numbers in names (pipe:[123]) may vary. */
static void print_descriptors(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        char link[64];
        char target[256];
        ssize_t length;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        length = readlink(link, target, sizeof(target) - 1);
        if (length < 0)
            continue;
        target[length] = 0;
        target[strcspn(target, "[")] = 0;
        printf("descriptor %d: %s\n", fd, target);
    }
}

static unsigned count_entries(const char *folder)
{
    DIR *directory = opendir(folder);
    unsigned count = 0;

    REQUIRE(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void print_threads(void)
{
    char children[64] = "";
    char path[64];
    int fd;

    printf("threads: %u\n", count_entries("/proc/self/task"));
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    fd = open(path, O_RDONLY);
    if (fd >= 0) {
        ssize_t length = read(fd, children, sizeof(children) - 1);

        children[length < 0 ? 0 : length] = 0;
        close(fd);
    }
    printf("children: '%s'\n", children);
    errno = 0;
    printf("wait: %d", (int)waitpid(-1, NULL, WNOHANG));
    printf(" errno %d\n", errno);
}

static volatile sig_atomic_t children_seen;

static void on_child(int signal)
{
    (void)signal;
    children_seen++;
}

static void print_signals(void)
{
    static const int looked_at[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1,
                                    SIGUSR2, SIGCHLD, SIGXFSZ, SIGSEGV, SIGBUS,  SIGPROF};
    sigset_t blocked;

    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (size_t i = 0; i < sizeof(looked_at) / sizeof(looked_at[0]); i++) {
        struct sigaction action;

        sigaction(looked_at[i], NULL, &action);
        printf("signal %d: handler %s, flags %x, blocked %d\n", looked_at[i],
               action.sa_handler == SIG_DFL   ? "default"
               : action.sa_handler == SIG_IGN ? "ignore"
                                              : "function",
               (unsigned)action.sa_flags, sigismember(&blocked, looked_at[i]));
    }
}

static void watch_sigchld(void)
{
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};

    sigaction(SIGCHLD, &action, NULL);
    work();
    usleep(300 * 1000);
    printf("SIGCHLD seen: %d\n", (int)children_seen);
    print_signals();
    print_threads();
}

/* Closes all unknown descriptors, then opens files. */
static void close_all(void)
{
    int files[8];

    work();
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    for (int i = 0; i < 8; i++) {
        char name[32];

        snprintf(name, sizeof(name), "own-%d", i);
        files[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
        printf("file %d has descriptor %d\n", i, files[i]);
        REQUIRE(write(files[i], "mine\n", 5) == 5);
    }
    e2e_tick(&gpu, 500);
    OK(cuCtxSynchronize());
    for (int i = 0; i < 8; i++) {
        struct stat status;
        char text[16] = "";

        REQUIRE(!fstat(files[i], &status) && status.st_size == 5);
        REQUIRE(pread(files[i], text, 5, 0) == 5 && !strcmp(text, "mine\n"));
    }
    printf("files are as written\n");
}

/* Start it with descriptors 0, 1 and 2 closed: the exit status is the first free descriptor. */
static void with_closed_streams(void)
{
    int first;

    work();
    first = open("first", O_RDWR | O_CREAT, 0644);
    e2e_tick(&gpu, 2);
    _exit(first < 0 ? 80 : 20 + first);
}

static void move_away(void)
{
    char here[PATH_MAX];

    work();
    REQUIRE(!chdir("/"));
    e2e_tick(&gpu, 2);
    REQUIRE(getcwd(here, sizeof(here)));
    printf("working directory %s\n", here);
}

static void set_umask(void)
{
    umask(0);
    work();
    printf("umask %03o\n", (unsigned)umask(0));
}

static void print_environment(void)
{
    const char *names[] = {"LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "HOME"};

    work();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);

        printf("%s %s\n", names[i], value ? "is set" : "is not set");
    }
}

/* Results, errors and the capture's state must be as without an observer. */
static void capture(void)
{
    CUstreamCaptureStatus status;
    CUgraphExec executable;
    CUstream stream, other;
    CUgraph graph;
    size_t nodes = 0;

    work();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 3; i++) {
        OK(cuLaunchKernel(gpu.tick, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        OK(cuStreamIsCapturing(stream, &status));
        printf("capturing: %d\n", (int)status);
    }
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    printf("nodes: %zu\n", nodes);
    OK(cuGraphInstantiate(&executable, graph, 0));
    OK(cuGraphLaunch(executable, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    printf("query while capturing: %d\n", (int)cuStreamQuery(other));
    printf("end of the spoilt capture: %d\n", (int)cuStreamEndCapture(stream, &graph));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(what, "descriptors"))
        work(), print_descriptors();
    else if (!strcmp(what, "threads"))
        work(), print_threads();
    else if (!strcmp(what, "signals"))
        work(), print_signals();
    else if (!strcmp(what, "sigchld"))
        watch_sigchld();
    else if (!strcmp(what, "close-all"))
        close_all();
    else if (!strcmp(what, "closed-streams"))
        with_closed_streams();
    else if (!strcmp(what, "chdir"))
        move_away();
    else if (!strcmp(what, "umask"))
        set_umask();
    else if (!strcmp(what, "environment"))
        print_environment();
    else if (!strcmp(what, "capture"))
        capture();
    else
        return fprintf(stderr, "state: what is %s?\n", what), 2;
    return 0;
}
