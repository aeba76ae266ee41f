/*
 * A copy of a trace for strangers: with its times, sizes, causes and CUDA's names, and without the
 * names of the program, of its files and of the machine. Each name has the same replacement
 * everywhere. docs/privacy.md says what stays.
 *
 * The copy is a new database into which rows are inserted, so that none of the trace's other bytes,
 * such as those of deleted rows, can be in it.
 */
#include "report/commands/export/export.h"

#include "report/analyse/names/demangle.h"
#include "report/analyse/stalls/analysis.h"
#include "report/analyse/stalls/causes.h"
#include "report/analyse/stalls/in_flight.h"
#include "report/analyse/totals/totals.h"
#include "report/commands/account_words.h"
#include "report/commands_export_anonymise.inc"
#include "report/store/schema.h"
#include "trace/call_table.h"
#include "trace/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANONYMISE_COLUMNS    40
#define ANONYMISE_NAME_BYTES 512
/* Of a demangled name; the rest does not tell kernels apart. */
#define ANONYMISE_KERNEL_BYTES 8192
/* Longer ones are not ours. */
#define ANONYMISE_WORDS_BYTES 80

/* ---- the table ---- */

enum anonymise_rule {
    RULE_COPIED,   /* numbers stay; anything else becomes 0 */
    RULE_LEFT_OUT, /* NULL */
    RULE_OURS,     /* our own words, which are the same in all traces */
    RULE_META,
    RULE_CALL,
    RULE_PROGRAM,
    RULE_LIBRARY,
    RULE_FILE,
    RULE_FUNCTION,
    RULE_KERNEL,
    RULE_MODULE,
    RULE_THREAD,
    RULE_TEXT, /* of ranges: texts that differ only in numbers still do */
    RULE_DEVICE,
    RULE_HOST,
    RULE_VALUE,
    RULE_DETAIL,
    RULE_OLDER,
    /* numbers that identify something get others */
    RULE_PID,
    RULE_HASH,
    RULE_ADDRESS,
    RULE_NUMBER,
    RULE_RANGE, /* of no column: what texts of RULE_TEXT have in common */
    RULES
};

static const struct {
    const char *table, *column;
    enum anonymise_rule rule;
} anonymise_rules[] = {
#define GV_SCHEMA_COLUMN(table, column, of, below, how, rule) {#table, #column, RULE_##rule},
#include "report/store_schema_columns.inc"
};

/* Written anew, with the other names. */
static const char *const anonymise_anew[] = {
#define GV_SCHEMA_ANONYMISED_ANEW(table) #table,
#include "report/store_schema_columns.inc"
};

/* Rows of meta that are copied; all others are left out. */
static const char *const anonymise_meta[] = {
    "schema_version", "gpuverify_version",
    "state",          "snapshot_ns",
    "program", /* renamed */
    "machine",        "driver_version",
    "clock",          "graphs",
    "full_from_ns",   "full_from_call",
    "watchdog_ns",    "stall_threshold_ns",
    "stalls",         "totals",
    "idle",           "collectives",
    "merged",
};

/* Other texts of ours that a column may hold beside the program's. */
static const char *const anonymise_own[] = {
    "",
    "?",
    "others",
    /* Python's, of code without a file: its functions are the program's */
    "<string>",
    "<stdin>",
    /* details of idle time */
    "CPU quota",
    "pinned to some of the CPUs",
    "the GPU had queued work",
#define GV_IDLE_COMMAND(name) name,
#include "report/analyse/idle/commands.def"
    /* profilers */
    "torch.profiler",
    "JAX's profiler",
    /* names of sums by minute */
    "calls",
    "gpu",
    "graph",
    "memset",
    "copy",
    "host to device",
    "device to host",
    "host to array",
    "array to host",
    "array to array",
    "array to device",
    "device to array",
    "device to device",
    "host to host",
    "peer to peer",
    "cubin",
    "ptx",
    "fatbin",
    "file",
    "library",
    "link",
    "lazy",
    /* words in the values of environment variables */
    "LAZY",
    "EAGER",
    "DEFAULT",
    "True",
    "False",
    "expandable_segments",
    "max_split_size_mb",
    "garbage_collection_threshold",
    "roundup_power2_divisions",
    "backend",
    "native",
};

/* What a replacement is called. */
static const char *const anonymise_words[RULES] = {
    [RULE_CALL] = "call",     [RULE_PROGRAM] = "program",   [RULE_LIBRARY] = "library",
    [RULE_FILE] = "file",     [RULE_FUNCTION] = "function", [RULE_KERNEL] = "kernel",
    [RULE_MODULE] = "module", [RULE_THREAD] = "thread",     [RULE_TEXT] = "text",
    [RULE_DEVICE] = "GPU",    [RULE_HOST] = "host",         [RULE_DETAIL] = "detail",
    [RULE_OLDER] = "name",    [RULE_RANGE] = "range",
};

struct anonymise_table {
    const char *name;
    enum anonymise_rule rules[ANONYMISE_COLUMNS];
    int count;
    sqlite3_stmt *add;
};

struct anonymise {
    sqlite3 *trace;
    struct gv_database *copy;
    sqlite3 *names; /* those that were given, in a temporary file if they are many */
    sqlite3_stmt *find, *give;
    int64_t given[RULES];
    struct anonymise_table table;
    char name[ANONYMISE_NAME_BYTES];
};

/* ---- names ---- */

/* 1: it has a replacement, in run->name; 0; or -errno. */
static int name_find(struct anonymise *run, enum anonymise_rule kind, const char *original)
{
    sqlite3_bind_int(run->find, 1, (int)kind);
    sqlite3_bind_text(run->find, 2, original, -1, SQLITE_STATIC);
    int result = sqlite3_step(run->find);
    if (result == SQLITE_ROW)
        snprintf(run->name, sizeof(run->name), "%s",
                 (const char *)sqlite3_column_text(run->find, 0));
    sqlite3_reset(run->find);
    return result == SQLITE_ROW ? 1 : gv_database_error(run->names, result);
}

/* Gives it run->name. 1; 0: another one has that; or -errno. */
static int name_give(struct anonymise *run, enum anonymise_rule kind, const char *original)
{
    sqlite3_bind_int(run->give, 1, (int)kind);
    sqlite3_bind_text(run->give, 2, original, -1, SQLITE_STATIC);
    sqlite3_bind_text(run->give, 3, run->name, -1, SQLITE_STATIC);
    int error = gv_database_step(run->give);
    return error ? error : sqlite3_changes(run->names) > 0;
}

/* The replacement of a name, in run->name: a number between two texts, or `wanted` unless that is
 * NULL or given. 0 or -errno. */
static int name_replace(struct anonymise *run, enum anonymise_rule kind, const char *original,
                        const char *wanted, const char *before, const char *after)
{
    int found = name_find(run, kind, original);

    if (!found && wanted) {
        snprintf(run->name, sizeof(run->name), "%s", wanted);
        found = name_give(run, kind, original);
    }
    while (!found) {
        snprintf(run->name, sizeof(run->name), "%s%s_%" PRId64 "%s", before, anonymise_words[kind],
                 ++run->given[kind], after);
        found = name_give(run, kind, original);
    }
    return found < 0 ? found : 0;
}

static int replace_ours(struct anonymise *run, const char *text)
{
    snprintf(run->name, sizeof(run->name), "%.*s", ANONYMISE_WORDS_BYTES, text);
    return 0;
}

static int replace_library(struct anonymise *run, const char *path)
{
    const char *base = gv_text_base(path), *known = gv_public_library(path);

    /* libc is often in a trace by two paths, below /lib and /usr/lib: the second one becomes
     * "/library_1/libc.so.6", so that readers of stacks still know it. */
    if (known)
        return name_replace(run, RULE_LIBRARY, path, known, "/", known);
    if (strstr(base, ".so"))
        return name_replace(run, RULE_LIBRARY, path, NULL,
                            strcmp(gv_public_folder(path), "") ? "/site-packages/" : "/", ".so");
    /* The same program has one name, whether its path is known or not. */
    int error = name_replace(run, RULE_PROGRAM, base, NULL, "", "");
    if (!error && base > path) {
        memmove(run->name + 1, run->name, strlen(run->name) + 1);
        run->name[0] = '/';
    }
    return error;
}

static int replace_program(struct anonymise *run, const char *name)
{
    const char *known = gv_public_library(name);

    if (!known)
        return name_replace(run, RULE_PROGRAM, name, NULL, "", "");
    snprintf(run->name, sizeof(run->name), "%s", known);
    return 0;
}

static int replace_file(struct anonymise *run, const char *path)
{
    static const char *const endings[] = {".py", ".pyx", ".c",   ".cc",  ".cpp", ".cxx", ".cu",
                                          ".h",  ".hh",  ".hpp", ".cuh", ".rs",  ".f90"};
    const char *folder = gv_public_folder(path), *ending = strrchr(gv_text_base(path), '.');

    if (GV_TEXT_IS_ONE_OF(path, anonymise_own))
        return replace_ours(run, path);
    if (!ending || !GV_TEXT_IS_ONE_OF(ending, endings))
        ending = folder[0] == '<' ? ">" : "";
    return name_replace(run, RULE_FILE, path, gv_public_file(path), folder, ending);
}

/* Mangled or not, a kernel is the same one. */
static int replace_kernel(struct anonymise *run, const char *name)
{
    static char room[ANONYMISE_KERNEL_BYTES];

    return name_replace(run, RULE_KERNEL, gv_demangle(name, room, sizeof(room)), NULL, "", "");
}

/* "epoch 7" and "epoch 8" become "range_1 x" and "range_1 y", of which one sum is made as before:
 * with their own numbers, which are given in turn. */
static int replace_text(struct anonymise *run, const char *text)
{
    char *pattern = strdup(text), number[32] = "";
    size_t used = 0;
    bool has_numbers = false;

    if (!pattern)
        return -ENOMEM;
    for (const char *at = text; *at; at++) {
        bool digit = isdigit((unsigned char)*at) != 0;
        if (!digit || at == text || !isdigit((unsigned char)at[-1]))
            pattern[used++] = digit ? '#' : *at;
        has_numbers = has_numbers || digit;
    }
    pattern[used] = '\0';
    int error = has_numbers ? name_replace(run, RULE_TEXT, text, NULL, "", "") : 0;
    if (!error && has_numbers)
        snprintf(number, sizeof(number), " %.20s", strrchr(run->name, '_') + 1);
    else if (strchr(text, '#'))
        strcpy(number, " #");
    if (!error)
        error = name_replace(run, RULE_RANGE, pattern, NULL, "", "");
    free(pattern);
    if (error)
        return error;
    /* Digits would be part of the pattern: range_27 is called range_ab. */
    int64_t left = strtoll(strrchr(run->name, '_') + 1, NULL, 10);
    char letters[16], *start = letters + sizeof(letters) - 1;
    for (*start = '\0'; left > 0 && start > letters; left = (left - 1) / 26)
        *--start = (char)('a' + (left - 1) % 26);
    snprintf(run->name, sizeof(run->name), "range_%s%s", start, number);
    return 0;
}

/* A value of words that are known, and short numbers; or else only that it was set. */
static int replace_value(struct anonymise *run, const char *value)
{
    static const char between[] = ":,;[]. ";
    bool known = strlen(value) < sizeof(run->name);

    snprintf(run->name, sizeof(run->name), "%s", known ? value : "");
    for (char *word = strtok(run->name, between); word && known; word = strtok(NULL, between))
        known = GV_TEXT_IS_ONE_OF(word, anonymise_own) || gv_api_find(word) >= 0 ||
                (strlen(word) <= 6 && !word[strspn(word, "-0123456789")]);
    snprintf(run->name, sizeof(run->name), "%s", known ? value : "left out");
    return 0;
}

/* "pinned to 2 of 16 CPUs", and what a look has of it; how many threads wait for a lock. */
static bool is_count(const char *text)
{
    static const char pinned[] = "pinned to ";
    const char *at = strncmp(text, pinned, strlen(pinned)) == 0 ? text + strlen(pinned) : text;
    unsigned allowed, all;
    int end = 0;

    if (sscanf(text, "%u threads%n", &all, &end) == 1 && end > 0 && !text[end])
        return true;
    return sscanf(at, "%u of %u CPUs%n", &allowed, &all, &end) == 2 && end > 0 && !at[end];
}

static int replace_other(struct anonymise *run, enum anonymise_rule kind, const char *text)
{
    return GV_TEXT_IS_ONE_OF(text, anonymise_own) ||
                   (kind == RULE_DETAIL && (gv_api_find(text) >= 0 || is_count(text)))
               ? replace_ours(run, text)
               : name_replace(run, kind, text, NULL, "", "");
}

/* Names of all sorts: of calls, causes, reasons, devices, kernels, lines. */
static int replace_older(struct anonymise *run, const char *text)
{
    static char room[ANONYMISE_KERNEL_BYTES];
    const char *colon = strrchr(text, ':');
    int found = name_find(run, RULE_DEVICE, text);

    if (gv_api_find(text) >= 0 || gv_cause_find(text) != GV_CAUSE_COUNT ||
        gv_account_is_word(text)) {
        snprintf(run->name, sizeof(run->name), "%s", text);
        return 0;
    }
    if (!found)
        found = name_find(run, RULE_KERNEL, gv_demangle(text, room, sizeof(room)));
    if (!found && colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")]) {
        char *file = strndup(text, (size_t)(colon - text));
        found = file ? replace_file(run, file) : -ENOMEM;
        free(file);
        if (!found && strlen(run->name) + strlen(colon) < sizeof(run->name)) {
            strcat(run->name, colon);
            found = 1;
        }
    }
    if (found < 0)
        return found;
    /* The table has each text once, and a kernel may be there mangled and not. */
    if (found) {
        char wanted[ANONYMISE_NAME_BYTES];
        strcpy(wanted, run->name);
        return name_replace(run, RULE_OLDER, text, wanted, "", "");
    }
    return replace_other(run, RULE_OLDER, text);
}

/* Numbers of no meaning, in the order in which they come. 0 stays: it is nothing. */
static int replace_number(struct anonymise *run, enum anonymise_rule kind, int64_t *number)
{
    char original[32];

    if (*number == 0)
        return 0;
    snprintf(original, sizeof(original), "%" PRId64, *number);
    int found = name_find(run, kind, original);
    if (!found) {
        snprintf(run->name, sizeof(run->name), "%" PRId64, ++run->given[kind]);
        found = name_give(run, kind, original);
    }
    *number = strtoll(run->name, NULL, 10);
    return found < 0 ? found : 0;
}

/* ---- rows ---- */

static const char *text_of(sqlite3_stmt *row, const char *column)
{
    for (int i = 0; i < sqlite3_column_count(row); i++)
        if (strcmp(sqlite3_column_name(row, i), column) == 0)
            return (const char *)sqlite3_column_text(row, i);
    return NULL;
}

static int replace_function(struct anonymise *run, sqlite3_stmt *row, const char *name)
{
    const char *library = text_of(row, "library"), *file = text_of(row, "file");

    if (!gv_public_function(name) && !gv_public_library(library) &&
        (library || !gv_public_file(file)))
        return name_replace(run, RULE_FUNCTION, name, NULL, "", "");
    snprintf(run->name, sizeof(run->name), "%s", name);
    return 0;
}

/* The replacement of a text, in run->name. 0 or -errno. */
static int replace(struct anonymise *run, sqlite3_stmt *row, enum anonymise_rule rule,
                   const char *text)
{
    switch (rule) {
    case RULE_OURS:
        return replace_ours(run, text);
    case RULE_META: {
        const char *key = text_of(row, "key");
        return key && strcmp(key, "program") == 0 ? replace_program(run, text)
                                                  : replace_ours(run, text);
    }
    case RULE_CALL:
        return gv_api_find(text) >= 0 ? replace_ours(run, text)
                                      : name_replace(run, RULE_CALL, text, NULL, "", "");
    case RULE_PROGRAM:
        return replace_program(run, text);
    case RULE_LIBRARY:
        return GV_TEXT_IS_ONE_OF(text, anonymise_own) ? replace_ours(run, text)
                                                      : replace_library(run, text);
    case RULE_FILE:
        return replace_file(run, text);
    case RULE_FUNCTION:
        return replace_function(run, row, text);
    case RULE_KERNEL:
        return replace_kernel(run, text);
    case RULE_TEXT:
        return replace_text(run, text);
    case RULE_VALUE:
        return replace_value(run, text);
    case RULE_OLDER:
        return replace_older(run, text);
    default:
        return replace_other(run, rule, text);
    }
}

static int bind_number(struct anonymise *run, enum anonymise_rule rule, int64_t number, int at)
{
    int error = rule >= RULE_PID ? replace_number(run, rule, &number) : 0;

    return error ? error
                 : gv_database_error(run->copy->handle,
                                     sqlite3_bind_int64(run->table.add, at, number));
}

static int bind_column(struct anonymise *run, sqlite3_stmt *row, int i)
{
    enum anonymise_rule rule = run->table.rules[i];
    int type = sqlite3_column_type(row, i), result = SQLITE_OK, error = 0;
    bool is_text = rule > RULE_LEFT_OUT && rule < RULE_PID;

    if (rule == RULE_LEFT_OUT || type == SQLITE_NULL)
        result = sqlite3_bind_null(run->table.add, i + 1);
    else if (type == SQLITE_INTEGER && (!is_text || rule == RULE_META))
        error = bind_number(run, rule, sqlite3_column_int64(row, i), i + 1);
    else if (is_text) {
        const char *text = (const char *)sqlite3_column_text(row, i);
        error = text ? replace(run, row, rule, text) : -ENOMEM;
        if (!error)
            result = sqlite3_bind_text(run->table.add, i + 1, run->name, -1, SQLITE_TRANSIENT);
    } else /* no number: gpuverify wrote no such thing */
        result = sqlite3_bind_int64(run->table.add, i + 1, 0);
    return error ? error : gv_database_error(run->copy->handle, result);
}

static int copy_row(void *context, sqlite3_stmt *row)
{
    struct anonymise *run = context;
    const char *key =
        strcmp(run->table.name, "meta") == 0 ? text_of(row, "key") : anonymise_meta[0];
    int error = 0;

    if (!key || !GV_TEXT_IS_ONE_OF(key, anonymise_meta))
        return 0;
    for (int i = 0; i < run->table.count && !error; i++)
        error = bind_column(run, row, i);
    return error ? error : gv_database_step(run->table.add);
}

/* ---- tables ---- */

static enum anonymise_rule rule_of(const char *table, const char *column)
{
    for (size_t i = 0; i < sizeof(anonymise_rules) / sizeof(anonymise_rules[0]); i++)
        if (strcmp(anonymise_rules[i].table, table) == 0 &&
            strcmp(anonymise_rules[i].column, column) == 0)
            return anonymise_rules[i].rule;
    return RULE_COPIED;
}

/* From the trace, where a temporary table may hide the file's own. */
static int table_copy(struct anonymise *run, const char *name)
{
    sqlite3_str *from = sqlite3_str_new(run->trace), *to = sqlite3_str_new(run->copy->handle);
    struct anonymise_table *table = &run->table;
    sqlite3_stmt *columns = NULL;
    char own[96], *select, *insert;

    *table = (struct anonymise_table){.name = name};
    sqlite3_snprintf(sizeof(own), own, "SELECT * FROM main.\"%w\"", name);
    int error = gv_database_compile(run->copy->handle, own, &columns);
    sqlite3_str_appendf(to, "INSERT INTO main.\"%w\" VALUES (", name);
    for (; !error && table->count < sqlite3_column_count(columns); table->count++) {
        const char *column = sqlite3_column_name(columns, table->count);
        if (table->count == ANONYMISE_COLUMNS)
            error = -E2BIG;
        else
            table->rules[table->count] = rule_of(name, column);
        sqlite3_str_appendf(from, "%s\"%w\" AS \"%w\"", table->count ? ", " : "SELECT ", column,
                            column);
        sqlite3_str_appendall(to, table->count ? ", ?" : "?");
    }
    sqlite3_str_appendf(from, " FROM \"%w\"", name);
    sqlite3_str_appendall(to, ")");
    select = sqlite3_str_finish(from);
    insert = sqlite3_str_finish(to);
    sqlite3_finalize(columns);
    if (!error)
        error = select && insert ? gv_database_compile(run->copy->handle, insert, &table->add)
                                 : -ENOMEM;
    if (!error)
        error = gv_database_each(run->trace, select, NULL, 0, copy_row, run);
    sqlite3_finalize(table->add);
    sqlite3_free(insert);
    sqlite3_free(select);
    return error;
}

static int table_take(void *context, sqlite3_stmt *row)
{
    struct anonymise *run = context;
    char name[64], sql[96];
    int64_t rows = 0;

    snprintf(name, sizeof(name), "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_snprintf(sizeof(sql), sql, "SELECT count(*) FROM main.\"%w\"", name);
    int error = gv_database_number(run->copy->handle, sql, NULL, 0, &rows);
    if (error || rows > 0 || GV_TEXT_IS_ONE_OF(name, anonymise_anew))
        return error;
    return table_copy(run, name);
}

/* ---- what the analysis finds in the copy ---- */

static int fly(void *context, sqlite3_stmt *row)
{
    return gv_flight_causes(context, sqlite3_column_int64(row, 0));
}

/* Stalls and calls in flight have sentences with names. */
static int analyse(struct anonymise *run)
{
    int error = gv_stalls_advise(run->copy->handle);

    if (!error)
        error = gv_database_begin(run->copy);
    if (!error)
        error = gv_database_each(run->copy->handle, sql_flying, NULL, 0, fly, run->copy);
    return error ? error : gv_database_commit(run->copy);
}

static int copy_all(struct anonymise *run)
{
    const int64_t finished[] = {GV_SCHEMA_VERSION, GV_STALLS_VERSION, GV_TOTALS_VERSION};
    int error = gv_database_begin(run->copy);

    if (!error)
        error = gv_database_each(run->copy->handle, sql_tables, NULL, 0, table_take, run);
    if (!error)
        error = gv_database_script(run->copy->handle, sql_finish, finished, 3);
    if (!error)
        error = gv_database_commit(run->copy);
    return error ? error : analyse(run);
}

static int open_names(struct anonymise *run)
{
    int result = sqlite3_open("", &run->names);
    int error = gv_database_error(run->names, result);

    if (!error)
        error = gv_database_script(run->names, sql_new_names, NULL, 0);
    if (!error) /* one transaction: it is given up at the end */
        error = gv_database_script(run->names, "PRAGMA journal_mode = OFF; BEGIN", NULL, 0);
    if (!error)
        error = gv_database_compile(run->names, sql_find_name, &run->find);
    if (!error)
        error = gv_database_compile(run->names, sql_add_name, &run->give);
    return error;
}

int gv_anonymise(sqlite3 *trace, const char *path, struct gv_database *copy)
{
    struct anonymise run = {.trace = trace, .copy = copy};
    int64_t complete = 0;
    int error = gv_database_number(trace, sql_complete, NULL, 0, &complete);

    if (error || !complete)
        return error ? error : -EINPROGRESS;
    error = gv_database_open_output(copy, path);
    if (error)
        return error;
    error = open_names(&run);
    if (!error)
        error = copy_all(&run);
    sqlite3_finalize(run.find);
    sqlite3_finalize(run.give);
    sqlite3_close(run.names);
    if (error)
        gv_database_close(copy);
    return error;
}
