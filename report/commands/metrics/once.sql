-- The metrics of a whole trace, by its totals and by what the analysis found, beside what report/collect/live.sql
-- says: rows of kind, two labels, a count and a time.

-- define: work
CASE a.gpu_work WHEN 1 THEN 'kernel' WHEN 2 THEN 'graph' ELSE 'copy or set' END

-- define: sums
(SELECT 'idle' AS kind, reason AS one, '' AS two, sum(gaps) AS count, sum(duration_ns) AS ns FROM idle GROUP BY reason
UNION ALL SELECT 'stall', cause, coalesce(nullif(gv_where(stack), ''), '?'), count(*), sum(wait_ns + jit_ns)
FROM stalls WHERE NOT expected GROUP BY cause, stack
UNION ALL SELECT 'call', a.class, '', t.count, t.total_ns FROM api_total t JOIN api a ON a.id = t.api
UNION ALL SELECT 'failed', a.class, '', t.errors, 0 FROM api_total t JOIN api a ON a.id = t.api WHERE t.errors > 0
UNION ALL SELECT 'launch', {work}, '', t.count - t.errors, 0
FROM api_total t JOIN api a ON a.id = t.api AND a.gpu_work IN (1, 2, 3)
UNION ALL SELECT 'busy', u.name, '', 0, t.busy_ns
FROM device_total t JOIN (SELECT DISTINCT dense_rank() OVER (ORDER BY coalesce(d.uuid, p.process || ':' || p.device))
        AS number, coalesce(d.uuid, 'process ' || p.process || ' device ' || p.device) AS name
    FROM gpu_place p LEFT JOIN device d ON d.process = p.process AND d.device = p.device) u ON u.number = t.number
UNION ALL SELECT 'load', kind, '', count(*), sum(duration_ns) FROM loads GROUP BY kind)

-- define: older
-- Of older time (GPUVERIFY_KEEP), sums by minute have no line, and only the time in which any GPU was seen.
(WITH old AS (SELECT w.name AS what, n.text AS name, o.process, sum(o.count) AS count, sum(o.total_ns) AS ns
    FROM older o JOIN minute_what w ON w.id = o.what JOIN older_name n ON n.id = o.name GROUP BY 1, 2, 3)
SELECT what AS kind, CASE what WHEN 'recorded' THEN '' ELSE name END AS one,
    CASE what WHEN 'stall' THEN 'older' ELSE '' END AS two, count, ns
FROM old WHERE what IN ('busy', 'idle', 'stall', 'load') OR what = 'recorded' AND name = 'calls' AND process <> 0
UNION ALL SELECT 'seen', b.name, '', 0, r.ns FROM (SELECT DISTINCT name FROM old WHERE what = 'busy') b
    JOIN old r ON r.what = 'recorded' AND r.name = 'gpu' AND r.process = 0
UNION ALL SELECT 'call', coalesce(a.class, 'others'), '', s.count, s.ns
FROM old s LEFT JOIN (SELECT name, min(class) AS class FROM api GROUP BY name) a ON a.name = s.name WHERE s.what = 'call'
UNION ALL SELECT 'launch', {work}, '', s.count, s.ns
FROM old s JOIN (SELECT name, min(gpu_work) AS gpu_work FROM api GROUP BY name) a ON a.name = s.name
WHERE s.what = 'call' AND a.gpu_work IN (1, 2, 3))

-- name: once
-- The labels of a kind with the smallest values become 'others', so that names cannot become many series.
SELECT kind, CASE WHEN rank <= 200 THEN one ELSE 'others' END, CASE WHEN rank <= 200 OR two = '' THEN two ELSE 'others' END,
    sum(count), sum(ns)
FROM (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY ns DESC, count DESC, one, two) AS rank
    FROM (SELECT kind, coalesce(one, '') AS one, coalesce(two, '') AS two, max(0, total(count)) AS count,
        max(0, total(ns)) AS ns FROM (SELECT * FROM {sums} UNION ALL SELECT * FROM {older}) GROUP BY 1, 2, 3))
GROUP BY 1, 2, 3;

-- name: until
SELECT coalesce(max(last_ns), 0) FROM thread_total;
