/*
 * Feeds damaged traces to the commands. Whatever the file contains, a command must end with one of
 * its exit codes, and stay inside its memory.
 *
 * The input's first byte selects the command, the second the trace, and whether to damage bytes of
 * the file or values in it. The rest are chunks: an offset (3 bytes) and 7 bytes to put there.
 */
#include "report/analyse/totals/totals.h"
#include "report/commands/commands.h"
#include "report/store/schema.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUZZ_CHUNK      10u
#define FUZZ_TABLES     64u
#define FUZZ_NAME_BYTES 64u
#define FUZZ_TRACE      "trace.db"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* SQLite allocates much; without this, most time goes into the stacks of allocations. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "malloc_context_size=2:quarantine_size_mb=8:max_malloc_fill_size=0";
}

typedef int fuzz_function(const struct gv_arguments *arguments);

static const struct {
    fuzz_function *function;
    enum gv_command_id command;
    const char *words[12];
} fuzz_commands[] = {
    {gv_command_report, GV_COMMAND_report, {FUZZ_TRACE}},
    {gv_command_report, GV_COMMAND_report, {FUZZ_TRACE, "--format", "json"}},
    {gv_command_report, GV_COMMAND_report, {FUZZ_TRACE, "--format=markdown", "--from=4300ms"}},
    {gv_command_stalls, GV_COMMAND_stalls, {FUZZ_TRACE, "--all", "--format", "json"}},
    {gv_command_idle, GV_COMMAND_idle, {FUZZ_TRACE}},
    {gv_command_idle, GV_COMMAND_idle, {FUZZ_TRACE, "--reason=start", "--format=json"}},
    {gv_command_explain, GV_COMMAND_explain, {FUZZ_TRACE}},
    {gv_command_explain, GV_COMMAND_explain, {FUZZ_TRACE, "i1"}},
    {gv_command_explain, GV_COMMAND_explain, {FUZZ_TRACE, "1"}},
    {gv_command_check,
     GV_COMMAND_check,
     {FUZZ_TRACE, "--min-gpu-busy=1%", "--max-gpu-gap=1s", "--max-stall=1ms", "--no-stall=any",
      "--no-load-after=1s", "--no-load-after=3 launches", "--no-jit", "--max-copy-ratio=1",
      "--require-kernel=*gemm*", "--min-launches=1"}},
    {gv_command_check, GV_COMMAND_check, {FUZZ_TRACE, "--max-idle=1%", "--max-idle-of=start=1%"}},
    {gv_command_query, GV_COMMAND_query, {FUZZ_TRACE, "gpu-gaps", "--format=csv"}},
    {gv_command_query, GV_COMMAND_query, {FUZZ_TRACE, "stall-lines"}},
    {gv_command_query, GV_COMMAND_query, {FUZZ_TRACE, "SELECT * FROM calls", "--format=json"}},
    {gv_command_query, GV_COMMAND_query, {FUZZ_TRACE, "SELECT * FROM loads", "--format=markdown"}},
    {gv_command_diff, GV_COMMAND_diff, {FUZZ_TRACE, FUZZ_TRACE, "--all"}},
    {gv_command_diff, GV_COMMAND_diff, {"-fjson", FUZZ_TRACE, "--", FUZZ_TRACE, FUZZ_TRACE}},
    {gv_command_report, GV_COMMAND_report, {FUZZ_TRACE, "--range=*", "--format=json"}},
    {gv_command_idle, GV_COMMAND_idle, {FUZZ_TRACE, "--range=a*"}},
};

#define FUZZ_COMMANDS (sizeof(fuzz_commands) / sizeof(fuzz_commands[0]))

/* An undamaged file. */
struct fuzz_base {
    const char *sql;
    bool totals; /* stored, as in a finished trace */
    const char *change;
    unsigned char *whole;
    size_t bytes;
};

/* The last two are not analysed yet; the very last has only calls. */
static struct fuzz_base fuzz_bases[] = {
    {FUZZ_TRACES "/lazy_launch.sql", false, NULL, NULL, 0},
    {FUZZ_TRACES "/add.sql", true, NULL, NULL, 0},
    {FUZZ_TRACES "/lock_copy.sql", false,
     "INSERT INTO gpu_change SELECT 1, start_ns, CASE id % 3 WHEN 0 THEN 'other' WHEN 1 THEN"
     " 'between' ELSE 'seen' END, 'Proton' FROM call WHERE id % 10 < 3;"
     "INSERT INTO gpu_window SELECT 1, start_ns, start_ns + 1000 FROM call WHERE id % 10 = 2;"
     "INSERT INTO range_text VALUES (1, 1, 1, 'a 1'), (2, 1, 2, 'b');"
     "INSERT INTO range (id, thread, kind, text, start_ns, duration_ns, parent)"
     " SELECT id, thread, 1 + id % 3, 1 + id % 2, start_ns, 5 * duration_ns, nullif(id - 1, 0)"
     " FROM call;"
     "INSERT INTO call_range SELECT thread, id, id FROM call WHERE id % 3 = 0",
     NULL, 0},
    {FUZZ_TRACES "/lock_copy.sql", false, "UPDATE process SET gpu = 'host-only'", NULL, 0},
};
#define FUZZ_BASES (sizeof(fuzz_bases) / sizeof(fuzz_bases[0]))
static char fuzz_tables[FUZZ_TABLES][FUZZ_NAME_BYTES];
static size_t fuzz_tables_count;
static FILE *fuzz_nothing;
static char fuzz_directory[] = "/dev/shm/gpuverify-fuzz-XXXXXX";

static void fuzz_must(bool fine)
{
    if (!fine)
        abort();
}

static void *fuzz_read(const char *path, size_t *bytes)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    fuzz_must(fd >= 0 && fstat(fd, &status) == 0);
    char *text = calloc(1, (size_t)status.st_size + 1);
    fuzz_must(text && read(fd, text, (size_t)status.st_size) == status.st_size);
    close(fd);
    *bytes = (size_t)status.st_size;
    return text;
}

static void fuzz_name_tables(sqlite3 *database)
{
    sqlite3_stmt *rows = NULL;

    fuzz_must(sqlite3_prepare_v2(database,
                                 "SELECT name FROM sqlite_master WHERE type = 'table'"
                                 " AND name NOT LIKE 'sqlite_%'",
                                 -1, &rows, NULL) == SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW && fuzz_tables_count < FUZZ_TABLES)
        snprintf(fuzz_tables[fuzz_tables_count++], FUZZ_NAME_BYTES, "%s",
                 (const char *)sqlite3_column_text(rows, 0));
    sqlite3_finalize(rows);
}

static void fuzz_end(void)
{
    unlink(FUZZ_TRACE);
    rmdir(fuzz_directory);
}

static void fuzz_make(struct fuzz_base *base)
{
    sqlite3 *database = NULL;
    size_t bytes;
    char *sql = fuzz_read(base->sql, &bytes);

    unlink(FUZZ_TRACE);
    fuzz_must(sqlite3_open(FUZZ_TRACE, &database) == SQLITE_OK &&
              sqlite3_exec(database, gv_schema_sql, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK);
    free(sql);
    fuzz_must(!base->change || sqlite3_exec(database, base->change, NULL, NULL, NULL) == SQLITE_OK);
    fuzz_must(!base->totals || gv_totals_keep(database) == 0);
    if (fuzz_tables_count == 0)
        fuzz_name_tables(database);
    sqlite3_close(database);
    base->whole = fuzz_read(FUZZ_TRACE, &base->bytes);
}

/* Once: a working folder, FUZZ_FOLDER or a new one, and the traces to damage. */
static void fuzz_begin(void)
{
    const char *folder = getenv("FUZZ_FOLDER");

    if (!folder) {
        folder = mkdtemp(fuzz_directory);
        fuzz_must(folder && atexit(fuzz_end) == 0);
    }
    fuzz_nothing = fopen("/dev/null", "we");
    fuzz_must(fuzz_nothing && chdir(folder) == 0);
    for (size_t i = 0; i < FUZZ_BASES; i++)
        fuzz_make(&fuzz_bases[i]);
}

static void fuzz_write(const struct fuzz_base *base, const uint8_t *data, size_t size, bool damaged)
{
    unsigned char *copy = malloc(base->bytes);
    size_t bytes = base->bytes;
    int fd = open(FUZZ_TRACE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    fuzz_must(copy && fd >= 0);
    memcpy(copy, base->whole, bytes);
    for (; damaged && size >= FUZZ_CHUNK; data += FUZZ_CHUNK, size -= FUZZ_CHUNK) {
        size_t where = ((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % bytes;
        memcpy(copy + where, data + 3,
               bytes - where < FUZZ_CHUNK - 3 ? bytes - where : FUZZ_CHUNK - 3);
    }
    if (damaged && size == 1)
        bytes = bytes * data[0] / 255;
    fuzz_must(write(fd, copy, bytes) == (ssize_t)bytes);
    close(fd);
    free(copy);
}

/* A value for a column: a number, a text, bytes, or an extreme value. */
static void fuzz_bind(sqlite3_stmt *statement, const uint8_t chunk[FUZZ_CHUNK])
{
    static const int64_t extremes[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 32, 1 << 16};
    int64_t number = 0;

    memcpy(&number, chunk + 4, 6);
    switch (chunk[3] % 5) {
    case 0:
        sqlite3_bind_int64(statement, 1, extremes[chunk[4] % 7]);
        break;
    case 1:
        sqlite3_bind_int64(statement, 1, number);
        break;
    case 2:
        sqlite3_bind_text(statement, 1, (const char *)chunk + 4, 6, SQLITE_STATIC);
        break;
    case 3:
        sqlite3_bind_blob(statement, 1, chunk + 4, 6, SQLITE_STATIC);
        break;
    default:
        sqlite3_bind_double(statement, 1, (double)number * 1e290);
        break;
    }
}

/* Puts values into columns of any table, in all rows or some. */
static void fuzz_change(const uint8_t *data, size_t size)
{
    sqlite3 *database = NULL;

    fuzz_must(sqlite3_open(FUZZ_TRACE, &database) == SQLITE_OK);
    for (; size >= FUZZ_CHUNK; data += FUZZ_CHUNK, size -= FUZZ_CHUNK) {
        const char *table = fuzz_tables[data[0] % fuzz_tables_count];
        sqlite3_stmt *statement = NULL;
        char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
        fuzz_must(sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK);
        sqlite3_free(sql);
        const char *column =
            sqlite3_column_name(statement, data[1] % sqlite3_column_count(statement));
        sql =
            sqlite3_mprintf("UPDATE OR REPLACE \"%w\" SET \"%w\" = ?1 WHERE %d = 0 OR %s %% 7 = 1",
                            table, column, data[2] % 2, column);
        sqlite3_finalize(statement);
        statement = NULL;
        if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK) {
            fuzz_bind(statement, data);
            sqlite3_step(statement);
        }
        sqlite3_finalize(statement);
        sqlite3_free(sql);
    }
    sqlite3_close(database);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char words[12][64], *argv[13] = {NULL};
    struct gv_arguments arguments;
    int argc = 1, code;

    if (!fuzz_bases[0].whole)
        fuzz_begin();
    if (size < 2)
        return 0;
    size_t chosen = data[0] % FUZZ_COMMANDS;
    fuzz_write(&fuzz_bases[data[1] / 2 % FUZZ_BASES], data + 2, size - 2, data[1] % 2);
    if (data[1] % 2 == 0)
        fuzz_change(data + 2, size - 2);
    argv[0] = words[0];
    snprintf(words[0], sizeof(words[0]), "%s", gv_commands[fuzz_commands[chosen].command].name);
    for (; argc < 12 && fuzz_commands[chosen].words[argc - 1]; argc++) {
        snprintf(words[argc], sizeof(words[argc]), "%s", fuzz_commands[chosen].words[argc - 1]);
        argv[argc] = words[argc];
    }
    fuzz_must(gv_arguments_parse(&gv_commands[fuzz_commands[chosen].command], argc, argv,
                                 &arguments, &code));
    /* The commands' output is not needed; the sanitizers do not use stdio. */
    FILE *out = stdout, *err = stderr;
    stdout = fuzz_nothing;
    stderr = fuzz_nothing;
    code = fuzz_commands[chosen].function(&arguments);
    stdout = out;
    stderr = err;
    fuzz_must(code >= GV_EXIT_FINE && code <= GV_EXIT_FAILED);
    gv_arguments_free(&arguments);
    unlink(FUZZ_TRACE);
    return 0;
}
