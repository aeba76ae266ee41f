/* gpuverify collect: the collector's process, started by the library. */
#include "report/commands.h"

#include "report/collector.h"
#include "trace/session.h"

#include <string.h>

int gv_command_collect(int argc, char **argv)
{
    if (argc != 2)
        return gv_command_usage("collect");
    int error = gv_collector_run(argv[1], GV_SESSION_LOCK_FD);
    if (error) {
        gv_message("cannot collect %s: %s", argv[1], strerror(-error));
        return GV_EXIT_FAILED;
    }
    return GV_EXIT_FINE;
}
