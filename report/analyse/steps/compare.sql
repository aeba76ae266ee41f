-- What comparing the steps reads.

-- name: longest_series
SELECT e.id, e.source, coalesce(CASE WHEN e.domain IS NOT NULL THEN e.domain || ': ' ELSE '' END || e.message, ''),
    e.kinds, s.count, (SELECT count(*) FROM step_series)
FROM step_series e JOIN (SELECT series, count(*) AS count, total(duration_ns) AS total_ns FROM step
        GROUP BY series) s ON s.series = e.id
ORDER BY s.total_ns DESC, e.id LIMIT 1;

-- name: kind_most
SELECT kind FROM step WHERE series = ?1 GROUP BY kind ORDER BY count(*) DESC, kind LIMIT 1;

-- define: figures
-- The columns are those of enum figure.
duration_ns, launches, gpu_ns, stall_ns, idle_ns, load_ns, allocations

-- define: median(figure)
(SELECT {figure} FROM step WHERE series = ?1 AND kind = ?2 AND NOT warmup ORDER BY 1
    LIMIT 1 OFFSET (SELECT (count(*) - 1) / 2 FROM step WHERE series = ?1 AND kind = ?2 AND NOT warmup))

-- name: medians
-- Of each figure of the steady steps of the kind ?2.
SELECT {median(duration_ns)}, {median(launches)}, {median(gpu_ns)}, {median(stall_ns)}, {median(idle_ns)},
    {median(load_ns)}, {median(allocations)};

-- name: warmups
SELECT sum(duration_ns), sum(launches), sum(gpu_ns), sum(stall_ns), sum(idle_ns), sum(load_ns),
    sum(allocations), count(*)
FROM step WHERE series = ?1 AND warmup;

-- name: steadies
-- Those that took much longer than others: candidates for the slowest one. The last one has what comes after the loop,
-- such as the wait for all that was queued.
SELECT {figures}, number, kind FROM step WHERE series = ?1 AND NOT warmup
    AND ((SELECT source FROM step_series WHERE id = ?1) = 'range' OR number < (SELECT max(number) FROM step WHERE series = ?1))
ORDER BY duration_ns DESC LIMIT 64;

-- name: slowest_range
-- The innermost range in which the step ?2 took longer than steps do on average, by at least ?3; ?4 is how
-- many steps there are.
SELECT coalesce(n.domain || ': ', '') || n.text
FROM step s JOIN step_series e ON e.id = s.series
    JOIN range r ON r.thread = e.thread AND r.kind = 1 AND r.start_ns > s.start_ns
        AND r.start_ns < s.start_ns + s.duration_ns
    JOIN range_total_of o ON o.kind = r.kind AND o.domain = coalesce(r.domain, 0) AND o.text = coalesce(r.text, 0)
    JOIN range_total n ON n.id = o.total
WHERE s.series = ?1 AND s.number = ?2 AND n.text IS NOT NULL
GROUP BY n.id HAVING total(r.duration_ns) - n.total_ns / ?4 >= ?3
ORDER BY max(r.depth) DESC, total(r.duration_ns) DESC, n.id LIMIT 1;

-- name: blocks
-- The medians of up to 40 stretches of the steady steps of the kind ?2, in order.
SELECT duration_ns FROM (SELECT block, duration_ns,
        row_number() OVER (PARTITION BY block ORDER BY duration_ns) AS place,
        count(*) OVER (PARTITION BY block) AS count
    FROM (SELECT duration_ns, ntile(40) OVER (ORDER BY number) AS block FROM step
        WHERE series = ?1 AND kind = ?2 AND NOT warmup))
WHERE place = (count + 1) / 2 ORDER BY block;
