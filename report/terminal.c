#include "report/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned int gv_terminal_width(FILE *out)
{
    struct winsize size;
    int fd = fileno(out);

    return fd >= 0 && isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool gv_terminal_has_colours(FILE *out)
{
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");
    int fd = fileno(out);

    return fd >= 0 && isatty(fd) && !(none && *none) && kind && strcmp(kind, "dumb") != 0;
}
