/*
 * Gives the stalls their advice, when all of them are known: what eager loading would cost, and
 * which kernels were loaded late, are sums over the whole trace.
 */
#include "report/analyse/stalls/advice.h"

#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/run.h"
#include "report/show/format.h"
#include "trace/call_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* Text that grows up to its room; what does not fit is left out. */
struct gv_advice_out {
    char *text;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct gv_advice_out *out, const char *format,
                                                      ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(out->text + out->used, GV_ADVICE_BYTES - out->used, format, arguments);
    va_end(arguments);
    if (length > 0)
        out->used += (size_t)length;
    if (out->used > GV_ADVICE_BYTES - 1)
        out->used = GV_ADVICE_BYTES - 1;
}

/* Cuts a name between its characters. */
static void cut_name(char out[GV_ADVICE_NAME_BYTES], const char *name)
{
    size_t length = strlen(name);

    if (length < GV_ADVICE_NAME_BYTES) {
        strcpy(out, name);
        return;
    }
    length = GV_ADVICE_NAME_BYTES - 4;
    while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
        length--;
    memcpy(out, name, length);
    strcpy(out + length, "...");
}

static void add_kernel_name(struct gv_advice_out *out, const char *name)
{
    char plain[GV_KERNEL_NAME_BYTES], cut[GV_ADVICE_NAME_BYTES];

    gv_kernel_name_short(name, plain, sizeof(plain));
    cut_name(cut, plain);
    add(out, "%s", cut);
}

static void add_name(struct gv_advice_out *out, const char *name, const char *otherwise)
{
    char cut[GV_ADVICE_NAME_BYTES];

    if (name)
        cut_name(cut, name);
    add(out, "%s", name ? cut : otherwise);
}

static void add_waited(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->waited_kernel) {
        add_kernel_name(out, facts->waited_kernel);
    } else if (facts->waited_kind) {
        add(out, "%s", facts->waited_kind);
    } else {
        add(out, "the work that was queued");
        if (facts->presumed) {
            add(out, ", presumably ");
            add_kernel_name(out, facts->presumed);
        }
        return;
    }
    if (facts->drained > 1)
        add(out, ", the last of %" PRId64 " operations", facts->drained);
}

static void add_eager(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char cost[GV_FORMAT_BYTES];

    add(out, " Or start with CUDA_MODULE_LOADING=EAGER");
    if (facts->eager_count == 1)
        add(out, " (about %s more at start, from the one lazy load seen)",
            gv_format_duration(cost, facts->eager_ns));
    else if (facts->eager_count > 0)
        add(out, " (about %s more at start, from the %" PRId64 " lazy loads seen)",
            gv_format_duration(cost, facts->eager_ns), facts->eager_count);
    add(out, ".");
}

/* Whether a name can stand in a program. */
static bool can_be_written(const char *name)
{
    return name[0] && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_:<>, *&")];
}

/* A late kernel as a call that loads it; false: there is none. */
static bool add_load(struct gv_advice_out *out, const char *kernel, bool runtime)
{
    char name[GV_KERNEL_NAME_BYTES];

    gv_kernel_name_qualified(kernel, name, sizeof(name));
    if (!can_be_written(runtime ? name : kernel))
        return false;
    if (runtime)
        add(out, " cudaFuncGetAttributes(&attributes, %s);", name);
    else
        add(out,
            " cuLibraryGetKernel(&kernel, library, \"%s\");"
            " cuKernelGetFunction(&function, kernel);",
            kernel);
    return true;
}

static void add_warmup(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    bool runtime = facts->call && gv_api_is_runtime(facts->call), more = false;
    bool python = facts->where && strstr(facts->where, ".py:");
    size_t before = out->used;
    bool any = false;

    if (python) {
        add(out, " The simplest is to do once, with little data, what is done at ");
        add_name(out, facts->where, "");
        add(out, ".");
        before = out->used;
    }
    add(out, " To paste:");
    for (int i = 0; i < facts->late_count && !python; i++)
        any |= add_load(out, facts->late[i], runtime);
    if (!any)
        out->used = before;
    for (int i = 0; i < facts->late_count && (any || facts->late_count > 1); i++) {
        char name[GV_KERNEL_NAME_BYTES];
        gv_kernel_name_qualified(facts->late[i], name, sizeof(name));
        if (can_be_written(runtime ? name : facts->late[i]))
            continue;
        add(out, more ? "; " : any ? " Also loaded late: " : " Loaded late: ");
        add_kernel_name(out, facts->late[i]);
        more = true;
    }
    if (facts->late_more > 0)
        add(out, "%s and %d more were loaded late", more ? ";" : "", facts->late_more);
    if (more || facts->late_more > 0)
        add(out, ".");
}

static void add_arch(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->arch > 0)
        add(out, "sm_%d", facts->arch);
    else
        add(out, "this GPU's architecture");
}

static void add_arch_flags(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->arch > 0)
        add(out, "nvcc -gencode arch=compute_%d,code=sm_%d", facts->arch, facts->arch);
    else
        add(out, "nvcc -arch=native");
}

static void add_sass(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->jit_ns < 1000000)
        return;
    add(out, " Ship code for ");
    add_arch(out, facts);
    add(out, " instead of PTX: compiling took %s of it.", gv_format_duration(time, facts->jit_ns));
}

static void add_again(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->again > 1)
        add(out,
            " The same code was loaded %" PRId64 " times, %s together: load it once, and "
            "keep it.",
            facts->again, gv_format_duration(time, facts->again_ns));
}

static void add_place(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->where) {
        add(out, " at ");
        add_name(out, facts->where, "");
    }
}

static void add_call(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    add_name(out, facts->call, "the call");
}

static void add_kernel(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->kernel)
        add_kernel_name(out, facts->kernel);
    else
        add(out, "its kernel");
}

static void add_module(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    add(out, "%s", facts->module[0] ? facts->module : "the code");
}

static void add_blocker(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    add_name(out, facts->blocker, "the other thread's call");
    add(out, " of another thread");
    if (facts->blocker_where) {
        add(out, " at ");
        add_name(out, facts->blocker_where, "");
    }
}

static void add_why(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    enum gv_cause cause =
        facts->blocker_cause ? gv_cause_find(facts->blocker_cause) : GV_CAUSE_COUNT;

    if (cause != GV_CAUSE_COUNT)
        add(out, "%s.", gv_cause_why(cause));
    if (facts->waited_kernel || facts->waited_kind) {
        add(out, " That was ");
        add_waited(out, facts);
        add(out, ".");
    }
}

/* What it waited for is known from the GPU's side, as is the memory. */
static void add_unseen_memory(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (!facts->waited_kernel && !facts->waited_kind)
        add(out, " Whether its memory is pinned already was not seen.");
}

static void add_free_async(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    bool runtime = facts->call && gv_api_is_runtime(facts->call);

    add(out, "%s in the stream that used the memory (with %s)",
        runtime ? "cudaFreeAsync" : "cuMemFreeAsync",
        runtime ? "cudaMallocAsync" : "cuMemAllocAsync");
}

/* Which of two it was decides what helps. */
static void add_loading(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    add(out, facts->unsure ? "That helps if it waited for " : "Here it waited for ");
    add_waited(out, facts);
    if (facts->unsure) {
        add(out, ". If it compiled, which is not known without the GPU's side, ship code"
                 " for ");
        add_arch(out, facts);
        add(out, " instead of PTX alone (");
        add_arch_flags(out, facts);
        add(out, ")");
    }
    add(out, ".");
}

static const struct {
    const char *name;
    void (*add)(struct gv_advice_out *out, const struct gv_advice_facts *facts);
} words[] = {
    {"{call}", add_call},       {"{kernel}", add_kernel},
    {"{module}", add_module},   {"{waited}", add_waited},
    {"{blocker}", add_blocker}, {"{where}", add_place},
    {"{arch}", add_arch},       {"{arch_flags}", add_arch_flags},
    {"{eager}", add_eager},     {"{warmup}", add_warmup},
    {"{sass}", add_sass},       {"{free_async}", add_free_async},
    {"{loading}", add_loading}, {"{again}", add_again},
    {"{why}", add_why},         {"{unseen_memory}", add_unseen_memory},
};

/* The length of the word that stands at `text`, after adding what it means; 0: there is none. */
static size_t add_word(struct gv_advice_out *out, const struct gv_advice_facts *facts,
                       const char *text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i].name);
        if (strncmp(text, words[i].name, length) == 0) {
            words[i].add(out, facts);
            return length;
        }
    }
    return 0;
}

void gv_advice_write(const struct gv_advice_facts *facts, enum gv_cause cause,
                     char text[GV_ADVICE_BYTES])
{
    struct gv_advice_out out = {.text = text};
    const char *from =
        facts->in_flight ? gv_cause_advice_in_flight(cause) : gv_cause_advice(cause, facts->call);

    text[0] = '\0';
    while (*from) {
        size_t length = *from == '{' ? add_word(&out, facts, from) : 0;
        if (!length) {
            length = 1 + strcspn(from + 1, "{");
            add(&out, "%.*s", (int)length, from);
        }
        from += length;
    }
    while (out.used > 0 && text[out.used - 1] == ' ')
        text[--out.used] = '\0';
}

static void describe_module(struct gv_advice_facts *facts, const char *kind, const char *name,
                            int64_t bytes)
{
    char cut[GV_ADVICE_NAME_BYTES];

    if (name) {
        cut_name(cut, name);
        snprintf(facts->module, sizeof(facts->module), "%s", cut);
    } else if (bytes > 0) {
        snprintf(facts->module, sizeof(facts->module), "the %.16s of %" PRId64 " bytes",
                 kind ? kind : "image", bytes);
    } else {
        snprintf(facts->module, sizeof(facts->module), "the %.16s", kind ? kind : "image");
    }
}

void gv_advice_remember(struct gv_advice_facts *facts, const char *kernel)
{
    if (facts->late_count == GV_ADVICE_LATE || strlen(kernel) >= sizeof(facts->late[0]))
        facts->late_more++;
    else
        strcpy(facts->late[facts->late_count++], kernel);
}

/* ---- lines ---- */

/*
 * Which line is to be moved when a load comes too late: not the one in a helper that makes all of
 * the program's loads, but its caller's. A frame is a helper's if the loads that came through it
 * were asked for from different lines.
 *
 * The frames are those from which the line of a stack is chosen (PLACE of statements.def),
 * innermost first; `path` is all of them up to this one. */
static const char callers_sql[] =
    "CREATE TEMP TABLE stall_path AS WITH"
    " framed AS (SELECT f.stack AS stack, f.depth AS depth, f.file AS file, f.line AS line,"
    "  f.function AS function,"
    "  CASE WHEN f.kind <> 'python' THEN 2"
    "   WHEN " GV_STACK_TEXT_PACKAGE_SQL(
        "f.file") " THEN 1 ELSE 0 END AS class"
                  "  FROM frame f WHERE f.line IS NOT NULL AND NOT " GV_STACK_TEXT_SYSTEM_SQL(
                      "f.kind",
                      "f.library") "  AND f.stack IN (SELECT s.stack FROM load l JOIN call_stack s "
                                   "ON s.call = l.call)),"
                                   " ranked AS (SELECT *, min(class) OVER (PARTITION BY stack) AS "
                                   "best FROM framed)"
                                   " SELECT stack, row_number() OVER inside AS level, function,"
                                   "  replace(file, rtrim(file, replace(file, '/', '')), '') || "
                                   "':' || line AS place,"
                                   "  group_concat(coalesce(file, '') || ':' || line, char(10)) "
                                   "OVER inside AS path"
                                   "  FROM ranked WHERE class = best WINDOW inside AS (PARTITION "
                                   "BY stack ORDER BY depth"
                                   "  ROWS UNBOUNDED PRECEDING);"
                                   "CREATE INDEX temp.stall_path_level ON stall_path (stack, "
                                   "level);"
                                   "CREATE TEMP TABLE stall_caller (stack INTEGER PRIMARY KEY, "
                                   "place TEXT);"
                                   "INSERT OR IGNORE INTO temp.stall_caller"
                                   " SELECT o.stack, o.place || coalesce(' (through ' || "
                                   "gv_short_function(i.function) || ')', '')"
                                   "  FROM temp.stall_path i JOIN temp.stall_path o ON o.stack = "
                                   "i.stack AND o.level = i.level + 1"
                                   "  WHERE o.place IS NOT NULL AND i.path IN (SELECT p.path FROM "
                                   "temp.stall_path p"
                                   "   JOIN temp.stall_path q ON q.stack = p.stack AND q.level = "
                                   "p.level + 1"
                                   "   GROUP BY p.path HAVING count(DISTINCT q.path) > 1)"
                                   "  ORDER BY o.stack, o.level;"
                                   "DELETE FROM temp.stall_path;";

static int find_callers(sqlite3 *trace)
{
    return gv_stall_execute(trace, callers_sql);
}

/* ---- facts ---- */

/* A file's name and a line, or a function. */
#define PLACE_BYTES 512

enum gv_advised_column {
    GV_ADVISED_ID,
    GV_ADVISED_CAUSE,
    GV_ADVISED_JIT,
    GV_ADVISED_CALL,
    GV_ADVISED_KERNEL,
    GV_ADVISED_PROCESS,
    GV_ADVISED_WAITED_KERNEL,
    GV_ADVISED_WAITED_KIND,
    GV_ADVISED_PRESUMED,
    GV_ADVISED_BLOCKER,
    GV_ADVISED_BLOCKER_CAUSE,
    GV_ADVISED_DRAINED,
    GV_ADVISED_CALL_ID,
    GV_ADVISED_BLOCKER_ID,
    GV_ADVISED_UNSURE,
};

/* The text given last, for each cause: most stalls of a program are alike. */
struct gv_advised {
    char last[GV_CAUSE_COUNT][GV_ADVICE_BYTES];
    int64_t last_id[GV_CAUSE_COUNT];
    char text[GV_ADVICE_BYTES];
    char places[2][PLACE_BYTES]; /* of the call, and of the one in its way */
    struct gv_advice_facts facts;
    int64_t facts_process; /* whose arch and warm-up list the facts hold */
    sqlite3_stmt *module, *add, *find, *set;
};

static const char *text_of(sqlite3_stmt *row, enum gv_advised_column column)
{
    return (const char *)sqlite3_column_text(row, (int)column);
}

static int prepare(sqlite3 *trace, const char *sql, sqlite3_stmt **statement)
{
    return gv_stall_error(trace, sqlite3_prepare_v2(trace, sql, -1, statement, NULL));
}

/* What eager loading would cost at the start: what the lazy loads took, less their waits. */
static int read_eager_cost(sqlite3 *trace, struct gv_advice_facts *facts)
{
    sqlite3_stmt *row = NULL;
    int result;
    int error = prepare(trace,
                        "SELECT count(*), sum(c.duration_ns - w.wait_ns) FROM load_wait w"
                        " JOIN gpu_module m ON m.id = -w.load JOIN call c ON c.id = m.call"
                        " WHERE w.load < 0 AND NOT EXISTS (SELECT 1 FROM temp.stall_load l"
                        " WHERE l.call = m.call AND l.load > 0)",
                        &row);

    if (error)
        return error;
    result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        facts->eager_count = sqlite3_column_int64(row, 0);
        facts->eager_ns = sqlite3_column_int64(row, 1);
    }
    sqlite3_finalize(row);
    return gv_stall_error(trace, result);
}

/* A process's architecture, and the kernels that it loaded late. */
static int read_process(sqlite3 *trace, struct gv_advised *advised, int64_t process)
{
    sqlite3_stmt *rows = NULL;
    int result, error;

    if (advised->facts_process == process)
        return 0;
    advised->facts_process = process;
    advised->facts.arch = advised->facts.late_count = advised->facts.late_more = 0;
    error =
        prepare(trace, "SELECT min(cc_major * 10 + cc_minor) FROM device WHERE process = ?", &rows);
    if (error)
        return error;
    sqlite3_bind_int64(rows, 1, process);
    result = sqlite3_step(rows);
    if (result == SQLITE_ROW)
        advised->facts.arch = sqlite3_column_int(rows, 0);
    sqlite3_finalize(rows);
    error = gv_stall_error(trace, result);
    if (!error)
        error = prepare(
            trace,
            "SELECT k.name, count(*) FROM stall s JOIN call c ON c.id = s.call JOIN kernel k ON"
            " k.id = c.kernel WHERE s.cause = 'lazy-load' AND k.process = ? AND k.name IS NOT NULL"
            " GROUP BY k.name ORDER BY min(s.id)",
            &rows);
    if (error)
        return error;
    sqlite3_bind_int64(rows, 1, process);
    while ((result = sqlite3_step(rows)) == SQLITE_ROW)
        gv_advice_remember(&advised->facts, (const char *)sqlite3_column_text(rows, 0));
    sqlite3_finalize(rows);
    return gv_stall_error(trace, result);
}

/* The text's row, added when it is new. */
static int store_text(sqlite3 *trace, struct gv_advised *advised, enum gv_cause cause, int64_t *id)
{
    int result;

    if (advised->last_id[cause] && strcmp(advised->last[cause], advised->text) == 0) {
        *id = advised->last_id[cause];
        return 0;
    }
    sqlite3_bind_text(advised->add, 1, advised->text, -1, SQLITE_STATIC);
    result = sqlite3_step(advised->add);
    sqlite3_reset(advised->add);
    if (result == SQLITE_DONE) {
        sqlite3_bind_text(advised->find, 1, advised->text, -1, SQLITE_STATIC);
        result = sqlite3_step(advised->find);
        *id = result == SQLITE_ROW ? sqlite3_column_int64(advised->find, 0) : 0;
        sqlite3_reset(advised->find);
    }
    strcpy(advised->last[cause], advised->text);
    advised->last_id[cause] = *id;
    return gv_stall_error(trace, result);
}

/* What the call loaded, in words. */
static int read_module(sqlite3 *trace, struct gv_advised *advised, int64_t call)
{
    int result;

    advised->facts.module[0] = '\0';
    advised->facts.again = advised->facts.again_ns = 0;
    sqlite3_reset(advised->module);
    sqlite3_bind_int64(advised->module, 1, call);
    result = sqlite3_step(advised->module);
    if (result == SQLITE_ROW) {
        describe_module(&advised->facts, (const char *)sqlite3_column_text(advised->module, 0),
                        (const char *)sqlite3_column_text(advised->module, 1),
                        sqlite3_column_int64(advised->module, 2));
        advised->facts.again = sqlite3_column_int64(advised->module, 3);
        advised->facts.again_ns = sqlite3_column_int64(advised->module, 4);
    }
    sqlite3_reset(advised->module);
    return gv_stall_error(trace, result);
}

/* Where in the program a call was made; *place stays as it was if that is not known. */
static int read_place(struct gv_stall_run *run, enum gv_stall_statement which, int64_t call,
                      char *room, const char **place)
{
    const char *text;
    int result, error;
    sqlite3_stmt *row = gv_stall_statement(run, which, &error);

    if (!row || call == 0)
        return error;
    sqlite3_bind_int64(row, 1, call);
    result = sqlite3_step(row);
    text = result == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
    if (text) {
        snprintf(room, PLACE_BYTES, "%s", text);
        *place = room;
    }
    sqlite3_reset(row);
    return gv_stall_error(run->trace, result);
}

static int read_places(struct gv_stall_run *run, struct gv_advised *advised, enum gv_cause cause,
                       sqlite3_stmt *row)
{
    int64_t call = sqlite3_column_int64(row, GV_ADVISED_CALL_ID);
    int64_t blocker = sqlite3_column_int64(row, GV_ADVISED_BLOCKER_ID);
    struct gv_advice_facts *facts = &advised->facts;
    int error;

    facts->where = facts->blocker_where = NULL;
    error = read_place(run, GV_STALL_PLACE, call, advised->places[0], &facts->where);
    if (!error && cause == GV_CAUSE_MODULE_LOAD)
        error = read_place(run, GV_STALL_CALLER, call, advised->places[0], &facts->where);
    if (!error)
        error = read_place(run, GV_STALL_PLACE, blocker, advised->places[1], &facts->blocker_where);
    return error;
}

static int advise_stall(struct gv_stall_run *run, struct gv_advised *advised, sqlite3_stmt *row)
{
    const char *cause_name = text_of(row, GV_ADVISED_CAUSE);
    enum gv_cause cause = gv_cause_find(cause_name ? cause_name : "");
    struct gv_advice_facts *facts = &advised->facts;
    int64_t id = 0;
    int result, error;

    if (cause == GV_CAUSE_COUNT)
        return 0;
    error = read_process(run->trace, advised, sqlite3_column_int64(row, GV_ADVISED_PROCESS));
    if (!error)
        error = read_module(run->trace, advised, sqlite3_column_int64(row, GV_ADVISED_CALL_ID));
    if (error)
        return error;
    facts->jit_ns = sqlite3_column_int64(row, GV_ADVISED_JIT);
    facts->call = text_of(row, GV_ADVISED_CALL);
    facts->kernel = text_of(row, GV_ADVISED_KERNEL);
    facts->waited_kernel = text_of(row, GV_ADVISED_WAITED_KERNEL);
    facts->waited_kind = text_of(row, GV_ADVISED_WAITED_KIND);
    facts->presumed = text_of(row, GV_ADVISED_PRESUMED);
    facts->blocker = text_of(row, GV_ADVISED_BLOCKER);
    facts->blocker_cause = text_of(row, GV_ADVISED_BLOCKER_CAUSE);
    facts->unsure = sqlite3_column_int(row, GV_ADVISED_UNSURE) != 0;
    facts->drained = sqlite3_column_int64(row, GV_ADVISED_DRAINED);
    error = read_places(run, advised, cause, row);
    if (error)
        return error;
    gv_advice_write(facts, cause, advised->text);
    error = store_text(run->trace, advised, cause, &id);
    if (error)
        return error;
    sqlite3_bind_int64(advised->set, 1, id);
    sqlite3_bind_int64(advised->set, 2, sqlite3_column_int64(row, GV_ADVISED_ID));
    result = sqlite3_step(advised->set);
    sqlite3_reset(advised->set);
    return gv_stall_error(run->trace, result);
}

static int open_advised(sqlite3 *trace, struct gv_advised *advised)
{
    int error = read_eager_cost(trace, &advised->facts);

    advised->facts_process = -1;
    if (!error)
        error = prepare(
            trace,
            "SELECT kind, name, bytes, again, again_ns FROM (SELECT l.kind, l.name, l.bytes,"
            "  g.count AS again, g.total_ns AS again_ns FROM temp.stall_load s"
            "  JOIN load l ON l.id = s.load LEFT JOIN temp.stall_again g ON g.load = l.id"
            "  WHERE s.call = ?1 AND s.load > 0 ORDER BY s.duration_ns DESC LIMIT 1)"
            " UNION ALL SELECT l.kind, l.name, l.bytes, 0, 0 FROM call_module m"
            " JOIN load l ON l.module = m.module WHERE m.call = ?1 LIMIT 1",
            &advised->module);
    if (!error)
        error =
            prepare(trace, "INSERT OR IGNORE INTO stall_advice (text) VALUES (?)", &advised->add);
    if (!error)
        error = prepare(trace, "SELECT id FROM stall_advice WHERE text = ?", &advised->find);
    if (!error)
        error = prepare(trace, "UPDATE stall SET advice = ? WHERE id = ?", &advised->set);
    return error;
}

/* There is one thing to be said of what is not known, however often it is. */
static int advise_unknown(struct gv_stall_run *run, struct gv_advised *advised)
{
    sqlite3_stmt *set = NULL;
    int64_t id = 0;
    int result, error;

    gv_advice_write(&advised->facts, GV_CAUSE_UNKNOWN, advised->text);
    error = store_text(run->trace, advised, GV_CAUSE_UNKNOWN, &id);
    if (!error)
        error = prepare(run->trace, "UPDATE stall SET advice = ? WHERE cause = 'unknown'", &set);
    if (error)
        return error;
    sqlite3_bind_int64(set, 1, id);
    result = sqlite3_step(set);
    sqlite3_finalize(set);
    return gv_stall_error(run->trace, result);
}

int gv_stall_advise(struct gv_stall_run *run)
{
    struct gv_advised *advised = calloc(1, sizeof(*advised));
    sqlite3_stmt *rows = NULL;
    int result = SQLITE_DONE, error = advised ? open_advised(run->trace, advised) : -ENOMEM;

    if (!error)
        error = advise_unknown(run, advised);
    if (!error)
        error = find_callers(run->trace);
    if (!error)
        rows = gv_stall_statement(run, GV_STALL_ADVISED, &error);
    while (!error && (result = sqlite3_step(rows)) == SQLITE_ROW)
        error = advise_stall(run, advised, rows);
    if (!error)
        error = gv_stall_error(run->trace, result);
    if (rows)
        sqlite3_reset(rows);
    if (advised) {
        sqlite3_finalize(advised->module);
        sqlite3_finalize(advised->add);
        sqlite3_finalize(advised->find);
        sqlite3_finalize(advised->set);
    }
    free(advised);
    return error;
}
