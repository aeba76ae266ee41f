/* The exit codes of gpuverify's commands. */
#ifndef GV_COMMANDS_EXIT_H
#define GV_COMMANDS_EXIT_H

enum gv_exit {
    GV_EXIT_FINE = 0,
    GV_EXIT_FINDING = 1, /* no error, but something to look at */
    GV_EXIT_USAGE = 2,
    GV_EXIT_FAILED = 3, /* something could not be read or written */
};

/* The text of every help about them. */
#define GV_EXIT_TEXT                                                                               \
    "0: fine. 1: check, doctor or diff --exit-code fails. 2: usage error. "                        \
    "3: something could not be read, written or checked."

#endif
