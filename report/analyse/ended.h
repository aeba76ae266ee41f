/* The signal that ended a process. Traces have it for some processes; `gpuverify run` knows it
 * for its program. */
#ifndef GV_ANALYSE_ENDED_H
#define GV_ANALYSE_ENDED_H

#include <stddef.h>
#include <stdint.h>

struct gv_ended {
    int64_t pid;
    int signal; /* 0: by none */
};

/* "crashed (SIGSEGV)", or "was killed (SIGKILL)". */
const char *gv_ended_say(int64_t signal, char *out, size_t size);

#endif
