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
    " ended TEXT, exit_code INTEGER, gpu TEXT, gpu_why TEXT, cupti_version INTEGER,"               \
    " cupti_library TEXT, gpu_flushed_ns INTEGER);" /* records: how many of the thread's records   \
                                          are in the trace, counted in its spool */                \
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

/* What the GPU's side tells. An operation of a launch has to fit in 45 bytes: where it ran, and as
 * what, are numbers of rows. `correlation` is kept only where the call was not found at once. */
#define GV_SCHEMA_GPU_TABLES                                                                       \
    "CREATE TABLE device (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                       \
    " device INTEGER NOT NULL, name TEXT, uuid TEXT, cc_major INTEGER, cc_minor INTEGER,"          \
    " multiprocessors INTEGER, memory_bytes INTEGER, clock_khz INTEGER,"                           \
    " memory_clock_khz INTEGER);"                                                                  \
    "CREATE TABLE gpu_name (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                     \
    " number INTEGER NOT NULL, name TEXT, linkage TEXT);"                                          \
    "CREATE TABLE gpu_shape (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                    \
    " number INTEGER NOT NULL, name INTEGER, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER,"      \
    " block_x INTEGER, block_y INTEGER, block_z INTEGER, registers INTEGER,"                       \
    " static_shared_bytes INTEGER, dynamic_shared_bytes INTEGER, local_bytes INTEGER);"            \
    "CREATE TABLE gpu_place (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                    \
    " device INTEGER NOT NULL, context INTEGER NOT NULL, stream INTEGER NOT NULL);"                \
    "CREATE TABLE gpu_op (id INTEGER PRIMARY KEY, place INTEGER NOT NULL, kind INTEGER NOT NULL,"  \
    " shape INTEGER, start_ns INTEGER, duration_ns INTEGER, call INTEGER, bytes INTEGER,"          \
    " copy_kind INTEGER, graph_node INTEGER, correlation INTEGER);"                                \
    "CREATE TABLE jit (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, start_ns INTEGER NOT "    \
    "NULL,"                                                                                        \
    " duration_ns INTEGER NOT NULL, operation INTEGER, entry INTEGER, cache_bytes INTEGER,"        \
    " device INTEGER, call INTEGER, correlation INTEGER);"                                         \
    "CREATE TABLE overhead (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                     \
    " kind INTEGER NOT NULL, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, tid "        \
    "INTEGER);"                                                                                    \
    "CREATE TABLE gpu_module (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                   \
    " number INTEGER NOT NULL, at_ns INTEGER NOT NULL, bytes INTEGER, hash INTEGER, tid INTEGER,"  \
    " call INTEGER, correlation INTEGER);"                                                         \
    "CREATE TABLE sample (id INTEGER PRIMARY KEY, uuid TEXT, at_ns INTEGER NOT NULL,"              \
    " gpu_percent INTEGER, memory_percent INTEGER, memory_used_bytes INTEGER, power_mw INTEGER,"   \
    " sm_clock_mhz INTEGER, memory_clock_mhz INTEGER, temperature_c INTEGER);"

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
    " l.start_ns AS start_ns, l.duration_ns AS duration_ns,"                                       \
    " CASE WHEN p.gpu = 'cupti' THEN coalesce((SELECT sum(j.duration_ns) FROM jit j WHERE"         \
    "  j.process = p.id AND j.start_ns >= l.start_ns"                                              \
    "  AND j.start_ns <= l.start_ns + l.duration_ns"                                               \
    "  AND (j.call = l.call OR j.call IS NULL OR l.call IS NULL)), 0) END AS jit_ns,"              \
    " NULL AS wait_ns, NULL AS gpu_busy, l.result AS result, l.image AS image,"                    \
    " l.module AS module, t.process AS process, l.thread AS thread, a.name AS function,"           \
    " l.handle AS handle, NULL AS kernel"                                                          \
    " FROM load l LEFT JOIN thread t ON t.id = l.thread LEFT JOIN api a ON a.id = l.api"           \
    " LEFT JOIN process p ON p.id = t.process"                                                     \
    " UNION ALL SELECT -m.id, m.call, 'lazy', k.name, m.bytes,"                                    \
    " CASE WHEN m.hash IS NOT NULL THEN printf('%016x', m.hash) END, c.start_ns, c.duration_ns,"   \
    " coalesce((SELECT sum(j.duration_ns) FROM jit j WHERE j.call = m.call), 0), NULL, NULL,"      \
    " c.result, NULL, k.module, m.process, c.thread, a.name, NULL, k.name"                         \
    " FROM gpu_module m JOIN call c ON c.id = m.call LEFT JOIN api a ON a.id = c.api"              \
    " LEFT JOIN kernel k ON k.id = c.kernel"                                                       \
    " WHERE m.call NOT IN (SELECT call FROM load WHERE call IS NOT NULL);"                         \
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
    " p.ended AS ended, p.exit_code AS exit_code, p.driver_version AS driver_version,"             \
    " p.gpu AS gpu, p.gpu_why AS gpu_why, p.cupti_version AS cupti_version,"                       \
    " p.cupti_library AS cupti_library"                                                            \
    " FROM process p;"                                                                             \
    "CREATE VIEW threads AS SELECT id, process, serial, tid, name, records FROM thread"            \
    " WHERE serial < 1 << 62;"                                                                     \
    "CREATE VIEW losses AS SELECT process, what, nullif(class, '') AS class, count FROM loss;"     \
    "CREATE VIEW in_flight AS SELECT f.process AS process, t.id AS thread, f.tid AS tid,"          \
    " f.name AS thread_name, a.name AS name, a.class AS class, f.start_ns AS start_ns,"            \
    " k.name AS kernel, f.stream_handle AS stream_handle"                                          \
    " FROM flight f LEFT JOIN api a ON a.id = f.api LEFT JOIN kernel k ON k.id = f.kernel"         \
    " LEFT JOIN thread t ON t.process = f.process AND t.serial = f.thread_serial;"

#define GV_SCHEMA_GPU_VIEWS                                                                        \
    "CREATE VIEW gpu_ops AS SELECT o.id AS id, CASE o.kind WHEN 1 THEN 'kernel'"                   \
    " WHEN 2 THEN 'copy' WHEN 3 THEN 'set' WHEN 4 THEN 'graph' END AS kind,"                       \
    " CASE o.kind WHEN 1 THEN n.name WHEN 2 THEN coalesce(y.name, 'copy') WHEN 3 THEN 'memset'"    \
    " WHEN 4 THEN 'graph' END AS name, p.process AS process, p.device AS device,"                  \
    " coalesce(c.context, st.context) AS context, CASE WHEN o.graph_node IS NULL"                  \
    " THEN c.stream END AS stream, o.start_ns AS start_ns, o.duration_ns AS duration_ns,"          \
    " o.bytes AS bytes, o.call AS call, s.grid_x AS grid_x, s.grid_y AS grid_y,"                   \
    " s.grid_z AS grid_z, s.block_x AS block_x, s.block_y AS block_y, s.block_z AS block_z,"       \
    " s.registers AS registers, s.static_shared_bytes + s.dynamic_shared_bytes AS shared_bytes,"   \
    " s.local_bytes AS local_bytes, s.static_shared_bytes AS static_shared_bytes,"                 \
    " s.dynamic_shared_bytes AS dynamic_shared_bytes, n.linkage AS linkage_name,"                  \
    " o.graph_node AS graph_node, p.context AS cupti_context, p.stream AS cupti_stream"            \
    " FROM gpu_op o LEFT JOIN gpu_place p ON p.id = o.place"                                       \
    " LEFT JOIN gpu_shape s ON s.id = o.shape LEFT JOIN gpu_name n ON n.id = s.name"               \
    " LEFT JOIN copy_kind y ON y.id = o.copy_kind LEFT JOIN call c ON c.id = o.call"               \
    " LEFT JOIN stream st ON st.id = c.stream;"                                                    \
    "CREATE VIEW devices AS SELECT d.id AS id, d.process AS process, d.device AS device,"          \
    " d.name AS name, d.uuid AS uuid, CASE WHEN d.cc_major IS NOT NULL"                            \
    " THEN d.cc_major || '.' || d.cc_minor END AS compute_capability,"                             \
    " d.multiprocessors AS multiprocessors, d.memory_bytes AS memory_bytes,"                       \
    " d.clock_khz AS clock_khz, d.memory_clock_khz AS memory_clock_khz,"                           \
    " p.driver_version AS driver_version FROM device d LEFT JOIN process p ON p.id = d.process;"   \
    "CREATE VIEW samples AS SELECT s.id AS id, s.uuid AS uuid, s.at_ns AS at_ns,"                  \
    " s.gpu_percent AS gpu_percent, s.memory_percent AS memory_percent,"                           \
    " s.memory_used_bytes AS memory_used_bytes, s.power_mw AS power_mw,"                           \
    " s.sm_clock_mhz AS sm_clock_mhz, s.memory_clock_mhz AS memory_clock_mhz,"                     \
    " s.temperature_c AS temperature_c FROM sample s;"                                             \
    "CREATE VIEW jits AS SELECT j.id AS id, j.process AS process, j.call AS call,"                 \
    " CASE j.operation WHEN 1 THEN 'cache load' WHEN 2 THEN 'cache store' WHEN 3 THEN 'compile'"   \
    " END AS operation, CASE j.entry WHEN 1 THEN 'ptx to cubin' WHEN 2 THEN 'nvvm to ptx' END"     \
    " AS entry, j.start_ns AS start_ns, j.duration_ns AS duration_ns,"                             \
    " j.cache_bytes AS cache_bytes, j.device AS device FROM jit j;"                                \
    "CREATE VIEW overheads AS SELECT o.id AS id, o.process AS process, t.id AS thread,"            \
    " CASE o.kind WHEN 1 THEN 'driver compiler' WHEN 1 << 16 THEN 'buffer flush'"                  \
    " WHEN 2 << 16 THEN 'instrumentation' WHEN 3 << 16 THEN 'resource'"                            \
    " WHEN 4 << 16 THEN 'module loading' WHEN 5 << 16 THEN 'lazy function loading'"                \
    " WHEN 6 << 16 THEN 'command buffer full' WHEN 7 << 16 THEN 'buffer request'"                  \
    " ELSE 'kind ' || o.kind END AS kind, o.start_ns AS start_ns, o.duration_ns AS duration_ns"    \
    " FROM overhead o LEFT JOIN thread t ON t.process = o.process AND t.tid = o.tid"               \
    " AND t.serial < 1 << 62;"

/* CUpti_ActivityMemcpyKind */
#define GV_SCHEMA_COPY_KINDS                                                                       \
    "CREATE TABLE copy_kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"                         \
    "INSERT INTO copy_kind VALUES (1, 'host to device'), (2, 'device to host'),"                   \
    " (3, 'host to array'), (4, 'array to host'), (5, 'array to array'), (6, 'array to device'),"  \
    " (7, 'device to array'), (8, 'device to device'), (9, 'host to host'),"                       \
    " (10, 'peer to peer');"

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

/* The same for what ran on the GPU, by name; `extra` are columns that the sums need. */
#define GV_SCHEMA_GPU_SUMMARY(view, key, name, from, extra, sums)                                  \
    "CREATE VIEW " view " AS WITH counted AS MATERIALIZED (SELECT " key                            \
    " AS key, o.duration_ns AS duration_ns, count(*) AS count" extra " FROM " from                 \
    " AND o.duration_ns IS NOT NULL GROUP BY 1, 2),"                                               \
    " ranked AS (SELECT key, duration_ns, count,"                                                  \
    "  sum(count) OVER (PARTITION BY key ORDER BY duration_ns) AS rank FROM counted),"             \
    " total AS (SELECT key, sum(count) AS count, sum(count * duration_ns) AS total_ns,"            \
    "  min(duration_ns) AS min_ns, max(duration_ns) AS max_ns" sums "  FROM counted GROUP BY key)" \
    " SELECT " name " AS name, n.count AS count, n.total_ns AS total_ns, n.min_ns AS min_ns,"      \
    "  r.duration_ns AS median_ns, n.max_ns AS max_ns,"                                            \
    "  n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share"
#define GV_SCHEMA_GPU_SUMMARY_END                                                                  \
    " WHERE r.rank >= (n.count + 1) / 2 AND r.rank - r.count < (n.count + 1) / 2;"

#define GV_SCHEMA_GPU_SUMMARIES                                                                    \
    GV_SCHEMA_GPU_SUMMARY("kernel_summary", "coalesce(n.name, '?')", "n.key",                      \
                          "gpu_op o LEFT JOIN gpu_shape s ON s.id = o.shape"                       \
                          " LEFT JOIN gpu_name n ON n.id = s.name WHERE o.kind = 1",               \
                          "", "")                                                                  \
    " FROM ranked r JOIN total n ON n.key = r.key" GV_SCHEMA_GPU_SUMMARY_END                       \
        GV_SCHEMA_GPU_SUMMARY(                                                                     \
            "copy_summary", "CASE o.kind WHEN 3 THEN -1 ELSE coalesce(o.copy_kind, 0) END",        \
            "CASE n.key WHEN -1 THEN 'memset' ELSE coalesce(y.name, 'copy') END",                  \
            "gpu_op o WHERE o.kind IN (2, 3)", ", sum(o.bytes) AS bytes",                          \
            ", sum(bytes) AS bytes") ", n.bytes AS bytes"                                          \
                                     " FROM ranked r JOIN total n ON n.key = r.key"                \
                                     " LEFT JOIN copy_kind y ON y.id = "                           \
                                     "n.key" GV_SCHEMA_GPU_SUMMARY_END

#define GV_SCHEMA_TEXT_OF(number) #number
#define GV_SCHEMA_TEXT(number)    GV_SCHEMA_TEXT_OF(number)

const char gv_schema_sql[] = "PRAGMA application_id = " GV_SCHEMA_TEXT(
    GV_SCHEMA_APPLICATION_ID) ";"
                              "PRAGMA user_version = " GV_SCHEMA_TEXT(
                                  GV_SCHEMA_VERSION) ";" GV_SCHEMA_TABLES GV_SCHEMA_GPU_TABLES
                                  GV_SCHEMA_COPY_KINDS GV_SCHEMA_VIEWS GV_SCHEMA_GPU_VIEWS
                                      GV_SCHEMA_SUMMARIES GV_SCHEMA_GPU_SUMMARIES;
