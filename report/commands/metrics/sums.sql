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
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns FROM {rows}))
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
UNION ALL SELECT 'launch', CASE a.gpu_work WHEN 1 THEN 'kernel' WHEN 2 THEN 'graph' ELSE 'copy or set' END, '',
    c.count, c.ns
FROM temp.metric_call c JOIN api a ON a.id = c.api AND a.gpu_work IN (1, 2, 3) WHERE NOT c.failed
UNION ALL SELECT 'failed', gv_label(a.class), '', c.count, c.ns FROM temp.metric_call c JOIN api a ON a.id = c.api
WHERE c.failed
UNION ALL SELECT 'load', gv_label(kind), '', count(*), sum(duration_ns) FROM loads GROUP BY kind)

-- define: older
-- Of older time (GPUVERIFY_KEEP), sums by minute have no line.
(SELECT w.name AS kind,
    CASE WHEN w.name = 'recorded' THEN '' WHEN w.name = 'launch' THEN CASE n.text WHEN 'graph' THEN 'graph' ELSE 'kernel' END
        ELSE gv_label(n.text) END AS one,
    CASE w.name WHEN 'stall' THEN 'older' ELSE '' END AS two, o.count, o.total_ns AS ns
FROM older o JOIN minute_what w ON w.id = o.what JOIN older_name n ON n.id = o.name
WHERE w.name IN ('busy', 'idle', 'stall', 'load', 'launch') OR w.name = 'recorded' AND o.process <> 0 AND n.text = 'calls')

-- define: present(until)
-- What the trace says of the whole run until now.
(SELECT 'run' AS kind, gv_label((SELECT value FROM meta WHERE key = 'program')) AS one,
    gv_label((SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM device ORDER BY name LIMIT 16))) AS two,
    1 AS count, 0 AS ns
UNION ALL SELECT 'running', '', '', count(*), 0 FROM process WHERE ended IS NULL
UNION ALL SELECT 'analysed', '', '', 0, (SELECT value FROM meta WHERE key = 'start_unix_ns') + {until}
UNION ALL SELECT 'lost', gv_label(what), '', sum(count), 0 FROM losses GROUP BY what
UNION ALL SELECT 'cost', gv_label(what), '', 0, sum(total_ns) FROM own_cost GROUP BY what)

-- define: bounded(rows, limit)
-- The labels of a kind with the smallest values become 'others', so that names cannot become many series.
SELECT kind, CASE WHEN rank <= {limit} OR kind IN ('run', 'analysed') THEN one ELSE 'others' END AS one,
    CASE WHEN rank <= {limit} OR two = '' THEN two ELSE 'others' END AS two, count, ns
FROM (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY ns DESC, count DESC, one, two) AS rank
    FROM (SELECT kind, coalesce(one, '') AS one, coalesce(two, '') AS two, max(0, sum(count)) AS count,
        max(0, sum(ns)) AS ns FROM ({rows}) GROUP BY 1, 2, 3))

-- define: last_ns
coalesce((SELECT start_ns + duration_ns FROM call ORDER BY id DESC LIMIT 1), 0)

-- name: prepare
CREATE TEMP TABLE metric_unit AS SELECT * FROM {unit};
CREATE TEMP TABLE metric_call AS
SELECT c.api, coalesce(c.result, 0) NOT IN (0, 600) AS failed, sum(coalesce(f.count, 1)) AS count, sum(c.duration_ns) AS ns
FROM call c LEFT JOIN call_fold f ON f.call = c.id GROUP BY 1, 2;

-- name: once
CREATE TEMP TABLE metric_sum ({columns});
INSERT INTO temp.metric_sum
SELECT kind, one, two, sum(count), sum(ns) FROM ({bounded((SELECT * FROM {added({last_ns}, NULL)} UNION ALL SELECT * FROM {older}), 200)}) GROUP BY 1, 2, 3;
INSERT OR IGNORE INTO temp.metric_sum
SELECT kind, one, two, sum(count), sum(ns) FROM ({bounded({present({last_ns})}, 200)}) GROUP BY 1, 2, 3;

-- name: read
SELECT kind, one, two, count, ns FROM metric_sum ORDER BY one, two;
