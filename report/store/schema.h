/*
 * The trace's tables and views. docs/trace-format.md describes the views, which are the contract.
 * Tables may change with GV_SCHEMA_VERSION.
 *
 * report/store_schema_columns.inc has what schema.def says of them; who includes it defines what it
 * needs, and the rest is empty:
 *
 *   GV_SCHEMA_TABLE(table, first, columns): the number of its first column, and how many it has;
 *   and of each of them
 *   GV_SCHEMA_COLUMN(table, column, "of", "below", how, rule)
 *       how: COPIED, TIME or EMPTY in a merge
 *   GV_SCHEMA_FIELD(table, column, kind) of struct gv_row_TABLE, or GV_SCHEMA_NO_FIELD(...)
 *       kind: ZERO, NUMBER or TEXT (report/store/row.c)
 *   GV_SCHEMA_NOT_MERGED(table), GV_SCHEMA_SHARED(table), GV_SCHEMA_ANONYMISED_ANEW(table),
 *   GV_SCHEMA_KEPT_WHOLE(table), GV_SCHEMA_KEPT_WITH_CALL(table), GV_SCHEMA_MADE_BY_TOTALS(table),
 *   GV_SCHEMA_MADE_BY_STALLS(table), GV_SCHEMA_REPLACED(table)
 */
#ifndef GV_STORE_SCHEMA_H
#define GV_STORE_SCHEMA_H

#define GV_SCHEMA_VERSION 20
/* The oldest readable version. A later version may add tables, and change those that
 * totals make, but no others of this one (report/store/trusted_schema.c). */
#define GV_SCHEMA_VERSION_OLDEST 5
/* PRAGMA application_id: "GpuV". Marks a trace among SQLite files. */
#define GV_SCHEMA_APPLICATION_ID 0x47707556

extern const char gv_schema_sql[];

#endif
