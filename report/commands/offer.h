/*
 * Prints commands that the reader can paste: with the name that gpuverify was called by, and
 * without the trace's file if the command finds it. Commands whose FILE is optional read the newest
 * trace of the folder by default.
 */
#ifndef GV_COMMANDS_OFFER_H
#define GV_COMMANDS_OFFER_H

#include "report/commands/arguments.h"

#include <stdbool.h>

#define GV_OFFER_BYTES 2600u

/* argv[0], or NULL for a reader elsewhere; until it is known, "gpuverify". */
void gv_offer_called(const char *name);

/*
 * Prepares `text` for printing: "gpuverify" before a command becomes the name that it was called
 * by, and FILE the trace's path. Unless `named`, FILE is left out if the command finds it. Returns
 * `out`, cut to fit.
 */
const char *gv_offer_fill(char *out, size_t size, const char *text, const char *path, bool named);

/*
 * The trace that a command reads: the operand, or if that is NULL the newest file *.db of the
 * working folder that is a trace, with a note on stderr. NULL: none; *code is the exit code, after
 * a message. The returned path lives as long as the process.
 */
const char *gv_offer_choose(const struct gv_command *command, const char *operand, int *code);

/* The traces of the first `count` operands as one word, "a.db:b.db", which stands for them
 * everywhere a trace is read (report/commands/merge/merge.h). NULL: there are none, or no memory.
 * It lives as long as the process. */
const char *gv_offer_join(const struct gv_arguments *arguments, int count);

#endif
