-- What the analysis of stalls reads and writes.

-- ---- facts that only few calls have, found by the call ----

-- name: NEW_FACTS
-- They go to temporary files when they are many.
CREATE TEMP TABLE stall_load AS
    -- Text that was loaded before is compiled already.
    SELECT call, id AS load, duration_ns, 0 AS lazy,
        image IS 'ptx' AND row_number() OVER (PARTITION BY hash ORDER BY start_ns) = 1 AS ptx
    FROM load WHERE call IS NOT NULL
    UNION ALL
    SELECT call, -id, 0, 1, 0 FROM gpu_module WHERE call IS NOT NULL;
CREATE INDEX temp.stall_load_call ON stall_load (call);
CREATE TEMP TABLE stall_code (call INTEGER PRIMARY KEY, lazy INTEGER, ptx INTEGER);
INSERT INTO temp.stall_code SELECT call, max(lazy), max(ptx) FROM temp.stall_load GROUP BY call;
CREATE TEMP TABLE stall_jit AS
    SELECT call, start_ns, duration_ns FROM jit WHERE call IS NOT NULL;
CREATE INDEX temp.stall_jit_call ON stall_jit (call);
CREATE TEMP TABLE stall_again (load INTEGER PRIMARY KEY, count INTEGER, total_ns INTEGER);
-- A library is in all contexts.
INSERT INTO temp.stall_again
    SELECT id, count, total_ns FROM (
        SELECT l.id AS id, count(*) OVER same AS count, sum(l.duration_ns) OVER same AS total_ns
        FROM load l JOIN thread t ON t.id = l.thread JOIN call c ON c.id = l.call
            JOIN api a ON a.id = c.api
        WHERE l.hash IS NOT NULL AND l.result = 0 AND (c.context IS NOT NULL OR a.every_context)
        WINDOW same AS (PARTITION BY t.process, l.hash, c.context))
    WHERE count > 1;
-- What freeing takes by itself, which only inference needs: an H100 takes 40 ms for 256 MB of pinned
-- memory, 18 ms to unpin 1 GB, 21 ms for 30 GB of its own.
CREATE TEMP TABLE stall_freed (call INTEGER PRIMARY KEY, own_ns INTEGER);
INSERT INTO temp.stall_freed
    SELECT id, bytes / 1024 * CASE kind WHEN 'free-host' THEN 152 WHEN 'host-unregister' THEN 17 ELSE 1 END
    FROM (SELECT c.id AS id, a.kind AS kind, a.memory AS memory,
            lag(c.bytes) OVER (PARTITION BY p.id, c.object ORDER BY c.start_ns) AS bytes
        FROM {if_any(process WHERE gpu IS NOT 'cupti' OR id IN (SELECT process FROM gpu_change))} call c
            JOIN api a ON a.id = c.api JOIN thread t ON t.id = c.thread JOIN process p ON p.id = t.process
        WHERE (p.gpu IS NOT 'cupti' OR p.id IN (SELECT process FROM gpu_change))
            AND (a.memory = 5 OR (a.memory BETWEEN 1 AND 4 AND c.bytes >= 1048576)))
    WHERE memory = 5 AND bytes > 0;

CREATE TEMP TABLE stall_pool (call INTEGER PRIMARY KEY);

-- name: POOL_CALLS
-- What pools do is known from allocations in stream order, frees, synchronisations and thresholds:
-- the numbers of enum pool_call. Nothing if there are no such allocations, or in a trace before
-- version 7, which does not have the thresholds.
SELECT c.id, CASE WHEN a.kind = 'alloc-ordered' THEN 1 WHEN a.memory = 5 THEN 2 WHEN a.class = 'sync' THEN 3
        ELSE 4 END,
    t.process, coalesce(c.context, s.context), c.object, c.bytes
FROM {if_any(api WHERE kind = 'alloc-ordered')} call c JOIN api a ON a.id = c.api JOIN thread t ON t.id = c.thread
    LEFT JOIN stream s ON s.id = c.stream
WHERE (SELECT user_version FROM pragma_user_version) >= 7 AND c.result = 0
    AND (a.kind <> 'pool-attribute' OR c.bytes IS NOT NULL)
    AND c.api IN (SELECT id FROM api WHERE class = 'sync' OR memory = 5
        OR kind IN ('alloc-ordered', 'pool-attribute'))
ORDER BY CASE WHEN a.memory = 5 THEN c.start_ns ELSE c.start_ns + c.duration_ns END, c.id;

-- name: ADD_POOL
INSERT OR IGNORE INTO temp.stall_pool (call) VALUES (?1);

-- name: DROP_FACTS
DROP TABLE IF EXISTS temp.stall_load;
DROP TABLE IF EXISTS temp.stall_again;
DROP TABLE IF EXISTS temp.stall_code;
DROP TABLE IF EXISTS temp.stall_freed;
DROP TABLE IF EXISTS temp.stall_caller;
DROP TABLE IF EXISTS temp.stall_blocker;
DROP TABLE IF EXISTS temp.stall_path;
DROP TABLE IF EXISTS temp.stall_jit;
DROP TABLE IF EXISTS temp.stall_pool;

-- ---- the processes ----

-- define: machine_of(process)
-- The number of its machine: 0 unless several traces were merged.
coalesce((SELECT min(o.id) FROM process_clock m JOIN clock c ON c.id = m.clock JOIN clock o ON o.host = c.host
    WHERE m.process = {process}), (SELECT clock FROM process_clock WHERE process = {process}), 0)

-- name: PROCESSES
-- The last columns: enum gv_stall_loading; the machine.
SELECT id, gpu IS 'cupti', id IN {launch_blocking}, coalesce((SELECT CASE value WHEN 'LAZY' THEN 1
    WHEN 'EAGER' THEN 2 END FROM variable WHERE process = p.id AND name = 'CUDA_MODULE_LOADING'), 0),
    {machine_of(p.id)}
FROM process p;

-- ---- the calls ----

-- name: CODE
-- The calls that loaded code, by their start.
SELECT c.start_ns, k.call FROM temp.stall_code k JOIN call c ON c.id = k.call ORDER BY 1, 2;

-- name: DETAILS
-- What else is known of a call.
SELECT k.lazy, k.ptx, d.delay_ns, f.own_ns, m.call IS NOT NULL
FROM (SELECT ?1 AS id) c LEFT JOIN temp.stall_code k ON k.call = c.id LEFT JOIN call_delay d ON d.call = c.id
    LEFT JOIN temp.stall_freed f ON f.call = c.id LEFT JOIN temp.stall_pool m ON m.call = c.id;

-- name: LIVES
-- The processes, if there is more than one.
SELECT id, start_ns, end_ns FROM process
WHERE start_ns IS NOT NULL AND (SELECT count(*) FROM process) > 1;

-- name: OUTSIDE
-- The last column: the machine whose processes use that device.
SELECT id, first_ns, last_ns, started, ended, coalesce((SELECT {machine_of(d.process)} FROM device d
    WHERE d.uuid = other_process.uuid LIMIT 1), 0)
FROM other_process WHERE NOT {is_server(name)};

-- name: ALLOCATIONS
SELECT api, bytes, duration_ns FROM call
WHERE api IN (SELECT id FROM api WHERE class = 'alloc') AND result = 0;

-- define: replayed
c.id, c.thread, c.api, c.start_ns, c.duration_ns, c.result, c.stream, c.context, c.object, c.bytes

-- name: REPLAY
-- All calls of processes of which the GPU's side is not known, or not all the time.
SELECT {replayed}, 0, h.id, h.start_ns, h.duration_ns
FROM call c LEFT JOIN host_function h ON h.call = c.id
WHERE c.thread IN (SELECT t.id FROM thread t JOIN process p ON p.id = t.process
    WHERE p.gpu IS NOT 'cupti' OR p.ended IS NULL OR p.id IN (SELECT process FROM gpu_change)
        OR EXISTS (SELECT 1 FROM loss l
        WHERE l.process = p.id AND l.what = 'GPU operation' AND l.class = 'last flush'))
ORDER BY c.start_ns, c.id;

-- name: REPLAY_LAST
-- A process's last calls, and whether what they put on the GPU is known to have ended: of an
-- operation that still runs, the last flush only says that it exists. 20000: how many rows back,
-- for there is no index.
SELECT {replayed}, c.id IN (
        SELECT call FROM (SELECT call, duration_ns FROM gpu_op ORDER BY id DESC LIMIT 20000)
        WHERE call IS NOT NULL AND duration_ns IS NOT NULL), h.id, h.start_ns, h.duration_ns
FROM (SELECT * FROM call ORDER BY id DESC LIMIT 20000) c JOIN thread t ON t.id = c.thread
    LEFT JOIN host_function h ON h.call = c.id
WHERE t.process = ?1
ORDER BY c.start_ns, c.id;

-- ---- the GPU's operations ----

-- name: HOST_FUNCTIONS
-- Those that ran between two times.
SELECT h.id, h.start_ns, h.duration_ns, h.call, h.process, coalesce(c.context, s.context), c.stream
FROM host_function h JOIN call c ON c.id = h.call LEFT JOIN stream s ON s.id = c.stream
WHERE h.start_ns <= ?2 AND h.start_ns + h.duration_ns >= ?1;

-- name: CALL_PLACE
SELECT c.stream, coalesce(c.context, s.context)
FROM call c LEFT JOIN stream s ON s.id = c.stream WHERE c.id = ?1;

-- name: CALL_START
SELECT start_ns, thread FROM call WHERE id = ?1;

-- name: JITS
SELECT start_ns, duration_ns FROM temp.stall_jit WHERE call = ?1;

-- ---- calls that have not returned ----

-- name: NOTE_KERNELS
-- The kernels of all calls so far, kept from look to look since calls have no index of them: only
-- those that came since the last time are read. Row 0 has the last of these.
CREATE TEMP TABLE IF NOT EXISTS used_kernel (kernel INTEGER PRIMARY KEY, call INTEGER);
INSERT OR IGNORE INTO temp.used_kernel (kernel, call) VALUES (0, 0);
INSERT OR IGNORE INTO temp.used_kernel (kernel)
    SELECT kernel FROM call WHERE kernel IS NOT NULL
        AND id > (SELECT call FROM temp.used_kernel WHERE kernel = 0);
UPDATE temp.used_kernel SET call = coalesce((SELECT max(id) FROM call), 0) WHERE kernel = 0;

-- name: FLIGHTS
-- The stream: 0 if it is not known, -1 if no call in it has returned.
SELECT f.rowid, t.id, f.start_ns, f.kernel, a.name, a.class, k.name,
    CASE WHEN f.stream_handle IS NULL THEN 0 ELSE coalesce((SELECT s.id FROM stream s
        WHERE s.process = f.process AND s.handle = f.stream_handle
            AND (s.thread IS NULL OR s.thread = t.id) ORDER BY s.id DESC LIMIT 1), -1) END,
    f.kernel > 0 AND f.kernel NOT IN (SELECT kernel FROM temp.used_kernel)
FROM flight f LEFT JOIN api a ON a.id = f.api LEFT JOIN kernel k ON k.id = f.kernel
    LEFT JOIN thread t ON t.process = f.process AND t.serial = f.thread_serial
WHERE f.process = ?1
ORDER BY f.start_ns, f.rowid;

-- name: CALL_KERNEL
-- What a call launched: a kernel, or a host function.
SELECT k.name, 0 FROM call c JOIN kernel k ON k.id = c.kernel WHERE c.id = ?1
UNION ALL
SELECT h.name, 1 FROM host_functions h WHERE h.call = ?1;

-- name: SET_FLIGHT
UPDATE flight SET blocked_by_thread = nullif(?2, 0), cause = ?3, confidence = 'inferred',
    state = nullif(?4, ''), advice = nullif(?5, '')
WHERE rowid = ?1;

-- ---- what was found ----

-- name: CALL_LOADS
SELECT load FROM temp.stall_load WHERE call = ?1 ORDER BY duration_ns DESC;

-- name: ADD_LOAD
INSERT OR REPLACE INTO load_wait (load, wait_ns, gpu_busy) VALUES (?, ?, ?);

-- name: ADD
INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, waited_for, blocked_by,
    drained_count, drained_ns, confidence, presumed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: ADD_OTHER
INSERT INTO stall_other (stall, process, other, did) VALUES (?, ?, ?, ?);

-- name: ADD_HOST
INSERT INTO stall_host (stall, host_function) VALUES (?, ?);

-- name: LOST_CAPTURES
-- The captures without a graph, and the first call that failed in each as calls do that lose a
-- capture. It may be another thread's. A capture that nobody ended is lost if there is such a call.
DROP TABLE IF EXISTS temp.capture_breaker;
CREATE TEMP TABLE capture_breaker (process INTEGER, start_ns INTEGER, call INTEGER);
INSERT INTO temp.capture_breaker
SELECT t.process, c.start_ns, c.id FROM {if_any(api WHERE begins_capture)} call c JOIN thread t ON t.id = c.thread
WHERE c.result IN (900, 902, 905, 906, 907)
    AND c.api NOT IN (SELECT id FROM api WHERE begins_capture OR ends_capture);
CREATE INDEX temp.capture_breaker_started ON capture_breaker (process, start_ns);
INSERT INTO lost_capture (begin_call, call, end_call)
SELECT id, broken_by, CASE WHEN next_begins = 0 THEN next END
FROM (
    SELECT *, (SELECT b.call FROM temp.capture_breaker b
        WHERE b.process = m.process AND b.start_ns BETWEEN m.start_ns AND m.next_ns
        ORDER BY b.start_ns LIMIT 1) AS broken_by
    FROM (
        SELECT id, process, start_ns, begins, lead(id) OVER marks AS next,
            lead(begins) OVER marks AS next_begins, lead(result) OVER marks AS next_result,
            lead(start_ns, 1, 9223372036854775807) OVER marks AS next_ns
        FROM ({capture_marks}) WINDOW marks AS (PARTITION BY stream ORDER BY start_ns, id)) m
    WHERE begins)
WHERE CASE WHEN next_begins = 0 THEN next_result <> 0 ELSE broken_by IS NOT NULL END;
DROP TABLE temp.capture_breaker;

-- ---- advice ----

-- define: base(file)
-- A file's name without its folders.
replace({file}, rtrim({file}, replace({file}, '/', '')), '')

-- name: EAGER_COST
-- What eager loading would cost at the start: what the lazy loads took, less their waits.
SELECT count(*), sum(c.duration_ns - w.wait_ns)
FROM load_wait w JOIN gpu_module m ON m.id = -w.load JOIN call c ON c.id = m.call
WHERE w.load < 0
    AND NOT EXISTS (SELECT 1 FROM temp.stall_load l WHERE l.call = m.call AND l.load > 0);

-- name: POOLS
-- What a process lost by pools that gave their memory back.
SELECT count(*), sum(s.wait_ns)
FROM stall s JOIN call c ON c.id = s.call JOIN thread t ON t.id = c.thread
WHERE s.cause = 'pool' AND t.process = ?1;

-- name: ARCHITECTURE
SELECT min(cc_major * 10 + cc_minor) FROM device WHERE process = ?1;

-- name: ENVIRONMENT
SELECT name, value FROM variable WHERE process = ?1;

-- name: IN_LIBRARY
SELECT 1 FROM call_stack s JOIN frame f ON f.stack = s.stack
WHERE s.call = ?1 AND f.library GLOB ?2 LIMIT 1;

-- name: LATE_KERNELS
SELECT k.name, count(*) FROM stall s JOIN call c ON c.id = s.call JOIN kernel k ON k.id = c.kernel
WHERE s.cause = 'lazy-load' AND k.process = ?1 AND k.name IS NOT NULL
GROUP BY k.name ORDER BY min(s.id);

-- name: LOADED
-- What a call loaded or unloaded.
SELECT kind, name, bytes, again, again_ns FROM (
    SELECT l.kind, l.name, l.bytes, g.count AS again, g.total_ns AS again_ns
    FROM temp.stall_load s JOIN load l ON l.id = s.load LEFT JOIN temp.stall_again g ON g.load = l.id
    WHERE s.call = ?1 AND s.load > 0 ORDER BY s.duration_ns DESC LIMIT 1)
UNION ALL
SELECT l.kind, l.name, l.bytes, 0, 0 FROM call_module m JOIN load l ON l.module = m.module
WHERE m.call = ?1 LIMIT 1;

-- name: PLACE
-- The line of a call's stack that can be changed (report/analyse/names/stack_text.h); without any,
-- the function.
SELECT coalesce(
    (SELECT coalesce({base(f.file)}, '') || ':' || f.line FROM frame f
        WHERE f.stack = cs.stack AND f.line IS NOT NULL AND NOT {is_system(f.kind, f.library)}
        ORDER BY f.kind = 'python' DESC, {is_of_others(f.kind, f.file, f.library)}, f.depth LIMIT 1),
    (SELECT gv_short_function(f.function) || coalesce(' in ' || {base(f.library)}, '') FROM frame f
        WHERE f.stack = cs.stack AND f.function IS NOT NULL AND NOT {is_system(f.kind, f.library)}
        ORDER BY f.depth LIMIT 1))
FROM call_stack cs WHERE cs.call = ?1;

-- name: NEW_CALLERS
-- Which line is to be moved when a load comes too late: not the one in a helper that makes all of
-- the program's loads, but its caller's. A frame is a helper's if the loads that came through it
-- were asked for from different lines. The frames are those from which PLACE chooses, innermost
-- first; "path" is all of them up to this one.
CREATE TEMP TABLE stall_path AS
    WITH framed AS (
        SELECT f.stack AS stack, f.depth AS depth, f.file AS file, f.line AS line,
            f.function AS function,
            CASE WHEN f.kind <> 'python' THEN 2 WHEN {in_package(f.file)} THEN 1 ELSE 0 END AS class
        FROM frame f
        WHERE f.line IS NOT NULL AND NOT {is_system(f.kind, f.library)}
            AND f.stack IN (SELECT s.stack FROM load l JOIN call_stack s ON s.call = l.call)),
    ranked AS (SELECT *, min(class) OVER (PARTITION BY stack) AS best FROM framed)
    SELECT stack, row_number() OVER inside AS level, function,
        {base(file)} || ':' || line AS place,
        group_concat(coalesce(file, '') || ':' || line, char(10)) OVER inside AS path
    FROM ranked WHERE class = best
    WINDOW inside AS (PARTITION BY stack ORDER BY depth ROWS UNBOUNDED PRECEDING);
CREATE INDEX temp.stall_path_level ON stall_path (stack, level);
CREATE TEMP TABLE stall_caller (stack INTEGER PRIMARY KEY, place TEXT);
INSERT OR IGNORE INTO temp.stall_caller
    SELECT o.stack, o.place || coalesce(' (through ' || gv_short_function(i.function) || ')', '')
    FROM temp.stall_path i JOIN temp.stall_path o ON o.stack = i.stack AND o.level = i.level + 1
    WHERE o.place IS NOT NULL AND i.path IN (
        SELECT p.path FROM temp.stall_path p
            JOIN temp.stall_path q ON q.stack = p.stack AND q.level = p.level + 1
        GROUP BY p.path HAVING count(DISTINCT q.path) > 1)
    ORDER BY o.stack, o.level;
DELETE FROM temp.stall_path;

-- name: CALLER
SELECT c.place FROM call_stack cs JOIN temp.stall_caller c ON c.stack = cs.stack WHERE cs.call = ?1;

-- name: NEW_BLOCKERS
-- The stalls among the calls that kept others out: a stall is not found by its call.
CREATE TEMP TABLE stall_blocker (call INTEGER PRIMARY KEY, cause TEXT);
INSERT OR IGNORE INTO temp.stall_blocker
    SELECT call, cause FROM stall WHERE call IN (SELECT blocked_by FROM stall WHERE blocked_by IS NOT NULL);

-- name: ADVISED
-- The columns are those of advised.def. Process by process, because what is known of a
-- process is read when it comes.
SELECT s.id, s.cause, s.jit_ns, a.name, k.name, t.process,
    (SELECT n.name FROM gpu_op o JOIN gpu_shape h ON h.id = o.shape JOIN gpu_name n ON n.id = h.name
        WHERE o.id = s.waited_for),
    (SELECT CASE o.kind WHEN 2 THEN 'a copy' WHEN 3 THEN 'a memory set' WHEN 4 THEN 'a graph' END
        FROM gpu_op o WHERE o.id = s.waited_for),
    (SELECT pk.name FROM call pc JOIN kernel pk ON pk.id = pc.kernel WHERE pc.id = s.presumed),
    (SELECT ba.name FROM call bc JOIN api ba ON ba.id = bc.api WHERE bc.id = s.blocked_by),
    (SELECT cause FROM temp.stall_blocker WHERE call = s.blocked_by),
    s.drained_count, s.call, s.blocked_by,
    s.confidence = 'inferred' AND (SELECT ptx FROM temp.stall_code p WHERE p.call = s.call),
    coalesce(op.pid, os.pid), coalesce(op.name, os.program), ox.did, h.name, h.duration_ns, h.call
FROM stall s JOIN call c ON c.id = s.call LEFT JOIN api a ON a.id = c.api
    LEFT JOIN kernel k ON k.id = c.kernel LEFT JOIN thread t ON t.id = c.thread
    LEFT JOIN stall_other ox ON ox.stall = s.id LEFT JOIN process os ON os.id = ox.process
    LEFT JOIN other_process op ON op.id = ox.other
    LEFT JOIN stall_host x ON x.stall = s.id LEFT JOIN host_functions h ON h.id = x.host_function
WHERE s.expected = 0 AND s.cause <> 'unknown'
ORDER BY t.process, s.id;

-- name: ADD_TEXT
INSERT OR IGNORE INTO stall_advice (text) VALUES (?1);

-- name: FIND_TEXT
SELECT id FROM stall_advice WHERE text = ?1;

-- name: SET_ADVICE
UPDATE stall SET advice = ?1 WHERE id = ?2;

-- name: SET_ADVICE_OF_UNKNOWN
UPDATE stall SET advice = ?1 WHERE cause = 'unknown';
