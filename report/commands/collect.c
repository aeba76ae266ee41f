/* gpuverify collect: the collector's process, started by the library. */
#include "report/commands/commands.h"

#include "report/collect/collector.h"
#include "report/show/message.h"
#include "trace/session.h"

#include <string.h>

int gv_command_collect(const struct gv_arguments *arguments)
{
    const char *session = arguments->operands[0];
    int error = gv_collector_run(session, GV_SESSION_LOCK_FD);

    if (error) {
        gv_message("cannot collect %s: %s", session, strerror(-error));
        return GV_EXIT_FAILED;
    }
    return GV_EXIT_FINE;
}
