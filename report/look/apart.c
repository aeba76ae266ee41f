#include "report/look/apart.h"

#include "trace/futex.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_NS  1000000u
#define ENDED_NS 100000000u

static int wait_for(pid_t child, const volatile uint32_t *at, uint64_t patience_ns, uint64_t end_ns,
                    int *status)
{
    uint64_t now_ns = gv_monotonic_ns(), late_ns = now_ns + patience_ns;
    uint32_t before = *at;

    for (pid_t ended = 0; now_ns < end_ns && now_ns < late_ns; now_ns = gv_monotonic_ns()) {
        ended = waitpid(child, status, WNOHANG);
        if (ended)
            return ended == child && WIFEXITED(*status) ? 0 : -EIO;
        if (*at != before)
            late_ns = now_ns + patience_ns;
        before = *at;
        gv_pause_ns(STEP_NS);
    }
    return -ETIMEDOUT;
}

int gv_apart_run(void (*work)(void *result), void *result, size_t bytes, uint64_t patience_ns,
                 uint64_t end_ns)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child, parent = getpid();
    int status = 0, error;

    if (shared == MAP_FAILED)
        return -ENOMEM;
    memcpy(shared, result, bytes);
    child = fork();
    if (child == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
            work(shared);
        _exit(0);
    }
    if (child < 0)
        work(shared); /* no process is left for it */
    error = child < 0 ? 0 : wait_for(child, shared, patience_ns, end_ns, &status);
    if (error == -ETIMEDOUT) {
        kill(child, SIGKILL);
        /* One that the driver keeps does not end. */
        (void)wait_for(child, shared, ENDED_NS, UINT64_MAX, &status);
    }
    if (error == -EIO && WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
        raise(SIGPIPE); /* as without a process of its own */
    memcpy(result, shared, bytes);
    munmap(shared, bytes);
    return error;
}
