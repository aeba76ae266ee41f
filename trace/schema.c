#include "trace/schema.h"

/*
 * A launch has to fit in 36 bytes of `call`: names are numbers, what is unknown is NULL and takes
 * one byte, a context that follows from the stream is not said again, and there is no index.
 * Times are nanoseconds since the session's start.
 */
#define GV_SCHEMA_TABLES                                                                           \
    "CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;"                      \
    "CREATE TABLE api (id INTEGER PRIMARY KEY, name TEXT NOT NULL, class TEXT NOT NULL);"          \
    "CREATE TABLE process (id INTEGER PRIMARY KEY, identity INTEGER NOT NULL, pid INTEGER,"        \
    " parent_pid INTEGER, start_ticks INTEGER, program TEXT, executable TEXT, arguments TEXT,"     \
    " directory TEXT, forked INTEGER, driver_version INTEGER, start_ns INTEGER, end_ns INTEGER,"   \
    " ended TEXT, exit_code INTEGER);" /* records: how many of the thread's records are in the     \
                                          trace, counted in its spool */                           \
    "CREATE TABLE thread (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                       \
    " serial INTEGER NOT NULL, tid INTEGER, name TEXT, records INTEGER NOT NULL);"                 \
    "CREATE TABLE context (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                      \
    " handle INTEGER NOT NULL);"                                                                   \
    "CREATE TABLE stream (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, context INTEGER,"      \
    " thread INTEGER, handle INTEGER NOT NULL, kind TEXT NOT NULL);"                               \
    "CREATE TABLE kernel (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                       \
    " number INTEGER NOT NULL, name TEXT, module INTEGER, handle INTEGER, named_ns INTEGER);"      \
    "CREATE TABLE module (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                       \
    " number INTEGER NOT NULL, unloaded_ns INTEGER);"                                              \
    "CREATE TABLE call (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, api INTEGER NOT NULL,"    \
    " start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, result INTEGER, stream INTEGER,"    \
    " context INTEGER, bytes INTEGER, object INTEGER, kernel INTEGER, correlation INTEGER);"       \
    "CREATE TABLE call_module (call INTEGER PRIMARY KEY, module INTEGER NOT NULL);"                \
    "CREATE TABLE load (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, api INTEGER NOT NULL,"    \
    " call INTEGER, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, result INTEGER,"      \
    " kind TEXT NOT NULL, image TEXT, name TEXT, bytes INTEGER, hash INTEGER, handle INTEGER,"     \
    " module INTEGER);"                                                                            \
    "CREATE TABLE loss (process INTEGER NOT NULL, what TEXT NOT NULL, class TEXT NOT NULL,"        \
    " count INTEGER NOT NULL, PRIMARY KEY (process, what, class)) WITHOUT ROWID;"                  \
    "CREATE TABLE flight (process INTEGER NOT NULL, thread_serial INTEGER, tid INTEGER,"           \
    " name TEXT, api INTEGER NOT NULL, start_ns INTEGER NOT NULL, kernel INTEGER,"                 \
    " stream_handle INTEGER);"

/* Left joins throughout: SQLite drops those whose columns nobody asks for. */
#define GV_SCHEMA_VIEWS                                                                            \
    "CREATE VIEW calls AS SELECT c.id AS id, t.process AS process, c.thread AS thread,"            \
    " a.name AS name, a.class AS class, c.start_ns AS start_ns, c.duration_ns AS duration_ns,"     \
    " c.result AS result, coalesce(c.context, s.context) AS context, c.stream AS stream,"          \
    " c.bytes AS bytes, k.name AS kernel, coalesce(k.module, m.module) AS module,"                 \
    " c.correlation AS correlation, NULL AS stack, c.object AS object, c.kernel AS kernel_id"      \
    " FROM call c LEFT JOIN thread t ON t.id = c.thread LEFT JOIN api a ON a.id = c.api"           \
    " LEFT JOIN stream s ON s.id = c.stream LEFT JOIN kernel k ON k.id = c.kernel"                 \
    " LEFT JOIN call_module m ON m.call = c.id;"                                                   \
    "CREATE VIEW loads AS SELECT l.id AS id, l.call AS call, l.kind AS kind, l.name AS name,"      \
    " l.bytes AS bytes, CASE WHEN l.hash IS NOT NULL THEN printf('%016x', l.hash) END AS hash,"    \
    " l.start_ns AS start_ns, l.duration_ns AS duration_ns, NULL AS jit_ns, NULL AS wait_ns,"      \
    " NULL AS gpu_busy, l.result AS result, l.image AS image, l.module AS module,"                 \
    " t.process AS process, l.thread AS thread, a.name AS function, l.handle AS handle"            \
    " FROM load l LEFT JOIN thread t ON t.id = l.thread LEFT JOIN api a ON a.id = l.api;"          \
    "CREATE VIEW kernels AS SELECT k.id AS id, k.process AS process, k.name AS name,"              \
    " k.module AS module, k.handle AS handle, k.named_ns AS named_ns, k.number AS number"          \
    " FROM kernel k;"                                                                              \
    "CREATE VIEW modules AS SELECT m.id AS id, m.process AS process, m.number AS number,"          \
    " m.unloaded_ns AS unloaded_ns FROM module m;"                                                 \
    "CREATE VIEW streams AS SELECT s.id AS id, s.process AS process, s.context AS context,"        \
    " s.thread AS thread, s.handle AS handle, s.kind AS kind FROM stream s;"                       \
    "CREATE VIEW contexts AS SELECT id, process, handle FROM context;"                             \
    "CREATE VIEW processes AS SELECT p.id AS id, p.pid AS pid, p.parent_pid AS parent_pid,"        \
    " p.program AS program, p.executable AS executable, p.arguments AS arguments,"                 \
    " p.directory AS directory, p.forked AS forked, p.start_ns AS start_ns, p.end_ns AS end_ns,"   \
    " p.ended AS ended, p.exit_code AS exit_code, p.driver_version AS driver_version"              \
    " FROM process p;"                                                                             \
    "CREATE VIEW threads AS SELECT id, process, serial, tid, name, records FROM thread;"           \
    "CREATE VIEW losses AS SELECT process, what, nullif(class, '') AS class, count FROM loss;"     \
    "CREATE VIEW in_flight AS SELECT f.process AS process, t.id AS thread, f.tid AS tid,"          \
    " f.name AS thread_name, a.name AS name, a.class AS class, f.start_ns AS start_ns,"            \
    " k.name AS kernel, f.stream_handle AS stream_handle"                                          \
    " FROM flight f LEFT JOIN api a ON a.id = f.api LEFT JOIN kernel k ON k.id = f.kernel"         \
    " LEFT JOIN thread t ON t.process = f.process AND t.serial = f.thread_serial;"

/* The median needs every name's durations in order: they are counted by duration first, which
 * leaves far fewer to order. Result 600 (not ready) is the answer to a question. */
#define GV_SCHEMA_SUMMARIES                                                                        \
    "CREATE VIEW api_summary AS WITH"                                                              \
    " counted AS MATERIALIZED (SELECT api, duration_ns, count(*) AS count,"                        \
    "  count(nullif(nullif(result, 0), 600)) AS errors FROM call GROUP BY api, duration_ns),"      \
    " ranked AS (SELECT api, duration_ns, count,"                                                  \
    "  sum(count) OVER (PARTITION BY api ORDER BY duration_ns) AS rank FROM counted),"             \
    " total AS (SELECT api, sum(count) AS count, sum(count * duration_ns) AS total_ns,"            \
    "  min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, sum(errors) AS errors"              \
    "  FROM counted GROUP BY api)"                                                                 \
    " SELECT a.name AS name, a.class AS class, n.count AS count, n.total_ns AS total_ns,"          \
    "  n.min_ns AS min_ns, r.duration_ns AS median_ns, n.max_ns AS max_ns,"                        \
    "  n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share,"                  \
    "  n.errors AS errors"                                                                         \
    " FROM ranked r JOIN total n ON n.api = r.api JOIN api a ON a.id = n.api"                      \
    " WHERE r.rank >= (n.count + 1) / 2 AND r.rank - r.count < (n.count + 1) / 2;"

#define GV_SCHEMA_TEXT_OF(number) #number
#define GV_SCHEMA_TEXT(number)    GV_SCHEMA_TEXT_OF(number)

const char gv_schema_sql[] = "PRAGMA application_id = " GV_SCHEMA_TEXT(
    GV_SCHEMA_APPLICATION_ID) ";"
                              "PRAGMA user_version = " GV_SCHEMA_TEXT(
                                  GV_SCHEMA_VERSION) ";" GV_SCHEMA_TABLES GV_SCHEMA_VIEWS
                                  GV_SCHEMA_SUMMARIES;
