#include "report/collect/drain.h"

#include "report/store/schema.h"
#include "trace/settings.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *gv_drain_clock_name(uint32_t kind)
{
    switch (kind) {
    case GV_CLOCK_MONOTONIC:
        return "monotonic";
    case GV_CLOCK_TSC:
        return "tsc";
    default:
        return "unknown";
    }
}

static int gv_drain_write_text(struct gv_database *database, const char *key, const char *text)
{
    char valid[GV_TEXT_REPAIRED_BYTES(GV_SESSION_PATH_BYTES)];

    gv_text_repair(valid, sizeof(valid), text, strlen(text));
    return gv_database_set_meta(database, key, valid);
}

/* The process's own row has its texts ready for printing. */
static int gv_drain_write_program(struct gv_drain *drain)
{
    static const char sql[] =
        "INSERT OR REPLACE INTO meta (key, value)"
        " SELECT 'program', program FROM process WHERE id = (SELECT min(id) FROM process)"
        " UNION ALL"
        " SELECT 'arguments', arguments FROM process WHERE id = (SELECT min(id) FROM process)"
        " UNION ALL"
        " SELECT 'directory', directory FROM process WHERE id = (SELECT min(id) FROM process)";
    int result = sqlite3_exec(drain->database.handle, sql, NULL, NULL, NULL);

    return gv_database_error(drain->database.handle, result);
}

static int gv_drain_write_first(struct gv_drain *drain, const struct gv_spool_facts *facts)
{
    struct gv_database *database = &drain->database;
    char host[HOST_NAME_MAX + 1] = "";
    struct gv_settings settings;
    int64_t unix_offset_ns =
        (int64_t)((uint64_t)facts->clock.unix_offset_ns + facts->clock.epoch_ns);
    int error;

    gv_settings_read(&settings, NULL, NULL);
    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    error = gv_database_set_meta_number(database, "schema_version", GV_SCHEMA_VERSION);
    if (!error)
        error = gv_database_set_meta(database, "gpuverify_version", GV_VERSION);
    if (!error)
        error = gv_drain_write_text(database, "host", host);
    if (!error)
        error = gv_database_set_meta(database, "clock", gv_drain_clock_name(facts->clock.kind));
    if (!error)
        error = gv_database_set_meta_number(database, "unix_offset_ns", unix_offset_ns);
    if (!error)
        error = gv_database_set_meta_number(database, "start_unix_ns", unix_offset_ns);
    if (!error)
        error = gv_database_set_meta_number(database, "watchdog_ns",
                                            (int64_t)settings.watchdog_ms * 1000000);
    return error ? error : gv_drain_write_program(drain);
}

int gv_drain_write_session(struct gv_database *database, void *drain)
{
    const struct gv_drain *of = drain;
    int error = gv_drain_write_text(database, "session", of->session);

    if (!error)
        error = gv_drain_write_text(database, "spool_directory", of->directory);
    if (!error)
        error = gv_database_set_meta(database, "state", "recording");
    return error;
}

int gv_drain_write_meta(struct gv_drain *drain, const struct gv_spool_facts *facts)
{
    char clock[GV_SESSION_ID_BYTES];
    int found = gv_database_get_meta(&drain->database, "clock", clock, sizeof(clock));

    if (found < 0)
        return found;
    int error = found ? 0 : gv_drain_write_first(drain, facts);
    if (!error)
        error = gv_database_set_meta(&drain->database, "state", "recording");
    return error;
}

int gv_drain_write_driver(struct gv_drain *drain, int32_t driver_version)
{
    int error = 0;

    if (driver_version && !drain->driver_known) {
        error = gv_database_set_meta_number(&drain->database, "driver_version", driver_version);
        drain->driver_known = !error;
    }
    return error;
}

void gv_drain_default_path(const struct gv_spool_facts *facts, char *out, size_t size)
{
    char program[sizeof(facts->program)];

    snprintf(program, sizeof(program), "%s", facts->program);
    for (char *c = program; *c; c++)
        if (*c == '/')
            *c = '_';
    snprintf(out, size, "%s%sgpuverify-%s-%u.db", facts->directory, facts->directory[0] ? "/" : "",
             program[0] ? program : "program", facts->pid);
}
