#include "trace/program_name.h"

#include "trace/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

size_t gv_program_read_arguments(uint32_t pid, char *arguments, size_t size)
{
    char path[32] = "/proc/thread-self/cmdline";
    size_t total = 0;
    int fd;

    if (pid)
        snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while (total < size) {
        ssize_t length = read(fd, arguments + total, size - total);

        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            break;
        total += (size_t)length;
    }
    close(fd);
    return total;
}

/* The script of "python3 -u -X dev train.py": the first argument that belongs to no option. */
static const char *program_script(const char *arguments, const char *end)
{
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

void gv_program_name(char *arguments, size_t bytes, char *name, size_t size)
{
    const char *program = "", *script = NULL;

    if (bytes > 0) {
        arguments[bytes - 1] = '\0';
        program = gv_text_base(arguments);
        if (strncmp(program, "python", 6) == 0)
            script = program_script(arguments, arguments + bytes);
    }
    if (script) {
        program = gv_text_base(script);
        size_t stem = strlen(program);
        if (stem > 3 && strcmp(program + stem - 3, ".py") == 0)
            stem -= 3;
        snprintf(name, size, "%.*s", (int)stem, program);
        return;
    }
    snprintf(name, size, "%s", *program ? program : "program");
}
