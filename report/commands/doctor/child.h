/* A child process of doctor that may hang or crash, and is listened to. */
#ifndef GV_COMMANDS_DOCTOR_CHILD_H
#define GV_COMMANDS_DOCTOR_CHILD_H

#include <stddef.h>
#include <stdint.h>

/* Runs `become` in a child, in a process group of its own, which ends when that returns. Its stdout
 * is read until all its writers close it, or `size` is full; the other streams are /dev/null. Then
 * the group is killed. *status: waitpid's. 0; -ETIMEDOUT: it took longer than `most_ms`; or
 * -errno. */
int gv_doctor_listen(void (*become)(const void *context), const void *context, int64_t most_ms,
                     char *said, size_t size, int *status);

#endif
