#include "report/analyse/ended.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

static const struct {
    int signal;
    bool crash; /* usually caused by the program itself */
    const char *name;
} gv_ended_signals[] = {
    {SIGSEGV, true, "SIGSEGV"},  {SIGBUS, true, "SIGBUS"},    {SIGILL, true, "SIGILL"},
    {SIGFPE, true, "SIGFPE"},    {SIGABRT, true, "SIGABRT"},  {SIGTRAP, true, "SIGTRAP"},
    {SIGSYS, true, "SIGSYS"},    {SIGKILL, false, "SIGKILL"}, {SIGTERM, false, "SIGTERM"},
    {SIGINT, false, "SIGINT"},   {SIGHUP, false, "SIGHUP"},   {SIGQUIT, false, "SIGQUIT"},
    {SIGPIPE, false, "SIGPIPE"}, {SIGALRM, false, "SIGALRM"}, {SIGXCPU, false, "SIGXCPU"},
};

const char *gv_ended_say(int64_t number, char *out, size_t size)
{
    snprintf(out, size, "was killed (signal %" PRId64 ")", number);
    for (size_t i = 0; i < sizeof(gv_ended_signals) / sizeof(gv_ended_signals[0]); i++)
        if (gv_ended_signals[i].signal == number)
            snprintf(out, size, "%s (%s)", gv_ended_signals[i].crash ? "crashed" : "was killed",
                     gv_ended_signals[i].name);
    return out;
}
