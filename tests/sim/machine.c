/*
 * The machine that processes share, if GV_SIM_MACHINE names a folder: the kernel driver's lock, and
 * a file for each process with a context, named by its number, which the simulated NVML lists.
 *
 * Measured on an H100: freeing, unmapping and unpinning keep other processes' cuMemAlloc,
 * cuMemHostRegister and cuMemGetInfo out; so does a process that ends. Launches, copies and events
 * do not ask the kernel driver.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int lock_fd = -1;
static pid_t owner; /* who made the file; 0: nobody */

static void path_of(char *path, size_t size, pid_t pid)
{
    snprintf(path, size, "%s/%d", gv_sim_settings.machine, (int)pid);
}

/* A forked child has its own. */
static void machine_open(void)
{
    char path[4096];

    if (lock_fd >= 0 && owner == getpid())
        return;
    snprintf(path, sizeof path, "%s/lock", gv_sim_settings.machine);
    lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd < 0)
        perror("gpuverify simulator: GV_SIM_MACHINE");
    owner = getpid();
}

void gv_sim_machine_join(void)
{
    char path[4096];

    if (!gv_sim_settings.machine)
        return;
    path_of(path, sizeof path, getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        perror(path);
    else
        close(fd);
}

void gv_sim_machine_enter(void)
{
    if (!gv_sim_settings.machine)
        return;
    pthread_mutex_lock(&lock);
    machine_open();
    while (lock_fd >= 0 && flock(lock_fd, LOCK_EX) < 0 && errno == EINTR)
        continue;
}

void gv_sim_machine_leave(void)
{
    if (!gv_sim_settings.machine)
        return;
    if (lock_fd >= 0)
        flock(lock_fd, LOCK_UN);
    pthread_mutex_unlock(&lock);
}

void gv_sim_machine_free(size_t size_bytes)
{
    gv_sim_machine_enter();
    gv_sim_pass((size_bytes >> 20) * gv_sim_settings.free_ns_per_mb);
    gv_sim_machine_leave();
}

/* What the kernel does for a process that is gone, here while it goes. */
__attribute__((destructor)) static void machine_end(void)
{
    char path[4096];

    if (!gv_sim_settings.machine)
        return;
    path_of(path, sizeof path, getpid());
    if (access(path, F_OK) < 0)
        return;
    gv_sim_machine_enter();
    gv_sim_pass(gv_sim_settings.end_ns);
    gv_sim_machine_leave();
    unlink(path);
}
