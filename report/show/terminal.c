#include "report/show/terminal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GV_TERMINAL_MOST 10000
/* The default width of text, the least and the most. */
#define GV_TERMINAL_TEXT       100
#define GV_TERMINAL_TEXT_LEAST 40
#define GV_TERMINAL_TEXT_MOST  160

/* The value of COLUMNS; 0: invalid. */
static unsigned int terminal_asked(void)
{
    const char *columns = getenv("COLUMNS");
    char *end;

    if (!columns || columns[0] < '0' || columns[0] > '9')
        return 0;
    unsigned long width = strtoul(columns, &end, 10);
    return *end || width > GV_TERMINAL_MOST ? 0 : (unsigned int)width;
}

unsigned int gv_terminal_width(FILE *out)
{
    unsigned int asked = terminal_asked();
    struct winsize size;
    int fd = fileno(out);

    if (asked > 0)
        return asked;

    return fd >= 0 && isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int gv_terminal_columns(FILE *out)
{
    unsigned int width = gv_terminal_width(out);

    if (width == 0)
        return GV_TERMINAL_TEXT;
    if (width < GV_TERMINAL_TEXT_LEAST)
        return GV_TERMINAL_TEXT_LEAST;
    return (int)(width > GV_TERMINAL_TEXT_MOST ? GV_TERMINAL_TEXT_MOST : width);
}

static bool has_colours(FILE *out)
{
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");
    int fd = fileno(out);

    return fd >= 0 && isatty(fd) && !(none && *none) && kind && strcmp(kind, "dumb") != 0;
}

const char *gv_colour(FILE *out, enum gv_colour colour)
{
    static const char *const codes[] = {
        [GV_COLOUR_NONE] = "\033[0m",  [GV_COLOUR_BOLD] = "\033[1m", [GV_COLOUR_DIM] = "\033[2m",
        [GV_COLOUR_COST] = "\033[31m", [GV_COLOUR_MAY] = "\033[33m",
    };

    return has_colours(out) ? codes[colour] : "";
}
