#include "report/show/sparkline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether the terminal uses Unicode, by the usual variables. */
static bool sparkline_is_unicode(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8");
    }
    return false;
}

void gv_sparkline(FILE *out, const double *levels, size_t count)
{
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const letters[] = {"_", "_", "-", "-", "=", "=", "#", "#"};
    const char *const *shown = sparkline_is_unicode() ? blocks : letters;

    for (size_t i = 0; i < count; i++) {
        int step = levels[i] >= 1 ? 7 : levels[i] > 0 ? (int)(levels[i] * 8) : 0;
        fputs(!(levels[i] >= 0) ? " " : levels[i] == 0 ? "." : shown[step], out);
    }
}
