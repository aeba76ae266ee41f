/*
 * Feeds a stranger's traces to the commands that read one. Whatever the file contains, a command
 * must end with one of its exit codes, stay inside its memory, write nothing to a terminal that
 * the terminal might obey, and open no file that only the trace names.
 *
 * The input's first byte selects the command, the second the trace, and whether to damage bytes of
 * the file or values in it. The rest are chunks: an offset (3 bytes) and 7 bytes to put there; or
 * a table, a column, what to do (fuzz_change, fuzz_edit), and 7 bytes that say more.
 */
#include "report/analyse/totals/totals.h"
#include "report/commands/commands.h"
#include "report/store/schema.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUZZ_CHUNK      10u
#define FUZZ_TABLES     128u
#define FUZZ_NAME_BYTES 64u
#define FUZZ_TRACE      "trace.db"
#define FUZZ_OUTPUT     "output"
/* No command may open a file with this in its path; only values of a trace have it. */
#define FUZZ_CANARY "canary"
#define FUZZ_ROWS   4096

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
    {gv_command_export, GV_COMMAND_export, {FUZZ_TRACE, "--to=html"}},
    {gv_command_export, GV_COMMAND_export, {FUZZ_TRACE, "--to=svg", "--of=idle"}},
    {gv_command_export, GV_COMMAND_export, {FUZZ_TRACE, "--to=folded", "--of=stalls"}},
    {gv_command_export, GV_COMMAND_export, {FUZZ_TRACE, "--to=perfetto", "-o", FUZZ_OUTPUT}},
    {gv_command_export, GV_COMMAND_export, {FUZZ_TRACE, "--to=openmetrics"}},
    {gv_command_export, GV_COMMAND_export, {FUZZ_TRACE, "--to=csv", "-o", FUZZ_OUTPUT}},
    {gv_command_report,
     GV_COMMAND_report,
     {FUZZ_TRACE, "-n0", "-ssteps", "-sgpu_lines", "-sranges", "-stimeline", "-ssamples",
      "-senvironment", "-sown_cost", "-smemory_lines", "-sleaks"}},
    {gv_command_report, GV_COMMAND_report, {FUZZ_TRACE, "-sminutes", "-schanges", "--format=csv"}},
    {gv_command_top, GV_COMMAND_top, {FUZZ_TRACE, "--once"}},
    {gv_command_snapshot, GV_COMMAND_snapshot, {FUZZ_TRACE, "-o", FUZZ_OUTPUT}},
    {gv_command_recover, GV_COMMAND_recover, {FUZZ_TRACE}},
    {gv_command_mark, GV_COMMAND_mark, {FUZZ_TRACE, "text"}},
    {gv_command_query, GV_COMMAND_query, {FUZZ_TRACE, "SELECT name FROM api", "--value"}},
    {gv_command_merge, GV_COMMAND_merge, {FUZZ_TRACE, "-o", FUZZ_OUTPUT}},
    {gv_command_report, GV_COMMAND_report, {FUZZ_TRACE, "-sranks", "-sspread", "-snccl"}},
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

/* Some are not analysed yet; the one before the last has calls and samples only. Of the last, the
 * collector was killed, and it had not named its stacks. */
static struct fuzz_base fuzz_bases[] = {
    {FUZZ_TRACES "/lazy_launch.sql", false, NULL, NULL, 0},
    {FUZZ_TRACES "/add.sql", true, NULL, NULL, 0},
    {FUZZ_TRACES "/lock_copy.sql", false,
     "INSERT INTO gpu_change SELECT 1, start_ns, CASE id % 3 WHEN 0 THEN 'other' WHEN 1 THEN"
     " 'between' ELSE 'seen' END, 'Proton' FROM call WHERE id % 10 < 3;"
     "INSERT INTO range_text VALUES (1, 1, 1, 'a 1'), (2, 1, 2, 'b');"
     "INSERT INTO range (id, thread, kind, text, start_ns, duration_ns, parent)"
     " SELECT id, thread, 1 + id % 3, 1 + id % 2, start_ns, 5 * duration_ns, nullif(id - 1, 0)"
     " FROM call;"
     "INSERT INTO call_range SELECT thread, id, id FROM call WHERE id % 3 = 0",
     NULL, 0},
    {FUZZ_TRACES "/graphs.sql", false, NULL, NULL, 0},
    {FUZZ_TRACES "/sampled.sql", false, NULL, NULL, 0},
    {FUZZ_TRACES "/lines.sql", false,
     "UPDATE meta SET value = 'recording' WHERE key = 'state';"
     "INSERT OR REPLACE INTO meta VALUES ('session', '4194999-1-12345678'),"
     " ('spool_directory', '" FUZZ_CANARY "')",
     NULL, 0},
};
#define FUZZ_BASES (sizeof(fuzz_bases) / sizeof(fuzz_bases[0]))
static char fuzz_tables[FUZZ_TABLES][FUZZ_NAME_BYTES];
static size_t fuzz_tables_count;
static FILE *fuzz_terminal; /* what a command writes */
static int fuzz_shown = -1; /* its number */
static bool fuzz_watches;   /* a command runs */
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

/* A file, or a folder of files. */
static void fuzz_remove(const char *path)
{
    DIR *stream = unlink(path) == 0 ? NULL : opendir(path);
    struct dirent *entry;
    char inner[PATH_MAX];

    while (stream && (entry = readdir(stream))) {
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        unlink(inner);
    }
    if (stream)
        closedir(stream);
    rmdir(path);
}

/* What a command, or one that was killed, left. */
static void fuzz_clear(void)
{
    static const char *const left[] = {
        FUZZ_TRACE, FUZZ_TRACE "-journal", FUZZ_TRACE "-wal", FUZZ_TRACE "-shm", FUZZ_OUTPUT,
    };

    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        fuzz_remove(left[i]);
}

static void fuzz_end(void)
{
    fuzz_clear();
    fuzz_remove(FUZZ_CANARY);
    rmdir(fuzz_directory);
}

static void fuzz_make(struct fuzz_base *base)
{
    struct gv_pass *pass = NULL;
    sqlite3 *database = NULL;
    size_t bytes;
    char *sql = fuzz_read(base->sql, &bytes);

    fuzz_clear();
    fuzz_must(sqlite3_open(FUZZ_TRACE, &database) == SQLITE_OK &&
              sqlite3_exec(database, gv_schema_sql, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK);
    free(sql);
    fuzz_must(!base->change || sqlite3_exec(database, base->change, NULL, NULL, NULL) == SQLITE_OK);
    fuzz_must(!base->totals ||
              (gv_pass_open(&pass, database, 0) == 0 && gv_totals_keep(database, pass) == 0));
    gv_pass_close(pass);
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
    setenv("TERM", "xterm", 1);
    setenv("GPUVERIFY_SPOOL_DIR", "/nonexistent", 1);
    fuzz_shown = memfd_create("terminal", MFD_CLOEXEC);
    fuzz_terminal = fuzz_shown < 0 ? NULL : fdopen(fuzz_shown, "a+");
    fuzz_must(fuzz_terminal && chdir(folder) == 0);
    fuzz_must(mkdir(FUZZ_CANARY, 0700) == 0 || errno == EEXIST);
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

/* Texts that a terminal, a format, a shell or a reader of paths might take for its own. */
static const char *const fuzz_texts[] = {
    "\033]0;x\a\033[2J\033[31m",
    "\xc2\x9b\x32J\xc2\x90q",
    "\xff\xfe\xc0\x80\xed\xa0\x80\xf5",
    "a\nb\r\tc\v\f\b",
    "\xe2\x80\xae\xe2\x80\x8b\xe2\x81\xa6",
    "</script><script>alert(1)</script><!-- ]]> &#0; \"'",
    "=cmd|' /C calc'!A0, \"\"\"\n;x",
    "%s%n%1000000d",
    FUZZ_CANARY,
    FUZZ_CANARY "/x.so",
    "./" FUZZ_CANARY,
    "../../" FUZZ_CANARY,
    "file:" FUZZ_CANARY "?mode=rwc",
    "-o",
    "recording",
    "complete",
    "4194999-1-12345678",
    "void f<g<h<i>>, (j)1>::operator()(int) const::{lambda(k)#1}::operator() [clone .isra.0]",
    "_ZN1aIN1bIN1cIdEEEEE1dEv",
    "((((((((((((((((((((((((<<<<<<<<<<<<<<<<<<<<<<",
    "{\"a\": [1e999, null], \"b\": \"\\ud800\"}",
    "train.py:12;f;g 3 4",
    "",
    "9223372036854775808",
};

/* What a stranger may do to the schema, beyond values. */
static const char *const fuzz_schemas[] = {
    "DROP VIEW \"%w\"",
    "CREATE TRIGGER \"%w\" AFTER INSERT ON call BEGIN DELETE FROM call; END",
    "CREATE INDEX \"i%w\" ON call (hex(randomblob(start_ns)))",
    "CREATE INDEX \"i%w\" ON call (printf('%%1000000s', id)) WHERE start_ns > 4",
    "CREATE VIEW \"v%w\" AS WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT *",
    "CREATE TABLE \"t%w\" (a AS (hex(zeroblob(100000000))), b)",
    "CREATE VIRTUAL TABLE \"f%w\" USING fts5(a)",
    "UPDATE sqlite_master SET rootpage = 2 WHERE name = '%q'",
    "UPDATE sqlite_master SET sql = sql || ' STRICT' WHERE name = '%q'",
    "UPDATE sqlite_master SET type = 'view' WHERE name = '%q'",
    "DELETE FROM sqlite_master WHERE name = '%q'",
    "PRAGMA user_version = 7 -- %w",
    "PRAGMA journal_mode = WAL -- %w",
    "INSERT OR REPLACE INTO sqlite_sequence VALUES ('%q', 9223372036854775807)",
    "ANALYZE \"%w\"",
    "UPDATE sqlite_stat1 SET stat = '1 1 1' WHERE tbl = '%q'",
};

#define FUZZ_COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Runs SQL that may fail, with a text, or a number in its place. */
static void fuzz_run(sqlite3 *database, char *sql, const char *text, size_t bytes, int64_t number)
{
    sqlite3_stmt *statement = NULL;

    fuzz_must(sql);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK) {
        if (text)
            sqlite3_bind_text(statement, 1, text, (int)bytes, SQLITE_STATIC);
        else
            sqlite3_bind_int64(statement, 1, number);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
}

/* Repeats a text up to a megabyte, in one row. */
static void fuzz_put_long(sqlite3 *database, const char *table, const char *column,
                          const uint8_t *more)
{
    const char *text = fuzz_texts[more[0] % FUZZ_COUNT(fuzz_texts)];
    size_t bytes = strlen(text), times = (size_t)1 << more[1] % 21;
    char *all = bytes ? malloc(bytes * times) : NULL;

    for (size_t i = 0; all && i < times; i++)
        memcpy(all + i * bytes, text, bytes);
    fuzz_run(database,
             sqlite3_mprintf("UPDATE OR IGNORE \"%w\" SET \"%w\" = ?1 WHERE rowid ="
                             " (SELECT min(rowid) + %d FROM \"%w\")",
                             table, column, more[2] % 8, table),
             all, bytes * times, 0);
    free(all);
}

/* Adds the table's rows once more, moved by a number in one column and to new ids. */
static void fuzz_add_rows(sqlite3 *database, const char *table, const char *column, int64_t moved)
{
    sqlite3_stmt *columns = NULL;
    sqlite3_str *list = sqlite3_str_new(database);

    sqlite3_prepare_v2(database, "SELECT name, pk FROM pragma_table_info(?1)", -1, &columns, NULL);
    sqlite3_bind_text(columns, 1, table, -1, SQLITE_STATIC);
    while (sqlite3_step(columns) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(columns, 0);
        const char *sep = sqlite3_str_length(list) ? ", " : "";
        if (strcmp(name, column) == 0)
            sqlite3_str_appendf(list, "%s\"%w\" + ?1", sep, name);
        else if (sqlite3_column_int(columns, 1) == 1 && strcmp(name, "id") == 0)
            sqlite3_str_appendf(list, "%sid + (SELECT max(id) FROM \"%w\")", sep, table);
        else
            sqlite3_str_appendf(list, "%s\"%w\"", sep, name);
    }
    sqlite3_finalize(columns);
    char *chosen = sqlite3_str_finish(list);
    if (chosen)
        fuzz_run(database,
                 sqlite3_mprintf("INSERT OR IGNORE INTO \"%w\" SELECT %s FROM \"%w\" LIMIT"
                                 " max(0, %d - (SELECT count(*) FROM \"%w\"))",
                                 table, chosen, table, FUZZ_ROWS, table),
                 NULL, 0, moved);
    sqlite3_free(chosen);
}

/* What a value alone does not do: `what` selects it, seven bytes say more. */
static void fuzz_edit(sqlite3 *database, const char *table, const char *column, unsigned int what,
                      const uint8_t *more)
{
    const char *text = fuzz_texts[more[0] % FUZZ_COUNT(fuzz_texts)];
    int64_t number = 0;

    memcpy(&number, more, 1 + more[6] % 6);
    if (more[6] & 8)
        number = -number;
    switch (what % 8) {
    case 0:
        fuzz_run(database,
                 sqlite3_mprintf("UPDATE OR IGNORE \"%w\" SET \"%w\" = ?1", table, column), text,
                 strlen(text), 0);
        break;
    case 1:
        fuzz_run(database,
                 sqlite3_mprintf("UPDATE meta SET value = ?1 WHERE key ="
                                 " (SELECT key FROM meta ORDER BY key LIMIT 1 OFFSET %d)",
                                 more[1] % 32),
                 text, strlen(text), 0);
        break;
    case 2:
        fuzz_put_long(database, table, column, more);
        break;
    case 3:
        fuzz_add_rows(database, table, column, number);
        break;
    case 4:
        fuzz_run(database,
                 sqlite3_mprintf("DELETE FROM \"%w\" WHERE \"%w\" %% %d = 0", table, column,
                                 1 + more[0] % 8),
                 NULL, 0, 0);
        break;
    case 5:
        fuzz_run(database,
                 sqlite3_mprintf("UPDATE OR IGNORE \"%w\" SET \"%w\" = \"%w\" %s ?1", table, column,
                                 column, more[6] & 16 ? "*" : "+"),
                 NULL, 0, number);
        break;
    case 6:
        sqlite3_db_config(database, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
        fuzz_run(database,
                 sqlite3_mprintf(fuzz_schemas[more[0] % FUZZ_COUNT(fuzz_schemas)],
                                 more[1] & 1 ? column : table),
                 NULL, 0, 0);
        break;
    default:
        fuzz_run(database,
                 sqlite3_mprintf("UPDATE OR IGNORE \"%w\" SET \"%w\" = ?1 + rowid * %d", table,
                                 column, more[5]),
                 NULL, 0, number);
        break;
    }
}

/* Puts values into columns of any table, in all rows or some; or edits (fuzz_edit). */
static void fuzz_change(const uint8_t *data, size_t size)
{
    sqlite3 *database = NULL;

    fuzz_must(sqlite3_open(FUZZ_TRACE, &database) == SQLITE_OK);
    sqlite3_exec(database, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN", NULL,
                 NULL, NULL);
    for (; size >= FUZZ_CHUNK; data += FUZZ_CHUNK, size -= FUZZ_CHUNK) {
        const char *table = fuzz_tables[data[0] % fuzz_tables_count];
        sqlite3_stmt *statement = NULL;
        char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
        fuzz_must(sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK);
        sqlite3_free(sql);
        const char *column =
            sqlite3_column_name(statement, data[1] % sqlite3_column_count(statement));
        if (data[2] & 128) {
            fuzz_edit(database, table, column, data[2], data + 3);
            sqlite3_finalize(statement);
            continue;
        }
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
    sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(database);
}

/* ---- what a command may do ---- */

static void fuzz_may_open(const char *path)
{
    fuzz_must(!fuzz_watches || !strstr(path, FUZZ_CANARY));
}

static int fuzz_open_real(int folder, const char *path, int flags, mode_t mode)
{
    fuzz_may_open(path);
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

/* Instead of libc's, also for SQLite and elfutils. */
#define FUZZ_OPEN(name, before, folder)                                                            \
    __attribute__((visibility("default"))) int fuzz_##name(before const char *path, int flags,     \
                                                           ...) __asm__(#name);                    \
    int fuzz_##name(before const char *path, int flags, ...)                                       \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        return fuzz_open_real(folder, path, flags, mode);                                          \
    }
#define FUZZ_NONE
FUZZ_OPEN(open, FUZZ_NONE, AT_FDCWD)
FUZZ_OPEN(open64, FUZZ_NONE, AT_FDCWD)
#define FUZZ_FOLDER_ARGUMENT int at,
FUZZ_OPEN(openat, FUZZ_FOLDER_ARGUMENT, at)
FUZZ_OPEN(openat64, FUZZ_FOLDER_ARGUMENT, at)

/* A command takes its output for a terminal. */
__attribute__((visibility("default"))) int isatty(int fd)
{
    return fd == fuzz_shown;
}

/* Colours are ours, and so is the line of progress. */
static size_t fuzz_skip_own(const char *text)
{
    static const char *const own[] = {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[33m"};

    for (size_t i = 0; i < FUZZ_COUNT(own); i++)
        if (strncmp(text, own[i], strlen(own[i])) == 0)
            return strlen(own[i]);
    return 0;
}

static void fuzz_check_shown(void)
{
    off_t bytes = lseek(fuzz_shown, 0, SEEK_END);
    char *text = bytes > 0 ? calloc(1, (size_t)bytes + 1) : NULL;

    fuzz_must(bytes == 0 || (text && pread(fuzz_shown, text, (size_t)bytes, 0) == bytes));
    for (size_t i = 0; i < (size_t)bytes;) {
        const unsigned char *at = (const unsigned char *)text + i;
        size_t own = fuzz_skip_own(text + i);
        bool fine = own || (*at >= ' ' && *at != 0x7f) || *at == '\n' || *at == '\t';
        if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)
            fine = false;
        if (!fine)
            fprintf(stderr, "byte %02x at %zu: %.*s\n", *at, i, 200,
                    text + (i > 100 ? i - 100 : 0));
        fuzz_must(fine);
        i += own ? own : 1;
    }
    free(text);
}

static int fuzz_call(fuzz_function *function, const struct gv_arguments *arguments)
{
    FILE *out = stdout, *err = stderr;

    fuzz_must(ftruncate(fuzz_shown, 0) == 0 && lseek(fuzz_shown, 0, SEEK_SET) == 0);
    stdout = stderr = fuzz_terminal;
    fuzz_watches = true;
    int code = function(arguments);
    fuzz_watches = false;
    fuzz_must(fflush(fuzz_terminal) == 0);
    clearerr(fuzz_terminal);
    stdout = out;
    stderr = err;
    fuzz_check_shown();
    return code;
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
    code = fuzz_call(fuzz_commands[chosen].function, &arguments);
    fuzz_must(code >= GV_EXIT_FINE && code <= GV_EXIT_FAILED);
    gv_arguments_free(&arguments);
    fuzz_clear();
    return 0;
}
