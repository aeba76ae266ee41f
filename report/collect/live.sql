-- What a session's page says of the whole run until now, by small tables: its rows of the kinds that live.def calls
-- facts, for the metrics and for `top`. Also metrics of a finished trace begin with these.

-- define: union_of(rows)
-- rows: device, start_ns, end_ns. Time in which several of them overlap counts once.
SELECT device, sum(end_ns - from_ns) AS ns
FROM (SELECT device, max(start_ns, coalesce(before_ns, start_ns)) AS from_ns, end_ns
    FROM (SELECT device, start_ns, end_ns, max(end_ns) OVER (PARTITION BY device ORDER BY start_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns FROM {rows}) spans)
WHERE end_ns > from_ns GROUP BY device

-- define: device_name(process, device, uuid)
-- The same GPU has one name in all processes.
coalesce({uuid}, 'process ' || {process} || ' device ' || {device})

-- define: seen_times
(SELECT DISTINCT {device_name(p.process, p.device, d.uuid)} AS device, r.start_ns, coalesce(r.end_ns, ?1) AS end_ns
    FROM recording r JOIN gpu_place p ON p.process = r.process
        LEFT JOIN device d ON d.process = p.process AND d.device = p.device
    WHERE r.side = 'gpu' AND r.gpu IN ('seen', 'operations'))

-- name: facts
-- ?1: until when the sums are.
SELECT 'run' AS kind, coalesce((SELECT value FROM meta WHERE key = 'program'), '') AS one,
    coalesce((SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM device ORDER BY name LIMIT 16)), '') AS two,
    1 AS count, 0 AS ns
UNION ALL SELECT 'running', '', '', count(*), 0 FROM process WHERE ended IS NULL
UNION ALL SELECT 'analysed', '', '', 0, coalesce((SELECT value FROM meta WHERE key = 'start_unix_ns'), 0) + ?1
UNION ALL SELECT 'recorded', '', '', 0, sum(coalesce(end_ns, ?1) - start_ns)
FROM recording WHERE side = 'calls' AND start_ns IS NOT NULL
UNION ALL SELECT 'seen', device, '', 0, ns FROM ({union_of({seen_times})})
UNION ALL SELECT 'lost', what, '', sum(count), 0 FROM losses GROUP BY what
UNION ALL SELECT 'cost', what, '', 0, sum(total_ns) FROM cost GROUP BY what;

-- name: facts_of_now
-- For `top` alone. nvml: the samples' times are in ns.
SELECT * FROM (SELECT 'root' AS kind, program AS one, coalesce(gpu_why, '') AS two, pid AS count, 0 AS ns
    FROM process ORDER BY id LIMIT 1)
UNION ALL SELECT 'side', '', (SELECT CASE
    WHEN (SELECT number % 2 FROM recording_change WHERE process = p.id ORDER BY number DESC LIMIT 1)
        THEN 'recording is stopped'
    WHEN (SELECT gpu FROM process WHERE id = p.id) = 'sampled' THEN 'seen in samples only'
    ELSE (SELECT CASE gpu WHEN 'seen' THEN NULL WHEN 'stopped' THEN 'recording is stopped' ELSE 'another profiler has it' END
        FROM gpu_change WHERE process = p.id ORDER BY at_ns DESC LIMIT 1) END
    FROM (SELECT max(id) AS id FROM process) p), (SELECT count(*) FROM process WHERE gpu = 'cupti'), 0
UNION ALL SELECT 'gpu', {device_name(process, device, uuid)}, name, 0, 0 FROM device
UNION ALL SELECT 'nvml', s.uuid, w.what, CASE w.what WHEN 'percent' THEN s.gpu_percent
        WHEN 'bytes' THEN s.memory_used_bytes WHEN 'milliwatts' THEN s.power_mw WHEN 'C' THEN s.temperature_c
        ELSE s.sm_clock_mhz END, s.at_ns
FROM (SELECT *, max(id) FROM sample WHERE id > (SELECT max(id) - 64 FROM sample) GROUP BY uuid) s
    JOIN (SELECT 'percent' AS what UNION ALL SELECT 'bytes' UNION ALL SELECT 'milliwatts' UNION ALL SELECT 'C'
        UNION ALL SELECT 'MHz') w
UNION ALL SELECT 'use', uuid, unit, tenths, tenths * 1000000
FROM (SELECT uuid, unit, CASE unit WHEN 'SMs' THEN sm_tenths WHEN 'DRAM' THEN dram_tenths ELSE tensor_tenths END AS tenths
    FROM (SELECT s.uuid AS uuid, s.at_ns AS at_ns, g.*, max(g.sample) FROM sample_gpm g JOIN sample s ON s.id = g.sample
        WHERE g.sample > (SELECT max(sample) - 256 FROM sample_gpm) AND g.duration_ns > 0 GROUP BY s.uuid) u
        JOIN (SELECT 'SMs' AS unit UNION ALL SELECT 'DRAM' UNION ALL SELECT 'tensor cores')
    -- The next one may come after five times as long: then it no longer says what is now.
    WHERE (SELECT n.at_ns FROM sample n WHERE n.uuid = u.uuid ORDER BY n.id DESC LIMIT 1) <= u.at_ns + 5 * u.duration_ns + 1000000000)
WHERE tenths IS NOT NULL;
