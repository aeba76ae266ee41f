-- What metrics are made of: rows of the table metric_sum, a row for each kind and pair of labels.

-- define: columns
kind TEXT NOT NULL, one TEXT NOT NULL, two TEXT NOT NULL, count INTEGER, ns INTEGER,
    PRIMARY KEY (kind, one, two)

-- define: union_of(rows, carried)
-- rows: device, start_ns, end_ns. Time in which several of them overlap counts once. carried: until when all
-- counts already.
SELECT device, sum(end_ns - from_ns) AS ns
FROM (SELECT device, max(start_ns, coalesce(before_ns, start_ns), coalesce({carried}, start_ns)) AS from_ns, end_ns
    FROM (SELECT device, start_ns, end_ns, max(end_ns) OVER (PARTITION BY device ORDER BY start_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns FROM {rows}) spans)
WHERE end_ns > from_ns GROUP BY device

-- define: unit
-- The same GPU has one name in all processes.
(SELECT p.id AS place, p.process, coalesce(d.uuid, 'process ' || p.process || ' device ' || p.device) AS device
    FROM gpu_place p LEFT JOIN device d ON d.process = p.process AND d.device = p.device)

-- define: operations
(SELECT u.device, o.start_ns, o.start_ns + o.duration_ns AS end_ns
    FROM gpu_op o JOIN temp.metric_unit u ON u.place = o.place WHERE o.start_ns + o.duration_ns > o.start_ns)

-- define: seen_times(until)
(SELECT DISTINCT u.device, r.start_ns, coalesce(r.end_ns, {until}) AS end_ns
    FROM recording r JOIN temp.metric_unit u ON u.process = r.process
    WHERE r.side = 'gpu' AND r.gpu IN ('seen', 'operations'))

-- define: work
CASE a.gpu_work WHEN 1 THEN 'kernel' WHEN 2 THEN 'graph' ELSE 'copy or set' END

-- define: added(until, carried)
-- What a part of a run adds to a sum. Each label is at most 200 bytes.
(SELECT 'recorded' AS kind, '' AS one, '' AS two, 0 AS count, sum(coalesce(end_ns, {until}) - start_ns) AS ns
FROM recording WHERE side = 'calls' AND start_ns IS NOT NULL
UNION ALL SELECT 'seen', gv_label(device), '', 0, ns FROM ({union_of({seen_times({until})}, NULL)})
UNION ALL SELECT 'busy', gv_label(device), '', 0, ns FROM ({union_of({operations}, {carried})})
UNION ALL SELECT 'idle', gv_label(reason), '', sum(gaps), sum(duration_ns) FROM idle GROUP BY reason
UNION ALL SELECT 'stall', gv_label(x.cause), gv_label(coalesce(nullif(gv_where(x.stack), ''), '?')), count(*),
    sum(x.wait_ns + x.jit_ns)
FROM (SELECT cause, stack, wait_ns, jit_ns, call FROM stalls WHERE NOT expected) x JOIN call c ON c.id = x.call
GROUP BY x.cause, x.stack
UNION ALL SELECT 'call', gv_label(a.class), '', c.count, c.ns FROM temp.metric_call c JOIN api a ON a.id = c.api
UNION ALL SELECT 'launch', {work}, '',
    c.count, c.ns
FROM temp.metric_call c JOIN api a ON a.id = c.api AND a.gpu_work IN (1, 2, 3) WHERE NOT c.failed
UNION ALL SELECT 'failed', gv_label(a.class), '', c.count, c.ns FROM temp.metric_call c JOIN api a ON a.id = c.api
WHERE c.failed
UNION ALL SELECT 'load', gv_label(kind), '', count(*), sum(duration_ns) FROM loads GROUP BY kind)

-- define: older
-- Of older time (GPUVERIFY_KEEP), sums by minute have no line, and only the time in which any GPU was seen.
(WITH old AS (SELECT w.name AS what, n.text AS name, o.process, sum(o.count) AS count, sum(o.total_ns) AS ns
    FROM older o JOIN minute_what w ON w.id = o.what JOIN older_name n ON n.id = o.name GROUP BY 1, 2, 3)
SELECT what AS kind, CASE what WHEN 'recorded' THEN '' ELSE gv_label(name) END AS one,
    CASE what WHEN 'stall' THEN 'older' ELSE '' END AS two, count, ns
FROM old WHERE what IN ('busy', 'idle', 'stall', 'load') OR what = 'recorded' AND name = 'calls' AND process <> 0
UNION ALL SELECT 'seen', gv_label(b.name), '', 0, r.ns FROM (SELECT DISTINCT name FROM old WHERE what = 'busy') b
    JOIN old r ON r.what = 'recorded' AND r.name = 'gpu' AND r.process = 0
UNION ALL SELECT 'call', gv_label(coalesce(a.class, 'others')), '', s.count, s.ns
FROM old s LEFT JOIN (SELECT name, min(class) AS class FROM api GROUP BY name) a ON a.name = s.name WHERE s.what = 'call'
UNION ALL SELECT 'launch', {work}, '', s.count, s.ns
FROM old s JOIN (SELECT name, min(gpu_work) AS gpu_work FROM api GROUP BY name) a ON a.name = s.name
WHERE s.what = 'call' AND a.gpu_work IN (1, 2, 3))

-- define: analysed(until)
(SELECT 'analysed' AS kind, '' AS one, '' AS two, 0 AS count,
    coalesce((SELECT value FROM meta WHERE key = 'start_unix_ns'), 0) + {until} AS ns)

-- define: present
-- What the trace says of the whole run until now.
(SELECT 'run' AS kind, gv_label((SELECT value FROM meta WHERE key = 'program')) AS one,
    gv_label((SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM device ORDER BY name LIMIT 16))) AS two,
    1 AS count, 0 AS ns
UNION ALL SELECT 'running', '', '', count(*), 0 FROM process WHERE ended IS NULL
UNION ALL SELECT 'lost', gv_label(what), '', sum(count), 0 FROM losses GROUP BY what
UNION ALL SELECT 'cost', gv_label(what), '', 0, sum(total_ns) FROM own_cost GROUP BY what)

-- define: bounded(rows, limit)
-- The labels of a kind with the smallest values become 'others', so that names cannot become many series.
(SELECT kind, CASE WHEN rank <= {limit} THEN one ELSE 'others' END AS one,
    CASE WHEN rank <= {limit} OR two = '' THEN two ELSE 'others' END AS two, count, ns
FROM (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY ns DESC, count DESC, one, two) AS rank
    FROM (SELECT kind, coalesce(one, '') AS one, coalesce(two, '') AS two, max(0, sum(count)) AS count,
        max(0, sum(ns)) AS ns FROM ({rows}) GROUP BY 1, 2, 3)))

-- define: last_ns
coalesce((SELECT start_ns + duration_ns FROM call ORDER BY id DESC LIMIT 1), 0)

-- define: prepare
CREATE TEMP TABLE metric_unit AS SELECT * FROM {unit};
CREATE TEMP TABLE metric_call AS
SELECT c.api, {is_failure(a.class, coalesce(c.result, 0))} AS failed, sum(coalesce(f.count, 1)) AS count, sum(c.duration_ns) AS ns
FROM call c LEFT JOIN call_fold f ON f.call = c.id LEFT JOIN api a ON a.id = c.api GROUP BY 1, 2

-- define: all_of(rows)
SELECT kind, one, two, coalesce(sum(count), 0) AS count, coalesce(sum(ns), 0) AS ns FROM {rows} WHERE true GROUP BY 1, 2, 3

-- name: once
{prepare};
CREATE TEMP TABLE metric_sum ({columns});
INSERT INTO temp.metric_sum {all_of({bounded((SELECT * FROM {added({last_ns}, NULL)} UNION ALL SELECT * FROM {older}), 200)})};
INSERT INTO temp.metric_sum {all_of({bounded({present}, 200)})};
INSERT INTO temp.metric_sum SELECT * FROM {analysed({last_ns})};

-- name: read
SELECT kind, one, two, count, ns FROM metric_sum ORDER BY one, two;

-- Of a running session, the sums of pieces of its trace are added up in a database of their own, "result"
-- (report/collect/keep_fold.h; keep_fold.sql says what the parameters are).

-- name: make_state
CREATE TABLE IF NOT EXISTS metric_sum ({columns});
CREATE TABLE IF NOT EXISTS busy_until (device TEXT PRIMARY KEY, ns INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS fact (key TEXT PRIMARY KEY, value INTEGER);
CREATE TABLE IF NOT EXISTS older_row (what INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (what, id));

-- name: open_state
PRAGMA result.synchronous = OFF;
CREATE TABLE IF NOT EXISTS result.stack AS SELECT * FROM main.stack WHERE 0;
CREATE TABLE IF NOT EXISTS result.frame AS SELECT * FROM main.frame WHERE 0;
CREATE UNIQUE INDEX IF NOT EXISTS result.frame_of ON frame (stack, depth);

-- name: copy_stay
-- What earlier pieces left for later ones: calls and operations before those of this piece. ?1, ?2: the first call
-- and operation that were copied.
INSERT INTO main.call SELECT * FROM trace.call
WHERE id IN (SELECT id FROM result.older_row WHERE what = 1 AND id < ?1);
INSERT INTO main.call_object SELECT * FROM trace.call_object
WHERE call IN (SELECT id FROM result.older_row WHERE what = 1 AND id < ?1);
INSERT INTO main.call_module SELECT * FROM trace.call_module
WHERE call IN (SELECT id FROM result.older_row WHERE what = 1 AND id < ?1);
INSERT INTO main.gpu_op SELECT * FROM trace.gpu_op
WHERE id IN (SELECT id FROM result.older_row WHERE what = 2 AND id < ?2);

-- name: stacks_next
SELECT coalesce(max(rowid), 0) FROM result.stack;

-- name: copy_stacks
-- The next 256 ones after ?1.
INSERT INTO result.stack (rowid, id, process, number) SELECT id, id, process, number FROM trace.stack
WHERE id > ?1 ORDER BY id LIMIT 256;
INSERT OR IGNORE INTO result.frame SELECT * FROM trace.frame
WHERE stack > ?1 AND stack <= (SELECT max(rowid) FROM result.stack);

-- name: use_stacks
-- Those of this piece.
INSERT INTO main.stack SELECT * FROM result.stack;
INSERT INTO main.frame SELECT * FROM result.frame WHERE stack IN (
    SELECT stack FROM main.call_stack UNION SELECT stack FROM main.idle_sample UNION SELECT other_stack FROM main.idle_sample
    UNION SELECT s.id FROM main.host_function h JOIN main.stack s ON s.process = h.process AND s.number = h.stack);

-- define: upsert
ON CONFLICT (kind, one, two) DO UPDATE SET

-- name: leave_trace
INSERT INTO result.metric_sum {all_of({bounded({present}, 200)})}
{upsert} count = CASE WHEN kind = 'running' THEN excluded.count ELSE max(count, excluded.count) END,
    ns = max(ns, excluded.ns);
DELETE FROM result.older_row;
DETACH trace;
CREATE TEMP TABLE unnamed AS SELECT stack, depth FROM main.frame WHERE function IS NULL AND object IS NOT NULL;

-- name: add
-- A new series only if there is room for it; or else it counts as 'others'.
{prepare};
CREATE TEMP TABLE metric_added AS SELECT * FROM
{bounded({added(?2, (SELECT b.ns FROM result.busy_until b WHERE b.device = spans.device))}, 200)};
BEGIN IMMEDIATE;
INSERT INTO result.metric_sum
SELECT kind, CASE WHEN fits THEN one ELSE 'others' END, CASE WHEN fits OR two = '' THEN two ELSE 'others' END,
    coalesce(sum(count), 0), coalesce(sum(ns), 0)
FROM (SELECT a.*, s.kind IS NOT NULL OR row_number() OVER (PARTITION BY a.kind, s.kind IS NULL ORDER BY a.ns DESC)
        <= 200 - (SELECT count(*) FROM result.metric_sum m WHERE m.kind = a.kind) AS fits
    FROM temp.metric_added a LEFT JOIN result.metric_sum s ON s.kind = a.kind AND s.one = a.one AND s.two = a.two)
WHERE true GROUP BY 1, 2, 3
{upsert} count = count + excluded.count, ns = ns + excluded.ns;
INSERT INTO result.metric_sum SELECT * FROM {analysed(?2)} WHERE true {upsert} ns = max(ns, excluded.ns);
INSERT INTO result.busy_until SELECT device, max(end_ns) FROM {operations} WHERE true GROUP BY 1
ON CONFLICT (device) DO UPDATE SET ns = max(ns, excluded.ns);
INSERT OR REPLACE INTO result.frame
SELECT f.stack, f.depth, f.kind, f.function, f.library, f.file, f.line, f.address, NULL
FROM temp.unnamed u JOIN main.frame f ON f.stack = u.stack AND f.depth = u.depth;
INSERT OR REPLACE INTO result.fact VALUES ('from_ns', ?2), ('from_call', ?8), ('from_op', ?9), ('from_load', ?10);
COMMIT;

-- name: facts
SELECT (SELECT value FROM fact WHERE key = 'from_ns'), (SELECT value FROM fact WHERE key = 'from_call'),
    (SELECT value FROM fact WHERE key = 'from_op'), (SELECT value FROM fact WHERE key = 'from_load')
WHERE EXISTS (SELECT 1 FROM fact);

-- name: skip
-- ?1: how much.
INSERT INTO metric_sum VALUES ('skipped', '', '', 0, ?1) {upsert} ns = ns + excluded.ns;

-- name: now
-- Of a trace: when it ends; since when it counts, by the clock; the first call, operation and load that are not
-- there yet; its schema; whether one of its processes has not ended.
SELECT CASE WHEN (SELECT value FROM meta WHERE key = 'state') = 'complete'
        THEN 1 + max(coalesce((SELECT max(end_ns) FROM process), 0), {last_ns}) END,
    (SELECT value FROM meta WHERE key = 'start_unix_ns'),
    1 + coalesce((SELECT max(id) FROM call), 0), 1 + coalesce((SELECT max(id) FROM gpu_op), 0),
    1 + coalesce((SELECT max(id) FROM load), 0);
