/* Ends the process in the way that a letter from stdin says, while its other threads go on.
 * tests/deaths.py writes it. */
#include "kernels/soak/soak.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIECE_BYTES (16u << 20)

static void become(const char *program)
{
    char seed[32];

    snprintf(seed, sizeof seed, "%llu", (unsigned long long)soak.seed + 1);
    execl(program, program, seed, "20", "", (char *)NULL);
    _exit(97);
}

static void die(char letter)
{
    volatile int *volatile nowhere = NULL;

    switch (letter) {
    case 's':
        *nowhere = 1;
        break;
    case 'a':
        abort();
    case 'k':
        raise(SIGKILL);
        break;
    case 't':
        raise(SIGTERM);
        break;
    case 'g':
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTERM);
        break;
    case '_':
        _exit(6);
    case 'q':
        quick_exit(6);
    case 'r':
        exit(6);
    case 'e':
        become("/bin/true");
        break;
    case 'x':
        become(soak.program);
        break;
    case 'f':
        if (fork() == 0)
            become(soak.program);
        _exit(6);
    case 'm':
        for (char *piece; (piece = malloc(PIECE_BYTES));)
            memset(piece, 1, PIECE_BYTES);
        break;
    default:
        break;
    }
    _exit(97);
}

static void *wait_for_letter(void *unused)
{
    char letter;

    (void)unused;
    if (read(STDIN_FILENO, &letter, 1) == 1)
        die(letter);
    return NULL;
}

void soak_die_when_told(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, wait_for_letter, NULL) == 0)
        pthread_detach(thread);
}
