#include "report/analyse/lines/lines.h"

#include "report/analyse/names/places.h"
#include "report/analyse/totals/totals.h"
#include "report/analyse_lines_lines.inc"
#include "report/store/database.h"
#include "report/store/shadow.h"

static int find_place(void *trace, sqlite3_stmt *row)
{
    int64_t place;

    return gv_place_of_stack(trace, sqlite3_column_int64(row, 0), &place);
}

static int lines_make(sqlite3 *trace, const struct gv_totals_part *part)
{
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    int error = gv_database_script(trace, sql_add_all, values, 4);

    if (!error)
        error = gv_database_each(trace, sql_stacks, NULL, 0, find_place, trace);
    if (!error)
        error = gv_database_script(trace, sql_add_lines, NULL, 0);
    return error;
}

int gv_lines_keep(sqlite3 *trace)
{
    static const char empty[] = "BEGIN IMMEDIATE; DELETE FROM main.gpu_stack;"
                                " DELETE FROM main.gpu_line";
    const struct gv_totals_part all = GV_TOTALS_ALL;
    const int64_t version = GV_LINES_VERSION;
    int error = gv_database_script(trace, empty, NULL, 0);

    if (!error)
        error = lines_make(trace, &all);
    if (!error)
        error = gv_database_script(
            trace, "INSERT OR REPLACE INTO meta (key, value) VALUES ('lines', ?)", &version, 1);
    if (!error)
        error = gv_database_script(trace, "COMMIT", NULL, 0);
    if (error && !sqlite3_get_autocommit(trace))
        gv_database_script(trace, "ROLLBACK", NULL, 0);
    return error;
}

int gv_lines_ensure(sqlite3 *trace, const struct gv_totals_part *part)
{
    static const char *const tables[] = {"gpu_stack", "gpu_line"};
    int64_t version = 0;
    int error = gv_database_number(trace, sql_version, NULL, 0, &version);

    if (!error)
        error = gv_database_script(trace, "DROP VIEW IF EXISTS temp.gpu_lines;"
                                          "DROP TABLE IF EXISTS temp.gpu_stack;"
                                          "DROP TABLE IF EXISTS temp.gpu_line",
                                   NULL, 0);
    if (error || (gv_totals_is_all(part) && version == GV_LINES_VERSION))
        return error;
    error = gv_places_open(trace);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !error; i++)
        error = gv_shadow_make(trace, "TABLE", tables[i]);
    if (!error)
        error = gv_shadow_make(trace, "VIEW", "gpu_lines");
    return error ? error : lines_make(trace, part);
}
