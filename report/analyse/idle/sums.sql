-- The idle time of a part of a trace. ?1 to ?4 are as in in_part, ?5 is the device or -1.

-- define: fact(key)
(SELECT value FROM fact WHERE key = '{key}')

-- name: rows
-- The last column is the part between the first call and the last one's end. Several idle times in a
-- row are between operations.
SELECT id, process, coalesce(device, -1), start_ns, duration_ns, gaps, samples, stack,
    device IS NULL, reason, detail,
    CASE WHEN gaps > 1 THEN duration_ns
        ELSE max(0, min(start_ns + duration_ns, coalesce({fact(last_ns)}, start_ns))
            - max(start_ns, coalesce({fact(first_ns)}, start_ns))) END
FROM idle WHERE duration_ns > 0 AND {in_part(process, thread, start_ns)}
    AND (?5 < 0 OR device IS NULL OR device = ?5)
ORDER BY start_ns, id;

-- name: run
SELECT max(0, min(coalesce(max(coalesce(end_ns, {fact(last_ns)})), 0), ?4)
    - max(coalesce(min(start_ns), 0), ?3) - coalesce({fact(process_ns)} - {fact(recorded_ns)}, 0))
FROM process WHERE ?1 = 0 OR id = ?1;

-- name: samples
SELECT count(*) FROM (SELECT 1 FROM idle_sample LIMIT 1);
