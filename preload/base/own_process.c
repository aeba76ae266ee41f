#include "preload/base/own_process.h"

#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

struct gv_process gv_process;
struct gv_process_own gv_process_own;

static _Atomic int settings_read;

void gv_process_read_settings(void)
{
    if (atomic_exchange(&settings_read, 1))
        return;
    gv_settings_read(&gv_process.settings, NULL, NULL);
}

bool gv_process_is_ours(void)
{
    return !getauxval(AT_SECURE);
}

bool gv_process_is_attached_here(void)
{
    return gv_process_is_recording() && (uint32_t)syscall(SYS_getpid) == gv_process.pid;
}

bool gv_process_records_runtime(void)
{
    gv_process_read_settings();
    return gv_process.settings.runtime == GV_RUNTIME_ON;
}
