#include "report/collect/python_lines.h"

#define GV_NO_LINE (-128)

/* 3.9: pairs of steps, in bytes and in lines; a line starts at its pair. */
static int64_t line_number_table(const struct gv_python_table *table, size_t instruction)
{
    int64_t line = table->first_line;
    size_t at = 0;

    for (size_t i = 0; i + 1 < table->bytes; i += 2) {
        at += table->data[i];
        if (at > instruction)
            break;
        line += (int8_t)table->data[i + 1];
    }
    return line;
}

/* 3.10: pairs of a length in bytes and a step in lines, which comes first. A generator begins with
 * an instruction without a line: it is at its `def` then, as Python says of one that has not begun.
 */
static int64_t line_table(const struct gv_python_table *table, size_t instruction)
{
    int64_t line = table->first_line;
    size_t end = 0;

    for (size_t i = 0; i + 1 < table->bytes; i += 2) {
        int8_t step = (int8_t)table->data[i + 1];

        end += table->data[i];
        if (step != GV_NO_LINE)
            line += step;
        if (instruction < end)
            return step == GV_NO_LINE && i > 0 ? 0 : line;
    }
    return 0;
}

/* Six bits in each byte, the lowest first; the seventh means that more follow. */
static uint32_t read_number(const struct gv_python_table *table, size_t *at)
{
    uint32_t value = 0;
    unsigned shift = 0;

    while (*at < table->bytes && shift < 30) {
        uint8_t piece = table->data[(*at)++];

        value |= (uint32_t)(piece & 63) << shift;
        shift += 6;
        if (!(piece & 64))
            break;
    }
    return value;
}

static int32_t read_signed(const struct gv_python_table *table, size_t *at)
{
    uint32_t value = read_number(table, at);

    return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* 3.11: entries that start with a byte above 127, which says what follows and for how many
 * instructions. */
static int64_t location_table(const struct gv_python_table *table, size_t instruction)
{
    enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };
    int64_t line = table->first_line;
    size_t at = 0, end = 0;

    while (at < table->bytes && table->data[at] & 0x80) {
        unsigned code = table->data[at] >> 3 & 15;

        end += ((table->data[at] & 7u) + 1) * 2;
        at++;
        if (code == LONG || code == NO_COLUMNS)
            line += read_signed(table, &at);
        else if (code >= ONE_LINE_0 && code <= ONE_LINE_2)
            line += (int32_t)code - ONE_LINE_0;
        if (instruction < end)
            return code == NO_LOCATION ? 0 : line;
        while (at < table->bytes && !(table->data[at] & 0x80))
            at++;
    }
    return 0;
}

int32_t gv_python_line(const struct gv_python_table *table, uint32_t instruction)
{
    int64_t line = table->minor <= 9    ? line_number_table(table, instruction)
                   : table->minor == 10 ? line_table(table, instruction)
                                        : location_table(table, instruction);

    return line > 0 && line <= INT32_MAX ? (int32_t)line : 0;
}
