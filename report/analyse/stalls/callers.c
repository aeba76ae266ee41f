/*
 * Which line is to be moved when a load comes too late: not the one in a helper that makes all of
 * the program's loads, but its caller's. A frame is a helper's if the loads that came through it
 * were asked for from different lines.
 */
#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/run.h"

/* The frames are those from which the line of a stack is chosen (PLACE of stall_statements.def),
 * innermost first; `path` is all of them up to this one. */
static const char gv_stall_callers_sql[] =
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

int gv_stall_callers_find(sqlite3 *trace)
{
    return gv_stall_execute(trace, gv_stall_callers_sql);
}
