-- What a fleet keeps of a trace: a row of each table of python/gpuverify/fleet/tables.py, in its columns.
-- Times are sums, so that a fleet's data grows with the lines of the programs, not with their calls.

-- define: unix_ns(at_ns)
CAST((SELECT value FROM meta WHERE key = 'unix_offset_ns') + {at_ns} AS INTEGER)

-- define: older(what)
-- Of time that is kept as sums by minute, no line is known.
(SELECT o.process AS process, n.text AS name, o.count AS count, o.total_ns AS total_ns, o.max_ns AS max_ns
    FROM older o JOIN minute_what w ON w.id = o.what JOIN older_name n ON n.id = o.name
    WHERE w.name = {what} AND o.process <> 0)

-- name: processes
-- A killed process has no end: its last call's is taken.
SELECT p.id AS process, p.pid, p.program, {unix_ns(p.start_ns)} AS start_unix_ns,
    CAST(coalesce(p.end_ns, (SELECT c.start_ns + c.duration_ns FROM call c
        WHERE c.thread IN (SELECT id FROM thread WHERE process = p.id) ORDER BY c.id DESC LIMIT 1),
        p.start_ns) - p.start_ns AS INTEGER) AS duration_ns,
    max((SELECT count(*) FROM lane WHERE process = p.id), (SELECT count(DISTINCT device) FROM gpu_place WHERE process = p.id)) AS gpus,
    (SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM device WHERE process = p.id ORDER BY name)) AS gpu_name,
    p.gpu, p.driver_version, p.ended, p.exit_code, p.exit_signal,
    (SELECT sum(count) FROM losses WHERE process = p.id) AS lost_records,
    p.rank, p.local_rank, p.world_size, p.job AS process_job,
    coalesce(p.host, (SELECT value FROM meta WHERE key = 'host')) AS process_host, p.container,
    (SELECT value FROM variable WHERE process = p.id AND name = 'GPUVERIFY_TEAM') AS team,
    (SELECT value FROM variable WHERE process = p.id AND name = 'GPUVERIFY_BUILD') AS build,
    (SELECT value FROM meta WHERE key = 'gpuverify_version') AS gpuverify_version
FROM processes p
ORDER BY p.id;

-- name: stalls
-- Without the waits that the program asked for.
SELECT process, cause, call_name, location, {code(location)} AS code, sum(times) AS times,
    sum(wait_ns) AS wait_ns, sum(jit_ns) AS jit_ns, CAST(sum(wait_ns) + sum(jit_ns) AS INTEGER) AS lost_ns, max(most_ns) AS most_ns
FROM (SELECT process, cause, call_name, gv_where(stack) AS location, times, wait_ns, jit_ns, most_ns
    FROM (SELECT process, cause, name AS call_name, stack, count(*) AS times, sum(wait_ns) AS wait_ns,
            sum(jit_ns) AS jit_ns, CAST(max(wait_ns + jit_ns) AS INTEGER) AS most_ns
        FROM stalls WHERE NOT expected GROUP BY 1, 2, 3, 4)
    UNION ALL SELECT process, name, NULL, NULL, count, total_ns, 0, max_ns FROM {older('stall')})
GROUP BY 1, 2, 3, 4 ORDER BY lost_ns DESC;

-- define: line(file, line, function)
nullif(gv_line({function}, NULL, {file}, {line}), '')

-- name: ledger
SELECT process, device, phase, what, gv_account(what) AS state, location, {code(location)} AS code, claimed_by, sum(times) AS times,
    sum(account_ns) AS account_ns
FROM (SELECT process, device, phase, what, {line(file, line, function)} AS location, CASE WHEN claimed_by_function IS NOT NULL
        THEN coalesce({line(claimed_by_file, claimed_by_line, claimed_by_function)}, '?') END AS claimed_by, count AS times,
        total_ns AS account_ns
    FROM ledger
    UNION ALL SELECT process, NULL, 'main', name, NULL, NULL, count, total_ns FROM {older('idle')})
GROUP BY process, device, phase, what, location, claimed_by ORDER BY account_ns DESC;

-- name: findings
SELECT process, device, phase, rtrim(key) AS key, what, location, {code(location)} AS code, lost_ns, coalesce(saves_ns, 0) AS saves_ns,
    CAST(round(lost_ns / share) AS INTEGER) AS phase_ns, steps, title, fix
FROM (SELECT *, {line(file, line, function)} AS location FROM findings) WHERE key IS NOT NULL ORDER BY id;

-- name: loads
-- Late: after the first launch of its process.
WITH first AS (SELECT t.process AS process, min(c.start_ns) AS ns
    FROM call c JOIN api a ON a.id = c.api AND a.class = 'launch' JOIN thread t ON t.id = c.thread GROUP BY 1)
SELECT process, kind, library, late, location, sum(times) AS times, sum(load_ns) AS load_ns, sum(wait_ns) AS wait_ns,
    max(most_ns) AS most_ns
FROM (SELECT l.process AS process, l.kind AS kind, l.library AS library, coalesce(l.start_ns > f.ns, 0) AS late,
        (SELECT gv_where(stack) FROM call_stack WHERE call = l.call) AS location, count(*) AS times,
        sum(l.duration_ns) AS load_ns, sum(l.wait_ns) AS wait_ns, max(l.duration_ns) AS most_ns
    FROM loads l LEFT JOIN first f ON f.process = l.process GROUP BY 1, 2, 3, 4, l.call)
GROUP BY 1, 2, 3, 4, 5 ORDER BY load_ns DESC;

-- name: kernel_summary
SELECT name, count AS times, total_ns, median_ns, max_ns AS most_ns
FROM kernel_summary ORDER BY total_ns DESC, name LIMIT 100;

-- name: api_summary
SELECT name, class, count AS times, total_ns, median_ns, max_ns AS most_ns, errors
FROM api_summary ORDER BY total_ns DESC, name;

-- name: calls
SELECT process, id, thread, name, class, start_ns, duration_ns, result, stream, bytes, kernel, count AS times FROM calls;

-- name: gpu_ops
SELECT process, id, device, kind, name, start_ns, duration_ns, stream, bytes, call AS call_id FROM gpu_ops;
