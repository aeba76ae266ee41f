#include "report/show/format.h"

#include "trace/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GV_FORMAT_DAY_NS INT64_C(86400000000000)

struct gv_result_name {
    int64_t result;
    const char *driver;
    const char *runtime;
};

static const struct gv_result_name result_names[] = {
#define GV_CUDA_ERROR(number, driver, runtime) {number, driver, runtime},
#include "report/show/cuda_errors.def"
};

/* By number, as in nccl.h 2.28. */
static const char *const nccl_results[] = {
    "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
    "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress",
};

static const char *format_scaled(char *out, double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

    snprintf(out, GV_FORMAT_BYTES, "%.*f %s", decimals, value, unit);
    return out;
}

void gv_format_add(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list values;

    va_start(values, format);
    vsnprintf(out + used, size - used, format, values);
    va_end(values);
}

const char *gv_format_duration(char out[GV_FORMAT_BYTES], int64_t ns)
{
    if (ns < 1000) {
        snprintf(out, GV_FORMAT_BYTES, "%" PRId64 " ns", ns);
        return out;
    }
    if (ns < 999500)
        return format_scaled(out, (double)ns / 1e3, "us");
    if (ns < 999500000)
        return format_scaled(out, (double)ns / 1e6, "ms");
    if (ns < 2 * GV_FORMAT_DAY_NS)
        return format_scaled(out, (double)ns / 1e9, "s");
    return format_scaled(out, (double)ns / (double)GV_FORMAT_DAY_NS, "days");
}

const char *gv_format_count(char out[GV_FORMAT_BYTES], int64_t count)
{
    char digits[GV_FORMAT_BYTES], *end = out;
    int length = snprintf(digits, sizeof(digits), "%" PRId64, count);

    for (int i = 0; i < length; i++) {
        if (i > 0 && length > 4 && (length - i) % 3 == 0)
            *end++ = ' ';
        *end++ = digits[i];
    }
    *end = '\0';
    return out;
}

const char *gv_format_size(char out[GV_FORMAT_BYTES], int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(out, GV_FORMAT_BYTES, "%" PRId64 " B", bytes);
    else
        format_scaled(out, value, units[unit]);
    return out;
}

const char *gv_format_real(char out[GV_FORMAT_BYTES], double real)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, GV_FORMAT_BYTES, "%.*g", digits, real);
        if (strtod(out, NULL) == real)
            break;
    }
    return out;
}

void gv_format_cut(char *out, size_t size, const char *text)
{
    static const char cut[] = "...";
    size_t bytes = strnlen(text, size);

    if (bytes < size) {
        memcpy(out, text, bytes + 1);
        return;
    }
    bytes = size - sizeof(cut);
    while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80) /* inside a character */
        bytes--;
    memcpy(out, text, bytes);
    memcpy(out + bytes, cut, sizeof(cut));
}

size_t gv_format_prefix(const char *text, size_t columns)
{
    size_t at = 0;

    for (; text[at]; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && columns-- == 0)
            break;
    return at;
}

bool gv_format_ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length > tail && strcmp(text + length - tail, end) == 0;
}

void gv_format_text(FILE *out, const char *text, int width, int pad)
{
    size_t room = strlen(text ? text : "-") * 6 + 1;
    char *escaped = malloc(room);

    if (!escaped)
        return;
    gv_text_escape(escaped, room, text ? text : "-");
    size_t columns = gv_text_width(escaped), limit = (size_t)width;
    if (columns > limit && width > 3) {
        fwrite(escaped, 1, gv_format_prefix(escaped, limit - 3), out);
        fputs("...", out);
        columns = limit;
    } else {
        fputs(escaped, out);
    }
    for (; pad && columns < limit; columns++)
        fputc(' ', out);
    free(escaped);
}

const char *gv_format_result(const char *call, int64_t result)
{
    int runtime = call && strncmp(call, "cuda", 4) == 0;
    int64_t nccl_count = sizeof(nccl_results) / sizeof(nccl_results[0]);

    if (call && strncmp(call, "nccl", 4) == 0)
        return result >= 0 && result < nccl_count ? nccl_results[result] : NULL;
    for (size_t i = 0; i < sizeof(result_names) / sizeof(result_names[0]); i++) {
        const struct gv_result_name *name = &result_names[i];
        if (name->result != result)
            continue;
        const char *first = runtime ? name->runtime : name->driver;
        return *first ? first : runtime ? name->driver : name->runtime;
    }
    return NULL;
}
