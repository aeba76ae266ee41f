-- name: open_captured
-- The captures of the process ?1, or of all (0), as temp.capture. Captures of several streams at a time are rare:
-- who waits joins the last one.
DROP TABLE IF EXISTS temp.capture;
-- Integers by declaration: an index does not help to compare a column without a type.
CREATE TEMP TABLE capture (process INTEGER, stream INTEGER, start_ns INTEGER, end_ns INTEGER);
INSERT INTO temp.capture
SELECT process, stream, CASE WHEN begins THEN start_ns ELSE -9223372036854775807 END,
    CASE WHEN begins THEN next_ns ELSE end_ns END
FROM (
    SELECT process, stream, start_ns, end_ns, begins,
        lead(end_ns, 1, 9223372036854775807) OVER marks AS next_ns,
        lag(begins, 1, 0) OVER marks AS begun
    FROM ({capture_marks} AND ?1 IN (0, t.process))
    WINDOW marks AS (PARTITION BY process, stream ORDER BY start_ns))
WHERE begins OR NOT begun;
CREATE INDEX temp.capture_started ON capture (process, start_ns);
INSERT INTO temp.capture
SELECT process, stream, start_ns, end_ns
FROM (
    SELECT t.process AS process, c.stream AS stream, c.start_ns AS start_ns, (SELECT k.end_ns FROM temp.capture k
        WHERE k.process = t.process AND k.start_ns <= c.start_ns ORDER BY k.start_ns DESC LIMIT 1) AS end_ns
    FROM call c JOIN thread t ON t.id = c.thread
    WHERE EXISTS (SELECT 1 FROM temp.capture) AND ?1 IN (0, t.process) AND c.stream IS NOT NULL
        AND c.result = 0
        AND c.api IN (SELECT id FROM api WHERE awaits_event))
WHERE end_ns >= start_ns;
CREATE INDEX temp.capture_stream ON capture (process, stream, start_ns);

-- name: close_captured
DROP TABLE IF EXISTS temp.capture;
DROP TABLE IF EXISTS temp.captured;

-- define: has_unseen_end(process)
-- It was killed, or still runs, and CUPTI had not returned all.
({process}.ended IS NULL OR {process}.id IN (SELECT process FROM loss
    WHERE what = 'GPU operation' AND class = 'last flush' AND count > 0))

-- name: next
-- The next process of which operations are missing, or may be: ?1 is the one before.
SELECT id FROM process p
WHERE id > ?1 AND (gpu = 'cupti' AND {has_unseen_end(p)} OR id IN (SELECT process FROM gpu_change))
ORDER BY id LIMIT 1;

-- define: never
9223372036854775807

-- define: part(at)
-- The part of the run of the process ?1 that a time is in, by the next change of what is seen.
CASE WHEN EXISTS (SELECT 1 FROM gpu_change WHERE process = ?1) THEN coalesce((SELECT min(at_ns)
    FROM gpu_change WHERE process = ?1 AND at_ns > {at}), {never}) ELSE {never} END

-- define: has_no_gpu_side
EXISTS (SELECT 1 FROM process WHERE id = ?1 AND gpu <> 'cupti')

-- define: unseen
-- The times of struct gv_gpu_unseen, and when what is seen changed again; in the last one, which no
-- change began, never. The last operations of a part are missing too: when the first was launched,
-- and since when it can have run.
-- What was launched before the GPU's side was on is not missing, nor are graphs of which each node
-- is recorded; only what is behind the last operation that was
-- seen of its stream. Operations of a stream run in their order: the first that is missing did not
-- begin before the last one seen had ended. And when one begins that is seen again, those that are
-- not seen have ended.
WITH change AS (
    SELECT at_ns, gpu, lead(at_ns, 1, {never}) OVER changes AS next_ns,
        lead(at_ns, 2, {never}) OVER changes AS later_ns
    FROM gpu_change WHERE process = ?1 WINDOW changes AS (ORDER BY at_ns)),
again AS (
    SELECT {part(start_ns)} AS part, min(start_ns) AS at_ns
    FROM (SELECT start_ns FROM gpu_op
        WHERE place IN (SELECT id FROM gpu_place WHERE process = ?1) AND duration_ns IS NOT NULL
            AND NOT {has_no_gpu_side}
        -- A stop without a GPU side: until the next work.
        UNION ALL SELECT start_ns FROM call WHERE thread IN (SELECT id FROM thread WHERE process = ?1)
            AND api IN (SELECT id FROM api WHERE gpu_work > 0) AND {has_no_gpu_side})
    WHERE EXISTS (SELECT 1 FROM change)
    GROUP BY 1),
seen AS (
    SELECT {part(c.start_ns)} AS part, c.stream AS stream, max(c.start_ns) AS last_ns,
        max(o.start_ns + o.duration_ns) AS end_ns
    FROM gpu_op o JOIN call c ON c.id = o.call JOIN thread t ON t.id = c.thread
    WHERE t.process = ?1 GROUP BY 1, 2),
last AS (
    SELECT c.part AS part, min(c.start_ns) AS launched_ns,
        min(max(c.start_ns, coalesce(s.end_ns, c.start_ns))) AS known_ns
    FROM (SELECT {part(start_ns)} AS part, stream, start_ns FROM call
        WHERE thread IN (SELECT id FROM thread WHERE process = ?1)
            AND correlation IS NOT NULL AND result = 0 AND coalesce(bytes, 1) > 0 AND NOT {has_no_gpu_side}
            AND start_ns >= coalesce((SELECT start_ns FROM gpu_interval WHERE process = ?1), start_ns)
            AND api IN (SELECT id FROM api WHERE gpu_work NOT IN (0, CASE WHEN EXISTS
                (SELECT 1 FROM meta WHERE key = 'graphs' AND value = 'nodes') THEN 2 ELSE 0 END))) c
        LEFT JOIN seen s ON s.part = c.part AND s.stream IS c.stream
    WHERE c.start_ns > coalesce(s.last_ns, -1)
        AND NOT {is_captured(c)}
    GROUP BY 1)
SELECT min(k.at_ns, coalesce(l.launched_ns, k.at_ns)) AS launched_ns,
    CASE k.gpu WHEN 'operations' THEN k.next_ns
        ELSE min(k.at_ns, coalesce(l.known_ns, k.at_ns)) END AS known_ns,
    CASE k.gpu WHEN 'operations' THEN k.next_ns ELSE coalesce(a.at_ns, k.later_ns) END AS until_ns,
    k.next_ns AS changed_ns, k.gpu = 'stopped' AS stopped
FROM change k LEFT JOIN last l ON l.part = k.at_ns
    LEFT JOIN again a ON a.part = k.later_ns AND k.next_ns < {never}
WHERE k.gpu <> 'seen'
UNION ALL SELECT launched_ns, known_ns, {never}, NULL, 0 FROM last
WHERE part = {never} AND EXISTS (SELECT 1 FROM process p WHERE p.id = ?1 AND {has_unseen_end(p)})
ORDER BY until_ns

-- name: unseen
{unseen};

-- name: changes
SELECT EXISTS (SELECT 1 FROM gpu_change WHERE process = ?1);

-- name: capture_changes
-- What is launched in the times that another profiler began leaves no operation either.
INSERT INTO temp.capture
SELECT ?1, NULL, launched_ns, changed_ns FROM ({unseen}) WHERE changed_ns IS NOT NULL;

-- name: count
-- What was launched by the process ?1 and never seen, as losses. ?2: when the GPU side began; ?3:
-- its last flush; ?4: it ended normally; ?5: graphs were recorded whole. Operations without a call,
-- and lost records, may belong to any launch; if lost calls may have begun a capture, nothing
-- counts as missing.
-- The times in which any stream was captured, disjoint.
CREATE TEMP TABLE captured AS
SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM (
    SELECT start_ns, end_ns, sum(apart) OVER (ORDER BY start_ns, end_ns) AS number
    FROM (
        SELECT start_ns, end_ns, coalesce(start_ns > max(end_ns) OVER (ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS apart
        FROM temp.capture))
GROUP BY number;
CREATE INDEX temp.captured_start ON captured (start_ns);
-- The calls with an operation: rows of a table of integers are found faster than those of a query.
CREATE TEMP TABLE seen (call INTEGER PRIMARY KEY);
INSERT OR IGNORE INTO temp.seen SELECT call FROM gpu_op
WHERE call IS NOT NULL AND place IN (SELECT id FROM gpu_place WHERE process = ?1);
WITH launched AS (
    SELECT a.gpu_work AS work, ?4 AND c.start_ns + c.duration_ns < ?3 AS in_time
    FROM call c JOIN api a ON a.id = c.api
    WHERE c.thread IN (SELECT id FROM thread WHERE process = ?1) AND c.result = 0
        AND coalesce(c.bytes, 1) > 0 AND c.start_ns >= ?2
        AND (a.gpu_work = 1 OR a.gpu_work = 2 AND ?5 OR a.gpu_work = 3 AND c.correlation IS NOT NULL)
        AND c.id NOT IN (SELECT call FROM temp.seen)
        AND coalesce((SELECT k.end_ns FROM temp.captured k
            WHERE k.start_ns <= c.start_ns + c.duration_ns ORDER BY k.start_ns DESC LIMIT 1)
            < c.start_ns, 1)),
counted AS (
    SELECT count(CASE WHEN in_time AND work <> 3 THEN 1 END) AS missing,
        count(CASE WHEN NOT in_time THEN 1 END) AS late
    FROM launched),
known AS (
    SELECT coalesce(sum(CASE WHEN what <> 'call' THEN count END), 0) + (SELECT count(*) FROM gpu_op
            WHERE call IS NULL AND kind IN (1, 4) AND graph_node IS NULL
                AND (SELECT gpu FROM gpu_change WHERE process = ?1 AND at_ns <= gpu_op.start_ns
                    ORDER BY at_ns DESC LIMIT 1) IS NOT 'operations'
                AND place IN (SELECT id FROM gpu_place WHERE process = ?1)) AS lost,
        coalesce(max(what <> 'GPU record' AND class = 'stream'), 0) AS may_capture
    FROM loss WHERE process = ?1 AND what IN ('GPU record', 'record', 'call') AND count > 0)
INSERT OR REPLACE INTO loss (process, what, class, count)
SELECT ?1, 'GPU record', 'missing', missing - lost FROM counted, known
WHERE missing > lost AND NOT may_capture
UNION ALL SELECT ?1, 'GPU operation', 'last flush', late - max(0, lost - missing) FROM counted, known
WHERE late > max(0, lost - missing);
DROP TABLE temp.seen;
