#include "report/collect/ingest.h"

#include "report/analyse/names/demangle.h"
#include "report/store/database.h"

#include <stdio.h>

#define GV_MISNAMED_SQL_BYTES 1024
#define GV_DEMANGLED_BYTES    8192

/*
 * CUPTI keeps the name that it has found for a function's handle. When the code is unloaded and
 * another function gets the handle, its records have the name of the one that went (seen on an
 * H200, CUDA 13.0: 1161 of 1200 kernels of a program that loads and unloads). The launch knows
 * better: its name is the one that the program asked for. Nodes of graphs have no launch of their
 * own, and keep what CUPTI says.
 *
 * %1 is the process, %2 when it first unloaded code.
 */
static const char gv_misnamed_sql[] =
    "CREATE TEMP TABLE misnamed AS SELECT o.id AS op, o.shape AS shape, k.name AS name FROM gpu_op "
    "o"
    " JOIN call c ON c.id = o.call JOIN kernel k ON k.id = c.kernel JOIN gpu_shape s ON s.id = "
    "o.shape"
    " JOIN gpu_name n ON n.id = s.name WHERE o.kind = 1 AND o.graph_node IS NULL AND o.start_ns > "
    "%2$lld"
    " AND o.place IN (SELECT id FROM gpu_place WHERE process = %1$lld) AND k.name <> n.linkage;"
    "CREATE INDEX temp.misnamed_op ON misnamed (op);";

static const char gv_unnamed_sql[] =
    "SELECT DISTINCT name FROM temp.misnamed WHERE name NOT IN"
    " (SELECT linkage FROM gpu_name WHERE process = ?1 AND linkage IS NOT NULL)";

/* The other columns of a shape are the same in x and s. */
#define GV_SAME_SHAPE                                                                              \
    "x.process = s.process AND x.name = r.name AND (x.grid_x, x.grid_y, x.grid_z, x.block_x,"      \
    " x.block_y, x.block_z, x.registers, x.static_shared_bytes, x.dynamic_shared_bytes,"           \
    " x.local_bytes) = (s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z,"            \
    " s.registers, s.static_shared_bytes, s.dynamic_shared_bytes, s.local_bytes)"

/* Numbers below 0 are not the program's. */
static const char gv_renamed_sql[] =
    "CREATE TEMP TABLE renamed AS SELECT DISTINCT m.shape AS shape, m.name AS text, (SELECT min(id)"
    " FROM gpu_name WHERE process = ?1 AND linkage = m.name) AS name FROM temp.misnamed m;"
    "INSERT INTO gpu_shape (process, number, name, grid_x, grid_y, grid_z, block_x, block_y, "
    "block_z,"
    " registers, static_shared_bytes, dynamic_shared_bytes, local_bytes) SELECT DISTINCT s.process,"
    " (SELECT min(0, min(number)) FROM gpu_shape) - r.rowid, r.name, s.grid_x, s.grid_y, s.grid_z,"
    " s.block_x, s.block_y, s.block_z, s.registers, s.static_shared_bytes, s.dynamic_shared_bytes,"
    " s.local_bytes FROM temp.renamed r JOIN gpu_shape s ON s.id = r.shape WHERE NOT EXISTS"
    " (SELECT 1 FROM gpu_shape x WHERE " GV_SAME_SHAPE ");"
    "CREATE TEMP TABLE named_shape AS SELECT r.shape AS shape, r.text AS text, min(x.id) AS id"
    " FROM temp.renamed r JOIN gpu_shape s ON s.id = r.shape JOIN gpu_shape x ON " GV_SAME_SHAPE
    " GROUP BY 1, 2;"
    "CREATE INDEX temp.named_shape_index ON named_shape (shape, text);"
    "UPDATE gpu_op SET shape = (SELECT z.id FROM temp.misnamed m JOIN temp.named_shape z ON"
    " z.shape = m.shape AND z.text = m.name WHERE m.op = gpu_op.id)"
    " WHERE id IN (SELECT op FROM temp.misnamed);"
    "DROP TABLE temp.renamed; DROP TABLE temp.named_shape;";

static int gv_ingest_add_names(struct gv_ingest *ingest)
{
    sqlite3 *trace = ingest->database->handle;
    char plain[GV_DEMANGLED_BYTES];
    sqlite3_stmt *rows = NULL;
    int error = 0, result = gv_database_ask(trace, gv_unnamed_sql, &ingest->process, 1, &rows);

    while (result == SQLITE_OK && !error) {
        int step = sqlite3_step(rows);
        const char *name = step == SQLITE_ROW ? (const char *)sqlite3_column_text(rows, 0) : NULL;

        if (name)
            error = gv_database_run(ingest->database, GV_STATEMENT_GPU_NAME_MADE, "itt",
                                    ingest->process, gv_demangle(name, plain, sizeof(plain)), name);
        else
            result = step;
    }
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(trace, result);
}

int gv_ingest_gpu_rename(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    char sql[sizeof(gv_misnamed_sql) + GV_MISNAMED_SQL_BYTES];
    int error;

    if (!status->gpu_unloaded_ns)
        return 0;
    snprintf(sql, sizeof(sql), gv_misnamed_sql, (long long)ingest->process,
             (long long)gv_ingest_time(ingest, status->gpu_unloaded_ns));
    error = gv_ingest_execute(ingest, sql);
    if (!error)
        error = gv_ingest_add_names(ingest);
    if (!error)
        error = gv_ingest_execute(ingest, gv_renamed_sql);
    return error ? error : gv_ingest_execute(ingest, "DROP TABLE temp.misnamed");
}
