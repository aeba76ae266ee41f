/* Forks repeatedly while other threads work. */
#ifndef GV_E2E_FORK_OFTEN_H
#define GV_E2E_FORK_OFTEN_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stops at the first child that does not finish. Prints how many did. */
static inline void e2e_fork_often(int children, void (*work)(void))
{
    int status, finished = 0;

    for (int i = 0; i < children && finished == i; i++) {
        pid_t child = fork();

        if (child == 0) {
            alarm(10); /* a child that hangs has failed */
            work();
            _exit(0);
        }
        finished +=
            waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    printf("%d of %d children finished\n", finished, children);
}

#endif
