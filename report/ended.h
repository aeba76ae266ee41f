/* How a process ended, as its parent saw it: `gpuverify run` knows what no trace can. */
#ifndef GV_REPORT_ENDED_H
#define GV_REPORT_ENDED_H

#include <stddef.h>
#include <stdint.h>

struct gv_ended {
    int64_t pid;
    int signal; /* 0: by none */
};

/* "crashed (SIGSEGV)", or "was killed (SIGKILL)". */
const char *gv_ended_say(const struct gv_ended *ended, char *out, size_t size);

#endif
