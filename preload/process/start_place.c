#include "preload/process/start_place.h"

#include "trace/session.h"
#include "trace/settings.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static char start[GV_SESSION_PATH_BYTES];

/* A path that does not fit stays relative, to the start of each process. */
static int make_absolute(const char *name, bool is_pattern)
{
    static char path[GV_SETTING_TEXT_BYTES];
    const char *given = getenv(name);

    if (given && *given && *given != '/' &&
        gv_trace_path_absolute(path, sizeof path, start, given, is_pattern) == 0 &&
        setenv(name, path, 1) < 0)
        return -errno;
    return 0;
}

int gv_start_place_note(void)
{
    int error;

    if (!getcwd(start, sizeof start)) {
        start[0] = 0;
        return 0;
    }
    error = make_absolute("GPUVERIFY_TRACE", true);
    return error ? error : make_absolute("GPUVERIFY_SPOOL_DIR", false);
}

const char *gv_start_place(void)
{
    if (start[0])
        return start;
    return getcwd(start, sizeof start);
}
