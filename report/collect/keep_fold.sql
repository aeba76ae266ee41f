-- What a fold reads and writes. main: the piece, with the schema of a trace. trace: the trace. result: what the
-- collector stores. ?1, ?2: the piece's time; ?3: its first call; ?4: the margin.

-- name: open_piece
-- A database that is gone with its process.
PRAGMA synchronous = OFF;
PRAGMA cache_size = -8192;
PRAGMA temp_store = FILE;
PRAGMA trusted_schema = OFF;

-- name: open_result
PRAGMA result.synchronous = OFF;
CREATE TABLE result.minute (minute INTEGER, process INTEGER, what TEXT, name TEXT, count INTEGER,
    total_ns INTEGER, max_ns INTEGER, bytes INTEGER);
CREATE TABLE result.older_row AS SELECT * FROM main.older_row WHERE 0;
CREATE TABLE result.older_stall AS SELECT * FROM main.older_stall WHERE 0;
CREATE TABLE result.older_ledger AS SELECT * FROM main.older_ledger WHERE 0;
CREATE TABLE result.frame AS SELECT * FROM main.frame WHERE 0;
CREATE TABLE result.fact (key TEXT PRIMARY KEY, value INTEGER);

-- name: calls_next
-- The first call from ?1 on, before ?2.
SELECT coalesce(min(id), 0) FROM trace.call WHERE id >= ?1 AND id < ?2;

-- name: copy_calls
-- Rows ?1 to ?2 that began before ?3.
INSERT INTO main.call SELECT * FROM trace.call WHERE id BETWEEN ?1 AND ?2 AND start_ns < ?3;

-- name: ops_next
SELECT coalesce(min(id), 0) FROM trace.gpu_op WHERE id >= ?1 AND id < ?2;

-- name: copy_ops
INSERT INTO main.gpu_op SELECT * FROM trace.gpu_op o WHERE id BETWEEN ?1 AND ?2
    AND CASE WHEN start_ns IS NULL THEN EXISTS (SELECT 1 FROM main.call WHERE id = o.call)
        ELSE start_ns < ?3 END;

-- name: copy_others
-- What began before ?1.
INSERT INTO main.stack SELECT * FROM trace.stack;
INSERT INTO main.frame SELECT * FROM trace.frame;
INSERT INTO main.load SELECT * FROM trace.load WHERE start_ns < ?1;
INSERT INTO main.gpu_sample SELECT * FROM trace.gpu_sample WHERE start_ns < ?1;
INSERT INTO main.jit SELECT * FROM trace.jit WHERE start_ns < ?1;
INSERT INTO main.overhead SELECT * FROM trace.overhead WHERE start_ns < ?1;
INSERT INTO main.gpu_module SELECT * FROM trace.gpu_module WHERE at_ns < ?1;
INSERT INTO main.host_function SELECT * FROM trace.host_function WHERE coalesce(start_ns, 0) < ?1;
INSERT INTO main.idle_sample SELECT * FROM trace.idle_sample WHERE at_ns < ?1;
INSERT INTO main.idle_sample_cpu SELECT * FROM trace.idle_sample_cpu WHERE sample IN (SELECT id FROM main.idle_sample);

-- name: leave_trace
-- The analysis locks what is attached. The first minute of which the sums stay, if they are more than ?5.
INSERT INTO result.fact SELECT 'older_from', minute FROM trace.older
WHERE ?5 > 0 AND (SELECT count(*) FROM trace.older) > ?5
ORDER BY minute LIMIT 1 OFFSET ?5 / 8;
DETACH trace;
CREATE TEMP TABLE unnamed AS SELECT stack, depth FROM main.frame WHERE function IS NULL;

-- name: begin_piece
-- To the analysis, the piece is a trace: it begins when the processes began, and ends with the margin. ?1: that
-- end.
DELETE FROM main.meta WHERE key IN ('full_from_ns', 'state');
INSERT INTO main.meta (key, value) VALUES ('state', 'complete');
DELETE FROM main.gpu_change WHERE at_ns >= ?1
    OR process IN (SELECT process FROM main.recording_change WHERE number = 0)
        AND EXISTS (SELECT 1 FROM main.recording_change c
            WHERE c.process = gpu_change.process AND c.number < 0 AND c.at_ns = gpu_change.at_ns);
DELETE FROM main.recording_change WHERE process IN (SELECT process FROM main.recording_change
        WHERE number = 0)
    AND number <= 0 OR at_ns >= ?1;
DELETE FROM main.process WHERE start_ns >= ?1;
UPDATE main.process SET end_ns = ?1, ended = 'exit' WHERE coalesce(end_ns, ?1) >= ?1;
UPDATE main.gpu_interval SET end_ns = min(coalesce(end_ns, ?1), ?1);
DELETE FROM main.loss WHERE class = 'last flush';

-- name: stack_calls
-- Whose stacks stand for a line.
SELECT DISTINCT stack FROM main.call_stack;

-- name: find_stay
-- What later calls need: calls that are followed while recording is stopped, but not what was freed or
-- unloaded again; the first use of each kernel; and the last call of each function, and the last operation
-- of each stream, from which idle time is counted.
CREATE TEMP TABLE stay AS
SELECT 1 AS what, id FROM (
    SELECT c.id, a.memory, lead(a.memory) OVER (PARTITION BY t.process, a.memory BETWEEN 1 AND 5, c.object
            ORDER BY c.start_ns, c.id) AS next
    FROM main.call c JOIN main.api a ON a.id = c.api JOIN main.thread t ON t.id = c.thread
    WHERE c.api IN (SELECT api FROM temp.followed) AND c.start_ns < ?2 - ?4
        AND NOT EXISTS (SELECT 1 FROM main.call_module m JOIN main.module l ON l.id = m.module
            WHERE m.call = c.id AND l.unloaded_ns < ?2 - ?4))
WHERE memory IS NOT 5 AND NOT (memory BETWEEN 1 AND 4 AND next IS 5)
ORDER BY id DESC LIMIT 20000;
INSERT INTO temp.stay SELECT 1, id FROM (SELECT id, min(start_ns) FROM main.call
    WHERE kernel IS NOT NULL AND start_ns < ?2 - ?4 GROUP BY kernel) ORDER BY id DESC LIMIT 20000;
INSERT INTO temp.stay SELECT 1, max(c.id) FROM main.call c JOIN main.thread t ON t.id = c.thread
    WHERE c.start_ns < ?2 - ?4 GROUP BY t.process, c.api;
INSERT INTO temp.stay SELECT 2, id FROM (SELECT id, max(start_ns) FROM main.gpu_op
    WHERE start_ns < ?2 - ?4 GROUP BY place);
INSERT INTO temp.stay SELECT 1, call FROM main.gpu_op WHERE call IS NOT NULL
    AND id IN (SELECT id FROM temp.stay WHERE what = 2);
INSERT INTO result.older_row SELECT DISTINCT what, id FROM temp.stay;

-- name: cut
-- Leaves what counts in this fold.
DELETE FROM main.call WHERE start_ns >= ?2 OR start_ns < ?1 AND id < ?3;
DELETE FROM main.gpu_op WHERE start_ns IS NULL OR start_ns >= ?2 OR start_ns < ?1;
DELETE FROM main.load WHERE start_ns >= ?2 OR start_ns < ?1;
DELETE FROM main.process WHERE start_ns >= ?2 OR end_ns <= ?1;
UPDATE main.process SET start_ns = max(start_ns, ?1), end_ns = min(end_ns, ?2);
UPDATE main.gpu_interval SET start_ns = max(start_ns, ?1), end_ns = min(end_ns, ?2);
UPDATE main.recording_change SET at_ns = max(?1, min(?2, at_ns));
DELETE FROM main.gpu_change WHERE at_ns >= ?2 OR EXISTS (SELECT 1 FROM main.gpu_change n
    WHERE n.process = gpu_change.process AND n.at_ns > gpu_change.at_ns AND n.at_ns <= ?1);
UPDATE main.gpu_change SET at_ns = max(at_ns, ?1);

-- name: sum
-- Sums of all names of a minute would not stay small: the last ones are one row. The view sorts several times at
-- once, each time with as much memory as the cache may have.
PRAGMA main.cache_size = -2048;
INSERT INTO result.older_ledger (minute, process, device, what, file, line, function, claimed_file, claimed_line, claimed_function,
    total_ns, count, error_ns, first_half_ns, confidence)
SELECT minute, process, device, what, file, line, function, claimed_by_file, claimed_by_line, claimed_by_function,
    total_ns, count, error_ns, first_half_ns, confidence FROM main.ledger_minutes;
INSERT INTO result.minute
SELECT minute, process, what, CASE WHEN rank <= 40 THEN name ELSE 'others' END AS shown, sum(count),
    sum(total_ns), max(max_ns), sum(bytes)
FROM (SELECT *, minute_ns / 60000000000 AS minute, row_number() OVER (PARTITION BY minute_ns, process, what
        ORDER BY total_ns DESC) AS rank
    FROM main.minutes WHERE minute_ns < ?2)
GROUP BY minute, process, what, shown;
INSERT INTO result.older_stall
SELECT NULL, x.process, x.thread, c.api, c.kernel, x.start_ns, x.duration_ns, x.cause, x.wait_ns, x.work_ns,
    x.jit_ns, x.confidence, x.stack, x.advice
FROM main.stalls x JOIN main.call c ON c.id = x.call
WHERE NOT x.expected
ORDER BY x.wait_ns + x.jit_ns DESC LIMIT 20000;
-- The stacks for whose frames names were found, with those of inlined functions, which move others outwards.
INSERT INTO result.frame SELECT * FROM main.frame WHERE kind <> 'python' AND stack IN
    (SELECT u.stack FROM temp.unnamed u JOIN main.frame f ON f.stack = u.stack AND f.depth = u.depth
    WHERE f.function IS NOT NULL);
