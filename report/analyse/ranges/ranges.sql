-- What the sums by range read and write.

-- name: any
SELECT EXISTS (SELECT 1 FROM range);

-- define: sum(what)
CAST(total({what}) AS INTEGER)

-- ---- names ----

-- name: names_table
-- range_said: what was said how often, and in the part; folded: with "#" for numbers, NULL: it has
-- none, or they stay.
DROP TABLE IF EXISTS temp.range_said;
DROP TABLE IF EXISTS temp.range_pattern;
DROP TABLE IF EXISTS temp.range_name;
CREATE TEMP TABLE range_said (kind, domain_id, text_id, domain, text, folded, times, count, ended,
    total_ns, recorded);
CREATE TEMP TABLE range_pattern (kind, domain, folded, UNIQUE (kind, domain, folded));
CREATE TEMP TABLE range_name (id INTEGER PRIMARY KEY, kind, domain, text, is_pattern, count, ended,
    total_ns, recorded, UNIQUE (kind, domain, text, is_pattern));

-- define: is_here
-- A range that began while recording was stopped has nothing to sum up; a mark never has.
({in_part(t.process, r.thread, r.start_ns)} AND (r.kind = 3 OR {is_recorded(t.process, r.start_ns)}))

-- name: said
-- Names are those of the whole trace.
SELECT s.kind, s.domain, s.text, s.times, s.count, s.ended, s.total_ns, s.recorded, d.text, x.text
FROM (SELECT r.kind AS kind, coalesce(r.domain, 0) AS domain, coalesce(r.text, 0) AS text,
        count(*) AS times, sum({is_here}) AS count, sum({is_here} AND r.duration_ns IS NOT NULL) AS ended,
        CAST(total(CASE WHEN {is_here} THEN r.duration_ns END) AS INTEGER) AS total_ns,
        max(t.process IN {has_gpu_side}) AS recorded
    FROM range r JOIN thread t ON t.id = r.thread GROUP BY 1, 2, 3) s
    LEFT JOIN range_text d ON d.id = s.domain LEFT JOIN range_text x ON x.id = s.text;

-- name: add_said
INSERT INTO temp.range_said VALUES (?1, ?2, ?3, ?9, ?10, ?11, ?4, ?5, ?6, ?7, ?8);

-- define: name_of(s)
(SELECT id FROM temp.range_name n WHERE n.kind = {s}.kind AND n.domain IS {s}.domain
    AND n.text IS coalesce({s}.folded, {s}.text) AND n.is_pattern = ({s}.folded IS NOT NULL))

-- name: make_names
-- Numbers become "#" where there are more than four such texts, and most of them occurred once. The
-- ?1 most frequent names have sums of their own; the others of their kind share "*".
INSERT INTO temp.range_pattern
SELECT kind, domain, folded
FROM (SELECT kind, domain, folded, sum(times) AS times FROM temp.range_said WHERE folded IS NOT NULL
    GROUP BY kind, domain, folded, text)
GROUP BY kind, domain, folded HAVING count(*) > 4 AND 2 * sum(times = 1) > count(*);
UPDATE temp.range_said SET folded = NULL WHERE folded IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM temp.range_pattern p WHERE p.kind = range_said.kind
        AND p.domain IS range_said.domain AND p.folded = range_said.folded);
INSERT INTO temp.range_name (kind, domain, text, is_pattern, count, ended, total_ns, recorded)
SELECT kind, domain, coalesce(folded, text), folded IS NOT NULL, {sum(count)} AS count, {sum(ended)},
    {sum(total_ns)}, max(recorded)
FROM temp.range_said WHERE count > 0 GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3 LIMIT ?1;
INSERT INTO temp.range_name (kind, domain, text, is_pattern, count, ended, total_ns, recorded)
SELECT kind, NULL, '*', 1, {sum(count)}, {sum(ended)}, {sum(total_ns)}, max(recorded)
FROM temp.range_said s WHERE count > 0 AND {name_of(s)} IS NULL GROUP BY kind;
INSERT INTO range_total_of (kind, domain, text, total)
SELECT kind, domain_id, text_id, coalesce({name_of(s)}, (SELECT id FROM temp.range_name n
    WHERE n.kind = s.kind AND n.domain IS NULL AND n.text = '*' AND n.is_pattern = 1))
FROM temp.range_said s WHERE count > 0;
DROP TABLE temp.range_said;
DROP TABLE temp.range_pattern;

-- name: names
SELECT id, ended, recorded FROM temp.range_name ORDER BY id;

-- ---- what they did ----

-- name: durations
SELECT {total_of(r)}, r.duration_ns FROM range r JOIN thread t ON t.id = r.thread
WHERE r.duration_ns IS NOT NULL AND {is_here} ORDER BY 1, 2;

-- name: borders
-- Of intervals, which end in the part. The columns are those of enum border_column.
WITH interval(consumer, key, process, start_ns, duration_ns) AS (
SELECT 0, {total_of(r)}, t.process, r.start_ns, r.duration_ns
FROM range r JOIN thread t ON t.id = r.thread
WHERE r.kind <> 3 AND r.duration_ns > 0 AND {is_here} AND t.process IN {has_gpu_side}
UNION ALL SELECT EXISTS (SELECT 1 FROM range), p.series << 40 | p.number, s.process, p.start_ns, p.duration_ns
FROM step p JOIN step_series s ON s.id = p.series
WHERE p.duration_ns > 0 AND s.process IN {has_gpu_side})
SELECT consumer, key, process, CASE WHEN is_end THEN max(start_ns, min(start_ns + duration_ns, ?4)) ELSE start_ns END AS at_ns, is_end
FROM interval CROSS JOIN (SELECT 0 AS is_end UNION ALL SELECT 1)
ORDER BY at_ns, is_end;

-- name: total_of_range
-- Of the range ?5, if it is in the part.
SELECT {total_of(r)} FROM range r JOIN thread t ON t.id = r.thread WHERE r.id = ?5 AND {is_here};

-- name: stalls
SELECT c.start_ns, s.call, s.wait_ns + s.jit_ns FROM stall s JOIN call c ON c.id = s.call
WHERE NOT s.expected ORDER BY 1, 2;

-- name: loads
-- A lazy load takes as long as its call.
SELECT c.start_ns, l.call, count(*), min(1152921504606846976, total(l.duration_ns))
FROM (SELECT call, duration_ns FROM load WHERE coalesce(result, 0) = 0 AND call IS NOT NULL
    UNION ALL SELECT call, 1152921504606846976 FROM gpu_module
    WHERE call NOT IN (SELECT call FROM load WHERE call IS NOT NULL)) l JOIN call c ON c.id = l.call
GROUP BY l.call ORDER BY 1, 2;

-- name: late_table
DROP TABLE IF EXISTS temp.range_late;
CREATE TEMP TABLE range_late (call, gpu_ns, consumers);

-- name: late
-- The columns are those of enum late_column.
SELECT l.call, c.thread, t.process, c.start_ns, {sum(l.gpu_ns)}, l.consumers
FROM temp.range_late l JOIN call c ON c.id = l.call LEFT JOIN thread t ON t.id = c.thread
WHERE {in_part(t.process, c.thread, c.start_ns)}
GROUP BY l.call, l.consumers ORDER BY l.call;

-- name: add_total
-- -1: not known
INSERT INTO range_total (id, kind, domain, text, is_pattern, count, unended, total_ns, min_ns, median_ns,
    max_ns, calls, launches, gpu_ns, stalls, stall_ns, max_stall_ns, idle_ns, loads, load_ns,
    allocations, allocated_bytes)
SELECT id, kind, domain, text, is_pattern, count, count - ended, total_ns, nullif(?2, -1), nullif(?3, -1),
    nullif(?4, -1), ?5, ?6, nullif(?7, -1), ?8, ?9, ?10, nullif(?11, -1), ?12, ?13, ?14, ?15
FROM temp.range_name WHERE id = ?1;
