/*
 * A stack that the commands can count on, whatever limit the program or its shell has set: the
 * libraries that name addresses have frames of more than 100 KB.
 */
#ifndef GV_COMMANDS_COMMAND_STACK_H
#define GV_COMMANDS_COMMAND_STACK_H

/* Calls run(data) and returns its result: here where the limit is no smaller than what is needed,
 * otherwise on a thread with a stack of its own, while the calling one waits. The limit itself is
 * left as it is, for the programs that a command starts. Without memory or a thread it is called
 * here after all. */
int gv_command_stack_run(int (*run)(void *data), void *data);

#endif
