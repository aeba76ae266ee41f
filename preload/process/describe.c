/* Writes facts about the process into its spool, for readers of the trace. */
#include "preload/process/attach.h"

#include "preload/base/clock.h"
#include "preload/base/own_environ.h"
#include "preload/process/rank.h"
#include "trace/program_name.h"
#include "trace/session_id.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void gv_process_program_name(char *name, size_t bytes)
{
    static char arguments[GV_SPOOL_ARGUMENTS_BYTES]; /* by the one attaching thread */

    gv_program_name(arguments, gv_program_read_arguments(0, arguments, sizeof arguments), name,
                    bytes);
}

static void write_environment(struct gv_spool_header *header)
{
    static const char *const names[GV_ENVIRONMENT_COUNT] = {
#define GV_ENVIRONMENT(name, ...) #name,
#include "trace/environment.def"
    };

    char variable[2 * GV_SPOOL_VARIABLE_BYTES];

    memset(header->environment, 0, sizeof header->environment);
    for (size_t at = 0; gv_own_environ_read(at, variable, sizeof variable); at++)
        for (size_t i = 0; i < GV_ENVIRONMENT_COUNT; i++) {
            size_t length = strlen(names[i]);
            char *value = header->environment[i];

            if (strncmp(variable, names[i], length) != 0 || variable[length] != '=' || value[0])
                continue;
            if (snprintf(value, GV_SPOOL_VARIABLE_BYTES, "%s", variable + length) >=
                (int)GV_SPOOL_VARIABLE_BYTES)
                memcpy(value + GV_SPOOL_VARIABLE_BYTES - 4, "...", 4);
        }
}

/* The driver reads some variables in cuInit(), and CUDA_LAUNCH_BLOCKING when it makes a context:
 * programs set it in between. */
void gv_process_note_environment(void)
{
    struct gv_spool_header *header = gv_process.spool.header;
    uint32_t first = atomic_load_explicit(&header->environment_reads, memory_order_relaxed);

    if (first != 1 || !atomic_compare_exchange_strong(&header->environment_reads, &first, 2))
        return;
    write_environment(header);
    atomic_store_explicit(&header->environment_reads, 3, memory_order_release);
}

void gv_process_describe(struct gv_spool_header *header)
{
    ssize_t length;

    snprintf(header->session, sizeof header->session, "%s", gv_process.session_id);
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->forked = gv_process.forked;
    if (gv_session_read_start_ticks(header->pid, &header->process_start_ticks) < 0)
        header->process_start_ticks = 0;
    header->attached_ns = gv_clock_now_ns();
    length = readlink("/proc/thread-self/exe", header->executable, sizeof header->executable - 1);
    header->executable[length > 0 ? length : 0] = 0;
    header->arguments_bytes =
        (uint32_t)gv_program_read_arguments(0, header->arguments, sizeof header->arguments);
    if (!getcwd(header->directory, sizeof header->directory))
        header->directory[0] = 0;
    gv_process_program_name(header->program, sizeof header->program);
    gv_process_rank_read(&header->rank);
    write_environment(header);
    atomic_store_explicit(&header->environment_reads, 1, memory_order_relaxed);
    /* Written last: until the reader sees this, it ignores the rest. */
    atomic_thread_fence(memory_order_release);
    memcpy(header->magic, GV_SPOOL_MAGIC, sizeof GV_SPOOL_MAGIC);
}
