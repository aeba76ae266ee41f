/*
 * A terminal that a command draws on as a whole: the alternate screen, without cursor and echo.
 * What was on the terminal comes back at the end, however the command is ended or stopped; only
 * SIGKILL leaves it as it is.
 *
 * One thread, one screen: stdout, and stdin for keys if it is a terminal too.
 */
#ifndef GV_SHOW_SCREEN_H
#define GV_SHOW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gv_screen_event {
    GV_SCREEN_TIME, /* the time is over */
    GV_SCREEN_SIZE, /* the terminal has another size, or comes back: draw again */
    GV_SCREEN_QUIT, /* the user pressed q */
    GV_SCREEN_HELP, /* or ? */
    GV_SCREEN_END,  /* a signal asks to end: see gv_screen_end() */
};

/* Whether stdout is a terminal that can be drawn on. */
bool gv_screen_is_possible(void);

/* 0 or -errno. */
int gv_screen_open(void);
/* Restores the terminal. */
void gv_screen_close(void);
/* Restores the terminal, and ends the process by the signal that asked for it. */
void gv_screen_end(void);

void gv_screen_size(unsigned int *rows, unsigned int *columns);

/* Shows lines, each ended by '\n'; those beyond the terminal's rows are left out, and those beyond
 * its columns cut by it. Returns 0 or -errno. */
int gv_screen_draw(const char *text, size_t bytes);

/* Waits until CLOCK_MONOTONIC is until_ns, or something happens. */
enum gv_screen_event gv_screen_wait(int64_t until_ns);

#endif
