/*
 * idles HOW [FILE]: uses the GPU, then does something else for half a second, and uses it again. It
 * is looked at meanwhile, and must not notice.
 */
#include "e2e.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IDLE_US 500000

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A file that it opens always gets the lowest free number. */
static void count_on_numbers(void)
{
    int first = open("/dev/null", O_RDONLY);

    for (double end_s = now_s() + IDLE_US / 1e6; now_s() < end_s;)
        for (int i = 0; i < 1000; i++) {
            close(first);
            REQUIRE(open("/dev/null", O_RDONLY) == first);
        }
}

static void close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    usleep(IDLE_US);
    REQUIRE(open("/dev/null", O_RDONLY) == 3);
}

static void have_no_numbers(void)
{
    struct rlimit limit = {.rlim_cur = 3, .rlim_max = 1024};

    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    usleep(IDLE_US);
}

static void lock(const char *file)
{
    int held = open(file, O_RDWR | O_CREAT, 0600), wanted = open(file, O_RDWR);

    REQUIRE(held >= 0 && wanted >= 0 && flock(held, LOCK_EX) == 0);
    if (fork() == 0) {
        usleep(IDLE_US);
        _exit(0); /* its copy of `held` would keep the lock */
    }
    close(held);
    REQUIRE(flock(wanted, LOCK_EX) == 0);
    REQUIRE(wait(NULL) > 0);
}

static void become_nobody(void)
{
    REQUIRE(setuid(65534) == 0);
    usleep(IDLE_US);
}

/* Ends the process for what the thread that looks would do next. */
static void forbid_looks(void)
{
#define KILL(call)                                                                                 \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),                                               \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        KILL(SYS_process_vm_readv),
        KILL(SYS_pread64),
        KILL(SYS_readlinkat),
        KILL(SYS_waitid),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
#undef KILL
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

    usleep(IDLE_US);
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        printf("no filter: %s\n", strerror(errno));
    usleep(IDLE_US);
}

static void wait_for_vforked(void)
{
    pid_t child = vfork();

    if (child == 0) {
        execlp("sleep", "sleep", "0.5", (char *)NULL);
        _exit(1);
    }
    REQUIRE(waitpid(child, NULL, 0) == child);
}

static void *sleep_and_return(void *unused)
{
    usleep(IDLE_US);
    return unused;
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";
    struct e2e_gpu gpu;
    pthread_t thread;

    e2e_open(&gpu);
    e2e_tick(&gpu, 3);
    if (strcmp(how, "numbers") == 0)
        count_on_numbers();
    else if (strcmp(how, "closes") == 0)
        close_all();
    else if (strcmp(how, "no-numbers") == 0)
        have_no_numbers();
    else if (strcmp(how, "nobody") == 0)
        become_nobody();
    else if (strcmp(how, "file") == 0 && count > 2)
        lock(arguments[2]);
    else if (strcmp(how, "vfork") == 0)
        wait_for_vforked();
    else if (strcmp(how, "filter") == 0)
        forbid_looks();
    else
        usleep(IDLE_US);
    e2e_tick(&gpu, 1);
    if (strcmp(how, "last-thread") == 0) {
        printf("written by the last exit handler\n");
        REQUIRE(!pthread_create(&thread, NULL, sleep_and_return, NULL));
        pthread_detach(thread);
        pthread_exit(NULL);
    }
    return 0;
}
