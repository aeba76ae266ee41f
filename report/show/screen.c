#include "report/show/screen.h"

#include "trace/futex.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define GV_SCREEN_ROWS    24
#define GV_SCREEN_COLUMNS 80
#define GV_SCREEN_MOST    1000

/* Alternate screen, no cursor, no line wrap; and back. */
static const char screen_begin[] = "\033[?1049h\033[?25l\033[?7l\033[H\033[2J";
static const char screen_finish[] = "\033[?7h\033[?25h\033[?1049l";

static const int screen_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

#define GV_SCREEN_SIGNALS (sizeof(screen_signals) / sizeof(screen_signals[0]))

static struct {
    bool is_open, has_keys;
    struct termios before;
    struct sigaction actions[GV_SCREEN_SIGNALS];
    sigset_t mask; /* before */
} screen;

static volatile sig_atomic_t screen_resized, screen_stopped, screen_ended;

static void screen_note(int number)
{
    if (number == SIGWINCH)
        screen_resized = 1;
    else if (number == SIGTSTP)
        screen_stopped = 1;
    else
        screen_ended = number;
}

bool gv_screen_is_possible(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDOUT_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

/* A terminal may take its time. It is not waited for at the end of one that is gone. */
static int screen_write(const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(STDOUT_FILENO, text, bytes);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&out, 1, 1000);
        }
        if (written < 0 && (screen_ended || (errno != EINTR && errno != EAGAIN)))
            return -errno;
        if (written > 0) {
            text += written;
            bytes -= (size_t)written;
        }
    }
    return 0;
}

static int screen_show(void)
{
    struct termios raw = screen.before;

    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (screen.has_keys && tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
        return -errno;
    return screen_write(screen_begin, sizeof(screen_begin) - 1);
}

static void screen_hide(void)
{
    screen_write(screen_finish, sizeof(screen_finish) - 1);
    if (screen.has_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
}

/* Signals come only while it waits, so that none is missed. */
static void screen_take_signals(void)
{
    struct sigaction note = {.sa_handler = screen_note};
    sigset_t all;

    sigemptyset(&all);
    for (size_t i = 0; i < GV_SCREEN_SIGNALS; i++) {
        sigaction(screen_signals[i], NULL, &screen.actions[i]);
        if (screen.actions[i].sa_handler == SIG_IGN)
            continue;
        sigaction(screen_signals[i], &note, NULL);
        sigaddset(&all, screen_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &all, &screen.mask);
}

static void screen_leave_signals(void)
{
    for (size_t i = 0; i < GV_SCREEN_SIGNALS; i++)
        sigaction(screen_signals[i], &screen.actions[i], NULL);
    sigprocmask(SIG_SETMASK, &screen.mask, NULL);
}

int gv_screen_open(void)
{
    screen_resized = screen_stopped = screen_ended = 0;
    /* In the background it would be stopped when it asks for keys. */
    screen.has_keys = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
                      tcgetattr(STDIN_FILENO, &screen.before) == 0;
    screen_take_signals();
    screen.is_open = true;
    int error = screen_show();
    if (error)
        gv_screen_close();
    return error;
}

void gv_screen_close(void)
{
    if (!screen.is_open)
        return;
    screen_hide();
    screen_leave_signals();
    screen.is_open = false;
}

void gv_screen_end(void)
{
    int number = screen_ended;

    gv_screen_close();
    signal(number, SIG_DFL);
    raise(number);
}

/* Ctrl-Z: the shell gets its terminal, until it continues us. */
static void screen_stop(void)
{
    screen_stopped = 0;
    screen_hide();
    raise(SIGSTOP);
    screen_show();
}

void gv_screen_size(unsigned int *rows, unsigned int *columns)
{
    struct winsize size;

    *rows = GV_SCREEN_ROWS;
    *columns = GV_SCREEN_COLUMNS;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
        return;
    *rows = size.ws_row < GV_SCREEN_MOST ? size.ws_row : GV_SCREEN_MOST;
    *columns = size.ws_col < GV_SCREEN_MOST ? size.ws_col : GV_SCREEN_MOST;
}

int gv_screen_draw(const char *text, size_t bytes)
{
    unsigned int rows, columns;
    char *shown = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&shown, &length);
    int error = 0;

    if (!out)
        return -ENOMEM;
    gv_screen_size(&rows, &columns);
    fputs("\033[H", out);
    for (unsigned int row = 0; row < rows && bytes > 0; row++) {
        const char *end = memchr(text, '\n', bytes);
        size_t line = end ? (size_t)(end - text) : bytes;
        fprintf(out, "%s%.*s\033[0m\033[K", row > 0 ? "\r\n" : "", (int)line, text);
        text += line + (end != NULL);
        bytes -= line + (end != NULL);
    }
    fputs("\033[J", out);
    if (fclose(out) != 0)
        error = -ENOMEM;
    if (!error)
        error = screen_write(shown, length);
    free(shown);
    return error;
}

/* GV_SCREEN_TIME: no key that means anything. */
static enum gv_screen_event screen_read_keys(void)
{
    char keys[64];
    ssize_t count = read(STDIN_FILENO, keys, sizeof(keys));

    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        screen.has_keys = false; /* the terminal is gone, and a signal comes */
    if (count > 0 && memchr(keys, 'q', (size_t)count))
        return GV_SCREEN_QUIT;
    return count > 0 && memchr(keys, '?', (size_t)count) ? GV_SCREEN_HELP : GV_SCREEN_TIME;
}

enum gv_screen_event gv_screen_wait(int64_t until_ns)
{
    for (;;) {
        struct pollfd keys = {.fd = screen.has_keys ? STDIN_FILENO : -1, .events = POLLIN};
        int64_t left_ns = until_ns - (int64_t)gv_monotonic_ns();
        struct timespec time = {.tv_sec = left_ns > 0 ? left_ns / 1000000000 : 0,
                                .tv_nsec = left_ns > 0 ? left_ns % 1000000000 : 0};
        enum gv_screen_event key;
        int ready = ppoll(&keys, 1, &time, &screen.mask);

        if (screen_ended)
            return GV_SCREEN_END;
        if (screen_stopped) {
            screen_stop();
            return GV_SCREEN_SIZE;
        }
        if (screen_resized) {
            screen_resized = 0;
            return GV_SCREEN_SIZE;
        }
        if (ready > 0 && (key = screen_read_keys()) != GV_SCREEN_TIME)
            return key;
        if (ready == 0)
            return GV_SCREEN_TIME;
    }
}
