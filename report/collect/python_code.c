#include "report/collect/python_code.h"

#include "report/collect/python_lines.h"
#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Most stacks of a program go through the same code. By number. */
#define RECENT 512u

struct gv_python_code {
    uint32_t number; /* 0: none */
    char *file;      /* with the function's name and the table behind it */
    char *function;
    bool is_interpreters;
    struct gv_python_table table;
};

/* ---- storing ---- */

static int bind(sqlite3_stmt *row, int64_t process, const struct gv_record_python_code *record,
                const char *text)
{
    char file[GV_TEXT_REPAIRED_BYTES(GV_RECORD_TEXT_LIMIT)];
    char function[GV_TEXT_REPAIRED_BYTES(GV_RECORD_TEXT_LIMIT)];
    size_t file_length = gv_text_repair(file, sizeof(file), text, record->file_bytes);
    size_t function_length = gv_text_repair(function, sizeof(function), text + record->file_bytes,
                                            record->function_bytes);
    const char *table = text + record->file_bytes + record->function_bytes;
    int result = sqlite3_bind_int64(row, 1, process);

    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(row, 2, record->number);
    if (result == SQLITE_OK && file_length)
        result = sqlite3_bind_text(row, 3, file, (int)file_length, SQLITE_TRANSIENT);
    if (result == SQLITE_OK && function_length)
        result = sqlite3_bind_text(row, 4, function, (int)function_length, SQLITE_TRANSIENT);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(row, 5, record->first_line);
    if (result == SQLITE_OK && record->table_bytes)
        result = sqlite3_bind_blob(row, 6, table, (int)record->table_bytes, SQLITE_TRANSIENT);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(row, 7, record->minor);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(row, 8, record->is_interpreters);
    return result;
}

int gv_python_code_store(struct gv_python_codes *codes, const struct gv_record_python_code *record,
                         const char *text, size_t bytes)
{
    sqlite3_stmt *row;
    int error, result;

    if (record->number == 0 ||
        bytes < (uint64_t)record->file_bytes + record->function_bytes + record->table_bytes)
        return 0;
    row = gv_database_prepare(codes->database, GV_STATEMENT_PYTHON_CODE_ADD, &error);
    if (!row)
        return error;
    result = bind(row, codes->process, record, text);
    error = result == SQLITE_OK ? gv_database_step(row)
                                : gv_database_error(codes->database->handle, result);
    sqlite3_clear_bindings(row);
    return error;
}

/* ---- finding ---- */

static const char *text_of(sqlite3_stmt *row, int column, size_t *bytes)
{
    const char *text = (const char *)sqlite3_column_blob(row, column);

    *bytes = (size_t)sqlite3_column_bytes(row, column);
    return text ? text : "";
}

/* The trace may have been written by anybody. */
static int take(struct gv_python_code *code, uint32_t number, sqlite3_stmt *row)
{
    size_t file_bytes, function_bytes, table_bytes;
    const char *file = text_of(row, 0, &file_bytes);
    const char *function = text_of(row, 1, &function_bytes);
    const char *table = text_of(row, 3, &table_bytes);
    char *all = malloc(file_bytes + 1 + function_bytes + 1 + table_bytes);

    if (!all)
        return -ENOMEM;
    free(code->file);
    code->file = memcpy(all, file, file_bytes);
    all[file_bytes] = '\0';
    code->function = memcpy(all + file_bytes + 1, function, function_bytes);
    code->function[function_bytes] = '\0';
    code->table.data = memcpy(code->function + function_bytes + 1, table, table_bytes);
    code->table.bytes = table_bytes;
    code->table.first_line = sqlite3_column_int(row, 2);
    code->table.minor = (unsigned)sqlite3_column_int(row, 4);
    code->is_interpreters = sqlite3_column_int(row, 5);
    code->number = number;
    return 0;
}

static int load(struct gv_python_codes *codes, struct gv_python_code *code, uint32_t number)
{
    sqlite3_stmt *row;
    int result, error;

    row = gv_database_prepare(codes->database, GV_STATEMENT_PYTHON_CODE_FIND, &error);
    if (!row)
        return error;
    result = sqlite3_bind_int64(row, 1, codes->process);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(row, 2, number);
    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    error = result == SQLITE_ROW    ? take(code, number, row)
            : result == SQLITE_DONE ? -ENOENT
                                    : gv_database_error(codes->database->handle, result);
    sqlite3_reset(row);
    return error;
}

int gv_python_code_find(struct gv_python_codes *codes, uint32_t number, uint32_t instruction,
                        struct gv_python_place *place)
{
    struct gv_python_code *code;
    int error;

    if (number == 0)
        return -ENOENT;
    if (!codes->recent)
        codes->recent = calloc(RECENT, sizeof(*codes->recent));
    if (!codes->recent)
        return -ENOMEM;
    code = &codes->recent[number % RECENT];
    error = code->number == number ? 0 : load(codes, code, number);
    if (error)
        return error;
    place->file = code->file;
    place->function = code->function;
    place->line =
        code->table.bytes ? gv_python_line(&code->table, instruction) : code->table.first_line;
    if (place->line < 0)
        place->line = 0;
    place->is_hidden = code->is_interpreters && place->line == 0;
    return 0;
}

/* ---- the end ---- */

int gv_python_code_end(struct gv_python_codes *codes)
{
    return gv_database_run(codes->database, GV_STATEMENT_PYTHON_CODE_CLEAR, "i", codes->process);
}

void gv_python_code_close(struct gv_python_codes *codes)
{
    for (unsigned i = 0; i < RECENT && codes->recent; i++)
        free(codes->recent[i].file);
    free(codes->recent);
    codes->recent = NULL;
}
