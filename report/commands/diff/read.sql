-- What diff reads of a trace, and keeps of all of them.

-- name: begin
CREATE TABLE value (area INTEGER, what TEXT, basis INTEGER, unit INTEGER, run INTEGER, value REAL,
    PRIMARY KEY (area, what, basis, unit, run)) WITHOUT ROWID;
CREATE TABLE fact (name TEXT, run INTEGER);
BEGIN;

-- name: all_findings
SELECT * FROM findings ORDER BY id;

-- name: facts
SELECT name FROM facts;

-- define: fact(key)
coalesce((SELECT value FROM fact WHERE key = '{key}'), 0)

-- define: percent(ratio)
printf('%.1f %%', 100.0 * {ratio})

-- name: describe
-- The members of struct gv_diff_run, in their order. Enough was measured if few calls are like none that was.
WITH known AS (SELECT
    (SELECT count(CASE WHEN gpu = 'cupti' THEN 1 END) > 0 AND count(CASE WHEN gpu <> 'cupti' THEN 1 END) = 0 FROM processes)
        AND {fact(gpu_unseen_ns)} = {fact(stopped_ns)}
        AND NOT EXISTS (SELECT 1 FROM losses WHERE count > 0 AND (what LIKE 'GPU %' OR what = 'record')) AS whole,
    {fact(sampled_calls)} > 0 AND NOT EXISTS (SELECT 1 FROM processes WHERE gpu <> 'sampled')
        AND {fact(sampled_unknown)} <= {fact(sampled_operations)} / 1000 AS sampled),
run AS (SELECT CAST(max(coalesce(end_ns, {fact(last_ns)})) - min(start_ns) AS INTEGER) AS ns FROM processes),
account AS (SELECT total(CASE WHEN gv_account(what) = 'busy' THEN total_ns END) AS busy_ns, count(*) AS rows,
    total(CASE WHEN what <> 'not-seen' THEN total_ns END) AS seen_ns, count(device) AS seen FROM ledger)
SELECT whole OR sampled, whole, sampled,
    (SELECT value FROM meta WHERE key = 'state') IS 'complete' AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'snapshot_ns'),
    coalesce((SELECT sum(count) FROM losses), 0), run.ns,
    CASE WHEN EXISTS (SELECT 1 FROM device WHERE name GLOB 'GV_SIM *') THEN 'a simulated GPU'
        ELSE (SELECT d.name FROM device_total t JOIN device d ON d.id = t.device ORDER BY t.busy_ns DESC LIMIT 1) END,
    printf('ran %s', gv_duration(run.ns))
        || coalesce((SELECT printf(', %d step%s of %s', steps, CASE steps WHEN 1 THEN '' ELSE 's' END,
            gv_duration(CAST((main_end_ns - main_ns) / steps AS INTEGER))) FROM lane WHERE steps > 0 ORDER BY main_end_ns - main_ns DESC LIMIT 1), '')
        || CASE WHEN account.rows = 0 THEN '; no device had work'
            WHEN sampled THEN printf('; the GPU was busy about %s of it', {percent(1.0 * ({fact(sampled_kernel_ns)} + {fact(sampled_graph_ns)} + {fact(sampled_copy_ns)}) / run.ns)})
            WHEN account.seen = 0 OR account.seen_ns = 0 THEN '; the GPU side was not seen'
            ELSE printf('; the GPU was busy %s of it', {percent(busy_ns / seen_ns)}) END,
    coalesce((SELECT sum(steps) FROM lane), 0)
FROM known, run, account;
