-- name: times
SELECT process, start_ns, end_ns FROM {stopped_times} ORDER BY process, start_ns;

-- define: covered(spans)
-- How long the spans last, and how many they are, without overlaps, between ?2 and ?3.
SELECT CAST(total(end_ns - start_ns) AS INTEGER) AS ns, count(*) AS periods
FROM (SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM (SELECT start_ns, end_ns, sum(apart) OVER (ORDER BY start_ns, end_ns) AS number
        FROM (SELECT start_ns, end_ns, coalesce(start_ns > max(end_ns) OVER (ORDER BY start_ns, end_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS apart
            FROM (SELECT max(start_ns, ?2) AS start_ns, min(coalesce(end_ns, ?4), ?3) AS end_ns
                FROM {spans})
            WHERE start_ns < end_ns))
    GROUP BY number)

-- name: recorded
-- Of the processes' time between ?2 and ?3: how much, how much of that was recorded, and in how many
-- periods. ?1: the process; 0: all. ?4: the end of those that still run.
WITH alive AS (SELECT start_ns, end_ns FROM process WHERE ?1 = 0 OR id = ?1),
period AS (SELECT start_ns, end_ns FROM recording
    WHERE side = 'calls' AND start_ns IS NOT NULL AND (?1 = 0 OR process = ?1))
SELECT a.ns, r.ns, r.periods FROM ({covered(alive)}) a, ({covered(period)}) r
WHERE EXISTS (SELECT 1 FROM recording_change);
