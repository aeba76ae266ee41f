-- What finding the steps reads and writes. ?1 to ?4 are a struct gv_totals_part.

-- name: roles
-- enum gv_step_role + 1, whether it launches a kernel, and whether it begins a capture (1) or ends one (2). A role of
-- -1: it makes a graph that can be launched, of another one.
SELECT id, CASE WHEN class = 'graph' AND id IN (SELECT c.api FROM call_object o JOIN call c ON c.id = o.call) THEN -1 WHEN class = 'sync' THEN 4 WHEN coalesce(gpu_work, 0) = 0 THEN 0 WHEN gpu_work = 2 THEN 3
    WHEN kind = 'copy' THEN 5 WHEN class = 'copy' THEN 2 ELSE 1 END, gpu_work = 1,
    coalesce(begins_capture, 0) + 2 * coalesce(ends_capture, 0)
FROM api;

-- name: names
-- The first kernel of the same name: a loop may compile its kernels again each time.
SELECT id, CASE WHEN name IS NULL THEN id ELSE min(id) OVER (PARTITION BY process, name) END FROM kernel;

-- name: kept
-- Of a finished trace, the steps that start in the part.
INSERT INTO step_series SELECT s.* FROM main.step_series s WHERE EXISTS (SELECT 1 FROM main.step p
    WHERE p.series = s.id AND {in_part(s.process, s.thread, p.start_ns)});
INSERT INTO step SELECT p.* FROM main.step p JOIN main.step_series s ON s.id = p.series
WHERE {in_part(s.process, s.thread, p.start_ns)};
UPDATE step SET calls = 0, launches = 0, gpu_ns = 0, stalls = 0, stall_ns = 0, max_stall_ns = 0,
    idle_ns = NULL, loads = 0, load_ns = 0, allocations = 0, allocated_bytes = 0;

-- ---- the program's words ----

-- define: ended
(r.kind = 3 OR r.duration_ns IS NOT NULL)

-- name: marks
SELECT r.thread, {total_of(r)}, min(r.start_ns), max(r.start_ns) FROM range r JOIN thread t ON t.id = r.thread
WHERE r.kind = 3 AND {in_part(t.process, r.thread, r.start_ns)} GROUP BY 1, 2 HAVING count(*) > ?5;

-- name: words_table
DROP TABLE IF EXISTS temp.step_word;
DROP TABLE IF EXISTS temp.step_cover;
CREATE TEMP TABLE step_word (process, thread, total, count);
CREATE TEMP TABLE step_cover (process, total, launches, waits);

-- name: add_cover
-- total: a name, or -thread: all that the thread launched
INSERT INTO temp.step_cover VALUES (?1, ?2, ?3, ?4);

-- name: words
-- Only of names that cover half of what the thread launched that launched most, of those that wait for the
-- GPU if there are any: there may be millions of ranges of others. The row for all names beyond
-- those that have one of their own is no word, nor is what a library says.
INSERT INTO temp.step_word
SELECT process, thread, total, count(*)
FROM (SELECT t.process AS process, r.thread AS thread, {total_of(r)} AS total, r.start_ns AS start_ns,
        max(r.start_ns + coalesce(r.duration_ns, 0)) OVER (PARTITION BY r.thread, r.kind, {total_of(r)}
            ORDER BY r.start_ns, r.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
    FROM range r JOIN thread t ON t.id = r.thread
    WHERE {ended} AND {in_part(t.process, r.thread, r.start_ns)}
        AND (t.process, {total_of(r)}) IN (SELECT c.process, c.total
            FROM temp.step_cover c JOIN (SELECT process, launches, row_number() OVER (PARTITION BY process
                    ORDER BY waits DESC, launches DESC) AS place
                FROM temp.step_cover WHERE total < 0) a ON a.process = c.process AND a.place = 1
            WHERE c.total > 0 AND c.launches >= 0.5 * a.launches
                AND c.total NOT IN (SELECT id FROM temp.range_name WHERE is_pattern AND text = '*' OR gv_is_library(domain))))
GROUP BY 1, 2, 3 HAVING count(*) >= ?5 AND max(start_ns < coalesce(before_ns, start_ns)) = 0;

-- name: words_series
-- A thread that never waits for the GPU has no steps beside one that does. Then: nearly all launches that any
-- such name covers; then the most.
DELETE FROM temp.step_word WHERE -thread NOT IN (SELECT total FROM temp.step_cover WHERE waits)
    AND process IN (SELECT w.process FROM temp.step_word w JOIN temp.step_cover c ON c.total = -w.thread
        WHERE c.waits);
INSERT INTO step_series (process, thread, source, domain, message, kinds)
SELECT w.process, w.thread, CASE n.kind WHEN 3 THEN 'mark' ELSE 'range' END, n.domain, n.text, w.total
FROM (SELECT process, total, row_number() OVER (PARTITION BY process ORDER BY most DESC, total) AS place
    FROM (SELECT w.process, w.total, max(w.count) AS most, c.launches AS launches,
            max(c.launches) OVER (PARTITION BY w.process) AS best
        FROM temp.step_word w
            JOIN temp.step_cover c ON c.process = w.process AND c.total = w.total
        GROUP BY w.process, w.total)
    WHERE launches >= 0.95 * best) b
    JOIN temp.step_word w ON w.process = b.process AND w.total = b.total
    JOIN temp.range_name n ON n.id = b.total
WHERE b.place = 1 ORDER BY w.process, w.thread;

-- name: words_steps
-- step_series.kinds is the name, until the kinds are known. A step goes from one mark to the next.
INSERT INTO step (series, number, kind, warmup, start_ns, duration_ns)
SELECT series, row_number() OVER (PARTITION BY series ORDER BY start_ns, id), 0, 0, start_ns, duration_ns
FROM (SELECT s.id AS series, r.id AS id, r.start_ns AS start_ns,
        CASE r.kind WHEN 3 THEN lead(r.start_ns) OVER (PARTITION BY s.id ORDER BY r.start_ns, r.id)
            - r.start_ns ELSE r.duration_ns END AS duration_ns
    FROM step_series s JOIN range r ON r.thread = s.thread JOIN thread t ON t.id = r.thread
    WHERE {ended} AND {total_of(r)} = s.kinds AND {in_part(t.process, r.thread, r.start_ns)})
WHERE duration_ns IS NOT NULL;
DROP TABLE temp.step_word;
DROP TABLE temp.step_cover;

-- ---- steps ----

-- name: add_series
INSERT INTO step_series (process, thread, source, kinds) VALUES (?1, ?2, 'launches', 0);

-- name: series
SELECT id, process, thread, source = 'launches' FROM step_series ORDER BY id;

-- name: add_step
INSERT INTO step (series, number, kind, warmup, start_ns, duration_ns) VALUES (?1, ?2, ?3, 0, ?4, ?5);

-- name: next_step
SELECT number, start_ns, start_ns + duration_ns FROM step WHERE series = ?1 AND number >= ?2
ORDER BY number LIMIT 1;

-- name: set_kind
UPDATE step SET kind = ?3 WHERE series = ?1 AND number = ?2;

-- name: settle_kinds
-- Only steps that were recorded from their start to their end count.
DELETE FROM step WHERE EXISTS (SELECT 1 FROM step_series s WHERE s.id = step.series
    AND (NOT {is_recorded(s.process, step.start_ns)} OR {last_change(s.process, step.start_ns)}
        IS NOT {last_change(s.process, step.start_ns + step.duration_ns)}));
-- A few of a kind among many others are only others that did something more. Kinds are numbered in the
-- order of their first steps.
DROP TABLE IF EXISTS temp.step_kind;
CREATE TEMP TABLE step_kind (series, kind, count, first, becomes, PRIMARY KEY (series, kind));
INSERT INTO temp.step_kind
SELECT series, kind, count(*), min(number), NULL FROM step GROUP BY series, kind;
UPDATE temp.step_kind SET becomes = 0 WHERE kind = 0 OR count < 3
    OR count * 50 < (SELECT sum(k.count) FROM temp.step_kind k WHERE k.series = step_kind.series);
UPDATE temp.step_kind SET becomes = (SELECT count(*) FROM temp.step_kind k
    WHERE k.series = step_kind.series AND k.becomes IS NOT 0 AND k.first <= step_kind.first)
WHERE becomes IS NULL;
UPDATE temp.step_kind SET becomes = coalesce((SELECT k.becomes FROM temp.step_kind k
    WHERE k.series = step_kind.series AND k.becomes > 0 ORDER BY k.count DESC LIMIT 1), 1)
WHERE becomes = 0;
UPDATE step SET kind = (SELECT becomes FROM temp.step_kind k
    WHERE k.series = step.series AND k.kind = step.kind);
UPDATE step_series SET kinds = (SELECT count(DISTINCT becomes) FROM temp.step_kind
    WHERE series = step_series.id);
DELETE FROM step_series WHERE kinds = 0;
DROP TABLE temp.step_kind;

-- ---- what happened in them ----

-- name: add_sums
UPDATE step SET calls = calls + ?3, launches = launches + ?4,
    gpu_ns = gpu_ns + ?5, stalls = stalls + ?6, stall_ns = stall_ns + ?7, max_stall_ns = max(max_stall_ns, ?8),
    idle_ns = coalesce(idle_ns, 0) + ?9, loads = loads + ?10, load_ns = load_ns + ?11,
    allocations = allocations + ?12, allocated_bytes = allocated_bytes + ?13
WHERE series = ?1 AND number = ?2;

-- name: unknown
-- The GPU side was not recorded; or, with ?1, calls were selected: others' work is not seen, so neither
-- is idle time.
UPDATE step SET gpu_ns = NULL, idle_ns = NULL WHERE series IN (SELECT id FROM step_series
    WHERE process NOT IN {has_gpu_side});
UPDATE step SET idle_ns = NULL WHERE ?1 <> 0;

-- name: warmup
-- The first steps until one takes at most half as long again as the median of its kind. Kinds that come only before the one
-- that takes most of the time, take less than a tenth of it, and have steps of less than half its steps' length, are what
-- sets up the loop: its steps begin behind them. They are in a table, as SQLite 3.34 would compute all of it again for each
-- step; and the median is a window, as 3.34 began a join with the wrong table.
DROP TABLE IF EXISTS temp.step_first;
CREATE TEMP TABLE step_first (series INTEGER PRIMARY KEY, begin INTEGER, number INTEGER);
INSERT INTO temp.step_first
WITH kinds AS (
    SELECT series, min(number) AS first, max(number) AS last, sum(duration_ns) AS ns, avg(duration_ns) AS mean_ns
    FROM step GROUP BY series, kind),
ordered AS (
    SELECT series, ns, first_value(ns) OVER most AS most_ns, last,
        last < first_value(first) OVER most AND 2 * mean_ns < first_value(mean_ns) OVER most AS is_before
    FROM kinds WINDOW most AS (PARTITION BY series ORDER BY ns DESC))
SELECT series, 1 + CASE WHEN 10 * sum(ns * is_before) < max(most_ns) THEN max(last * is_before) ELSE 0 END, NULL
FROM ordered GROUP BY series;
INSERT OR REPLACE INTO temp.step_first
WITH ranked AS (
    SELECT series, number, kind, duration_ns, row_number() OVER (PARTITION BY series, kind ORDER BY duration_ns) AS place,
        count(*) OVER (PARTITION BY series, kind) AS count FROM step),
compared AS (
    SELECT series, number, duration_ns,
        max(CASE WHEN place = (count + 1) / 2 THEN duration_ns END) OVER (PARTITION BY series, kind) AS median FROM ranked)
SELECT c.series, f.begin, min(c.number) FROM compared c JOIN temp.step_first f ON f.series = c.series
WHERE 2 * c.duration_ns <= 3 * c.median AND c.number >= f.begin
GROUP BY c.series HAVING 3 * (min(c.number) - f.begin) <= max(c.number) - f.begin + 3;
UPDATE step SET warmup = 1 WHERE number < (SELECT coalesce(f.number, f.begin) FROM temp.step_first f WHERE f.series = step.series);
DROP TABLE temp.step_first;
