/*
 * The commands that are offered to the reader, as they can be pasted: with the name that gpuverify
 * was called by, and without the trace's file where a command finds it by itself. `report`,
 * `stalls` and `explain` read the newest trace of the folder if they are given none.
 */
#ifndef GV_COMMANDS_OFFER_H
#define GV_COMMANDS_OFFER_H

#include "report/commands/arguments.h"

#include <stdbool.h>

#define GV_OFFER_BYTES 2600u

/* argv[0]; until it is known, "gpuverify" is offered. */
void gv_offer_called(const char *name);

/*
 * `text` as it is shown: "gpuverify" becomes what gpuverify was called by where a command follows,
 * and FILE the trace's path. Unless `named`, FILE is left out where the command finds it. Returns
 * `out`, cut to fit.
 */
const char *gv_offer_fill(char *out, size_t size, const char *text, const char *path, bool named);

/*
 * The trace that a command reads: the operand, or if that is NULL the newest file *.db of the
 * working folder that is a trace; stderr then says which. NULL: there is none, and *code is the
 * exit code, after a message. A found one lives as long as the process.
 */
const char *gv_offer_choose(const struct gv_command *command, const char *operand, int *code);

#endif
