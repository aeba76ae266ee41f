#include "preload/stacks/python_lines.h"

#include <stdbool.h>

#define GV_NO_LINE (-128)

/* One byte of the table. If it cannot be read, 0, which soon ends each format. */
static uint8_t byte_at(struct gv_python_table *table, size_t at)
{
    if (at < table->window_at || at - table->window_at >= table->window_bytes) {
        size_t left = table->bytes - at;

        table->window_at = at;
        table->window_bytes = left < sizeof table->window ? left : sizeof table->window;
        if (!gv_python_memory_read(table->memory, table->window, table->from + at,
                                   table->window_bytes))
            for (size_t i = 0; i < table->window_bytes; i++)
                table->window[i] = 0;
    }
    return table->window[at - table->window_at];
}

/* 3.9: pairs of steps, in bytes and in lines; a line starts at its pair. */
static int32_t line_number_table(struct gv_python_table *table, int32_t line, size_t instruction)
{
    size_t at = 0;

    for (size_t i = 0; i + 1 < table->bytes; i += 2) {
        at += byte_at(table, i);
        if (at > instruction)
            break;
        line += (int8_t)byte_at(table, i + 1);
    }
    return line;
}

/* 3.10: pairs of a length in bytes and a step in lines, which comes first. */
static int32_t line_table(struct gv_python_table *table, int32_t line, size_t instruction)
{
    size_t end = 0;

    for (size_t i = 0; i + 1 < table->bytes; i += 2) {
        int8_t step = (int8_t)byte_at(table, i + 1);

        end += byte_at(table, i);
        if (step != GV_NO_LINE)
            line += step;
        if (instruction < end)
            return step == GV_NO_LINE ? 0 : line;
    }
    return 0;
}

/* Six bits in each byte, the lowest first; the seventh means that more follow. */
static uint32_t read_number(struct gv_python_table *table, size_t *at)
{
    uint32_t value = 0;
    unsigned shift = 0;

    while (*at < table->bytes && shift < 30) {
        uint8_t piece = byte_at(table, (*at)++);

        value |= (uint32_t)(piece & 63) << shift;
        shift += 6;
        if (!(piece & 64))
            break;
    }
    return value;
}

static int32_t read_signed(struct gv_python_table *table, size_t *at)
{
    uint32_t value = read_number(table, at);

    return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* 3.11: entries that start with a byte above 127, which says what follows and for how many
 * instructions. */
static int32_t location_table(struct gv_python_table *table, int32_t line, size_t instruction)
{
    enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };
    size_t at = 0, end = 0;

    while (at < table->bytes && byte_at(table, at) & 0x80) {
        unsigned code = byte_at(table, at) >> 3 & 15;

        end += ((byte_at(table, at) & 7u) + 1) * 2;
        at++;
        if (code == LONG || code == NO_COLUMNS)
            line += read_signed(table, &at);
        else if (code >= ONE_LINE_0 && code <= ONE_LINE_2)
            line += (int32_t)code - ONE_LINE_0;
        if (instruction < end)
            return code == NO_LOCATION ? 0 : line;
        while (at < table->bytes && !(byte_at(table, at) & 0x80))
            at++;
    }
    return 0;
}

int32_t gv_python_line(unsigned minor, struct gv_python_table *table, int32_t first_line,
                       size_t instruction)
{
    if (minor <= 9)
        return line_number_table(table, first_line, instruction);
    if (minor == 10)
        return line_table(table, first_line, instruction);
    return location_table(table, first_line, instruction);
}
