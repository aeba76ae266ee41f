-- The slowest ranks: their GPU idles more than the GPUs of the job's other ranks, which wait for it inside their kernels.
WITH ranks AS (
    SELECT p.job AS job, p.rank AS number, MIN(p.host) AS host, SUM(p.duration_ns / 1e9) AS run_s
    FROM processes p
    WHERE p.rank IS NOT NULL AND p.job <> 'none'
    GROUP BY p.job, p.rank),
reasons AS (
    SELECT p.job AS job, p.rank AS number, i.what AS reason, COALESCE(i.location, '?') AS line, SUM(i.account_ns / 1e9) AS idle_s
    FROM ledger i JOIN processes p ON p.trace = i.trace AND p.process = i.process
    WHERE i.state = 'idle' AND p.rank IS NOT NULL AND p.job <> 'none'
    GROUP BY p.job, p.rank, i.what, COALESCE(i.location, '?')),
chief AS (
    SELECT job, number, reason, line, idle_s, SUM(idle_s) OVER (PARTITION BY job, number) AS all_s,
        ROW_NUMBER() OVER (PARTITION BY job, number ORDER BY ROUND(idle_s, 6) DESC, reason, line) AS turn
    FROM reasons),
compared AS (
    SELECT r.job AS job, r.number AS number, r.host AS host, r.run_s AS run_s, COALESCE(c.all_s, 0) AS idle_s,
        SUM(COALESCE(c.all_s, 0)) OVER (PARTITION BY r.job) AS job_s, COUNT(*) OVER (PARTITION BY r.job) AS size,
        c.reason AS reason, c.line AS line, c.idle_s AS reason_s
    FROM ranks r LEFT JOIN chief c ON c.job = r.job AND c.number = r.number AND c.turn = 1)
SELECT job AS job_id, number AS rank_number, host AS host_name, ROUND(run_s, 3) AS ran_s, ROUND(idle_s, 3) AS gpu_idle_s,
    ROUND((job_s - idle_s) / NULLIF(size - 1, 0), 3) AS others_idle_s,
    ROUND(idle_s - (job_s - idle_s) / NULLIF(size - 1, 0), 3) AS behind_s,
    reason AS main_reason, line AS main_line, ROUND(reason_s, 3) AS main_s
FROM compared
WHERE size > 1 AND idle_s > (job_s - idle_s) / NULLIF(size - 1, 0)
ORDER BY behind_s DESC, job_id, rank_number
LIMIT 20
