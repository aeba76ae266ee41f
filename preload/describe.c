/* What a spool says about its process, for people who look at the trace later. */
#include "preload/attach.h"

#include "preload/clock.h"
#include "trace/session_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static size_t read_file(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t total = 0;

    if (fd < 0)
        return 0;
    while (total < bytes) {
        ssize_t length = read(fd, text + total, bytes - total);

        if (length <= 0)
            break;
        total += (size_t)length;
    }
    close(fd);
    return total;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The script of "python3 -u -X dev train.py": the first argument that is no option's. */
static const char *script_of(const char *arguments, size_t bytes)
{
    const char *end = arguments + bytes;
    const char *argument = arguments + strlen(arguments) + 1;

    while (argument < end && *argument == '-') {
        bool takes_next = strcmp(argument, "-X") == 0 || strcmp(argument, "-W") == 0;

        if (argument[1] == 'c' || argument[1] == 'm') /* code or a module's name follows */
            return NULL;
        argument += strlen(argument) + 1;
        if (takes_next && argument < end)
            argument += strlen(argument) + 1;
    }
    return argument < end && *argument ? argument : NULL;
}

void gv_process_program_name(char *name, size_t bytes)
{
    static char arguments[GV_SPOOL_ARGUMENTS_BYTES + 1]; /* by the one thread that attaches */
    size_t length = read_file("/proc/self/cmdline", arguments, sizeof arguments - 1);
    const char *program;
    const char *script;

    arguments[length] = 0;
    program = last_part(arguments);
    if (strncmp(program, "python", 6) == 0) {
        script = script_of(arguments, length);
        if (script) {
            size_t stem;

            program = last_part(script);
            stem = strlen(program);
            if (stem > 3 && strcmp(program + stem - 3, ".py") == 0)
                stem -= 3;
            snprintf(name, bytes, "%.*s", (int)stem, program);
            return;
        }
    }
    snprintf(name, bytes, "%s", *program ? program : "program");
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
    length = readlink("/proc/self/exe", header->executable, sizeof header->executable - 1);
    header->executable[length > 0 ? length : 0] = 0;
    header->arguments_bytes =
        (uint32_t)read_file("/proc/self/cmdline", header->arguments, sizeof header->arguments);
    if (!getcwd(header->directory, sizeof header->directory))
        header->directory[0] = 0;
    gv_process_program_name(header->program, sizeof header->program);
    /* The reader believes nothing of it before it sees this. */
    atomic_thread_fence(memory_order_release);
    memcpy(header->magic, GV_SPOOL_MAGIC, sizeof GV_SPOOL_MAGIC);
}
