#include "report/commands/check/check.h"

#include "report/analyse/stalls/causes.h"
#include "report/commands/account_words.h"
#include "report/commands/exit.h"
#include "report/commands_check_accept.inc"
#include "report/show/format.h"
#include "report/show/message.h"
#include "report/show/output_file.h"
#include "report/show/shown_path.h"
#include "report/show/value_text.h"
#include "report/store/array.h"
#include "report/store/database.h"
#include "trace/word_distance.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A line of the file. */
struct gv_check_known {
    char *text;
    char *cause; /* NULL: a comment, or a finding */
    char *location;
    const char *key; /* of a finding, in `text`; NULL: none */
    int64_t most_ns;
    bool gone;
};

/* A key begins with an account, which may be a cause too, but does not end in a time. */
static bool is_key(const char *word, size_t length)
{
    const char *equals = strrchr(word, '=');
    char name[GV_WORD_BYTES];

    snprintf(name, sizeof(name), "%.*s", (int)length, word);
    return gv_account_is_word(name) &&
           (gv_cause_find(name) == GV_CAUSE_COUNT || !equals || !isdigit((unsigned char)equals[1]));
}

static int accept_read(struct gv_check_known *known, char why[GV_CHECK_WHY_BYTES])
{
    const char *word = known->text + strspn(known->text, " \t");
    size_t length = strcspn(word, " \t\r");
    const char *location = word + length + strspn(word + length, " \t\r");
    const char *equals = strrchr(location, '=');

    if (*word == '\0' || *word == '#')
        return 0;
    if (is_key(word, length)) {
        known->key = word;
        return 0;
    }
    known->cause = strndup(word, length);
    known->location = strndup(location, equals ? (size_t)(equals - location) : 0);
    if (!known->cause || !known->location)
        return -ENOMEM;
    if (gv_cause_find(known->cause) == GV_CAUSE_COUNT)
        return gv_check_refuse(why, "unknown cause '%.64s'", known->cause);
    if (!known->location[0] || gv_value_duration(equals + 1, &known->most_ns) < 0)
        return gv_check_refuse(
            why, "'%.64s' is not a line of the program and a time, such as 'train.py load=120ms'",
            location);
    return 0;
}

int gv_check_accept_line(void *into, char *line, char why[GV_CHECK_WHY_BYTES])
{
    struct gv_check_accept *accept = into;

    for (size_t length = strlen(line); length > 0 && strchr(" \t\r", line[length - 1]);)
        line[--length] = '\0';
    if (gv_array_room(&accept->lines, accept->count, &accept->room, sizeof(*accept->lines)))
        return -ENOMEM;
    struct gv_check_known *known = &accept->lines[accept->count++];
    *known = (struct gv_check_known){.text = strdup(line)};
    return known->text ? accept_read(known, why) : -ENOMEM;
}

static int accept_add(sqlite3 *trace, const struct gv_check_accept *accept)
{
    sqlite3_stmt *insert = NULL;
    int error =
        gv_database_compile(trace, "INSERT INTO temp.known VALUES (?, ?, ?, ?, ?)", &insert);

    for (size_t i = 0; i < accept->count && !error; i++) {
        const struct gv_check_known *known = &accept->lines[i];
        const int64_t numbers[] = {(int64_t)i, known->most_ns};
        int result = sqlite3_bind_text(insert, 3, known->cause, -1, SQLITE_STATIC);
        if (result == SQLITE_OK)
            result = sqlite3_bind_text(insert, 4, known->location, -1, SQLITE_STATIC);
        if (result == SQLITE_OK)
            result = sqlite3_bind_text(insert, 5, known->key, -1, SQLITE_STATIC);
        error = result == SQLITE_OK ? gv_database_add(insert, numbers, 2)
                                    : gv_database_error(trace, result);
    }
    sqlite3_finalize(insert);
    return error;
}

static int accept_is_missing(void *context, sqlite3_stmt *row)
{
    struct gv_check_accept *accept = context;

    if (sqlite3_column_int(row, 1))
        accept->lines[sqlite3_column_int64(row, 0)].gone = true;
    else
        accept->below++;
    accept->threshold_ns = sqlite3_column_int64(row, 2);
    return 0;
}

/* What the lines of a new file are read into. */
struct accept_new {
    struct gv_check_accept *accept;
    char why[GV_CHECK_WHY_BYTES]; /* "": no line is wrong */
};

static int accept_take(void *context, sqlite3_stmt *row)
{
    struct accept_new *new = context;
    char *line = strdup((const char *)sqlite3_column_text(row, 0));
    int error = line ? gv_check_accept_line(new->accept, line, new->why) : -ENOMEM;

    free(line);
    return error;
}

static int accept_list(sqlite3 *trace, struct accept_new *new)
{
    sqlite3_stmt *findings = NULL;
    int error =
        new->accept->of_stalls ? gv_database_each(trace, sql_all, NULL, 0, accept_take, new) : 0;

    if (!error)
        error = gv_database_compile(trace, sql_all_findings, &findings);
    if (!error)
        error =
            gv_database_error(trace, sqlite3_bind_double(findings, 1, new->accept->least_share));
    if (!error)
        error = gv_database_rows(findings, NULL, 0, accept_take, new);
    sqlite3_finalize(findings);
    return error;
}

int gv_check_accept_apply(sqlite3 *trace, struct gv_check_accept *accept)
{
    struct accept_new new = {.accept = accept};
    int error = gv_database_script(trace, sql_tables, NULL, 0);

    if (!error && accept->is_new)
        error = accept_list(trace, &new);
    if (new.why[0]) {
        gv_message("cannot write %s: line %zu: %s", gv_shown_path(accept->path), accept->count,
                   new.why);
        return GV_EXIT_FAILED;
    }
    if (!error)
        error = accept_add(trace, accept);
    if (!error)
        error = gv_database_script(trace, sql_accept, NULL, 0);
    if (!error)
        error = gv_database_each(trace, sql_missing, NULL, 0, accept_is_missing, accept);
    return error;
}

static int accept_write(const struct gv_check_accept *accept)
{
    struct gv_output_file file;
    int error = gv_output_file_open(&file, accept->path, 0666);

    for (size_t i = 0; i < accept->count && !error; i++)
        if (!accept->lines[i].gone)
            fprintf(file.out, "%s\n", accept->lines[i].text);
    if (!error)
        error = gv_output_file_close(&file);
    if (error)
        gv_message("cannot write %s: %s", gv_shown_path(accept->path), strerror(-error));
    return error;
}

int gv_check_accept_tell(const struct gv_check_accept *accept)
{
    char threshold[GV_FORMAT_BYTES];
    size_t gone = 0;
    int error = 0;

    for (size_t i = 0; i < accept->count; i++)
        gone += accept->lines[i].gone;
    if (accept->update && (gone || accept->is_new))
        error = accept_write(accept);
    if (error)
        return error;
    if (accept->is_new)
        gv_message("%s accepts %zu %s%s now", gv_shown_path(accept->path), accept->count,
                   accept->of_stalls ? "stall" : "finding", accept->count == 1 ? "" : "s");
    for (size_t i = 0; i < accept->count; i++)
        if (accept->lines[i].gone)
            gv_message("%s:%zu: %s: this %s is gone%s", gv_shown_path(accept->path), i + 1,
                       accept->lines[i].text, accept->lines[i].key ? "finding" : "stall",
                       accept->update ? ", and no longer accepted" : "; --update removes it");
    if (accept->below)
        gv_message("%zu known stall%s not in this trace, which has only stalls of at least %s "
                   "(GPUVERIFY_STALL_US); %s may be shorter now, or gone",
                   accept->below, accept->below == 1 ? " is" : "s are",
                   gv_format_duration(threshold, accept->threshold_ns),
                   accept->below == 1 ? "it" : "they");
    return 0;
}

void gv_check_accept_free(struct gv_check_accept *accept)
{
    for (size_t i = 0; i < accept->count; i++) {
        free(accept->lines[i].text);
        free(accept->lines[i].cause);
        free(accept->lines[i].location);
    }
    free(accept->lines);
}
