-- What the summary asks of a trace besides the run's facts.

-- name: head
-- ?1: the end of the last call.
SELECT (SELECT value FROM meta WHERE key = 'program'), max(coalesce(max(end_ns), 0), ?1)
FROM process;

-- name: gpu_lines
-- Those of a tenth of all GPU time or more, if no unknown line can have more, and there are others.
WITH line AS (SELECT function, library, file, line, total(share) AS share, max(error) AS error,
        coalesce(file, function, library) IS NOT NULL AS known
    FROM gpu_lines GROUP BY 1, 2, 3, 4)
SELECT function, library, file, line, share, error FROM line
WHERE known AND share >= max(0.1, (SELECT total(share) FROM line WHERE NOT known))
    AND (SELECT total(known) FROM line) > 1
ORDER BY share DESC, file, line LIMIT 2;

-- ---- the ledger ----

-- name: lanes
-- The one that computes most first; of several ranks, the one of the first finding. ?1: a process, or 0; ?2: a
-- device, or -1.
SELECT l.process, coalesce(l.device, -1), l.steps, p.pid, l.begin_ns,
    (SELECT duration_ns FROM (SELECT duration_ns, row_number() OVER (ORDER BY duration_ns) AS number, count(*) OVER () AS count
            FROM step WHERE series = l.series AND NOT warmup) WHERE number = (count + 1) / 2)
FROM lane l LEFT JOIN process p ON p.id = l.process
WHERE (?1 = 0 OR l.process = ?1) AND (?2 < 0 OR l.device = ?2)
ORDER BY (SELECT count(*) FROM process_rank) > 1
    AND EXISTS (SELECT 1 FROM finding f WHERE f.id = 1 AND f.process = l.process AND f.device IS l.device) DESC,
    (SELECT total(r.total_ns) FROM ledger_row r WHERE r.process = l.process AND r.device IS l.device
    AND r.what IN ('kernel', 'graph', 'collective')) DESC, l.id;

-- name: lane_time
SELECT phase, what, sum(total_ns) FROM ledger_row
WHERE process = ?1 AND coalesce(device, -1) = ?2 GROUP BY phase, what;

-- name: lane_findings
-- Without words of its own, a stall that shows it has some. Unexpected waits have a line of their own.
SELECT f.id, f.phase, f.what, f.lost_ns, f.saves_ns, f.confidence,
    gv_line(p.function, p.library, p.file, p.line), f.title,
    coalesce(nullif(f.fix, ''), (SELECT advice FROM stalls WHERE id = f.stall)), f.afterwards, f.times
FROM finding f LEFT JOIN place p ON p.id = f.place
WHERE f.process = ?1 AND coalesce(f.device, -1) = ?2 AND f.what <> 'unexpected-waits' ORDER BY f.id;

-- name: use
SELECT words FROM lane_use WHERE process = ?1 AND device = ?2 AND phase = ?3 AND words IS NOT NULL;

-- name: start
-- What the time before the loop was.
SELECT what, sum(total_ns) AS ns FROM ledger_row
WHERE process = ?1 AND coalesce(device, -1) = ?2 AND phase = 0 GROUP BY what
HAVING ns * 20 >= (SELECT sum(total_ns) FROM ledger_row WHERE process = ?1 AND coalesce(device, -1) = ?2 AND phase = 0)
ORDER BY ns DESC LIMIT 4;

-- define: within(start, end)
-- How much of a time another process used the device, as far as it is known: it is listed once a second.
max(0, min({end}, o.last_ns + 1000000000 * o.ended) - max({start}, o.first_ns - 1000000000 * o.started))

-- name: other_process
-- The other process that was there for most of what it may explain of a lane: more than half of the time in which queued work
-- waited, if that is 1 % of the run; or more than half of the slow steps, and half as many again as its part of the run.
-- Whoever was there for more than half of them was there in the middle one: there may be many others.
WITH queued AS (SELECT start_ns, start_ns + duration_ns AS end_ns FROM idle_time
    WHERE process = ?1 AND device = ?2 AND reason = 'queued' AND gap IS NOT NULL),
steps AS (SELECT s.start_ns AS start_ns, s.start_ns + s.duration_ns AS end_ns, s.duration_ns AS ns, row_number() OVER (ORDER BY s.duration_ns) AS number,
        count(*) OVER () AS count
    FROM lane l JOIN step s ON s.series = l.series AND NOT s.warmup WHERE l.process = ?1 AND l.device = ?2),
slow AS (SELECT s.start_ns AS start_ns, s.end_ns AS end_ns FROM steps m JOIN steps s ON 2 * s.ns >= 3 * m.ns WHERE m.number = (m.count + 1) / 2),
middle AS (
    SELECT min(start_ns) AS start_ns, min(end_ns) AS end_ns FROM (SELECT start_ns, end_ns, total(end_ns - start_ns) OVER (ORDER BY start_ns) AS until_ns,
            total(end_ns - start_ns) OVER () AS all_ns FROM queued) WHERE 2 * until_ns >= all_ns
    UNION ALL SELECT start_ns, end_ns FROM (SELECT start_ns, end_ns, row_number() OVER (ORDER BY start_ns) AS number, count(*) OVER () AS count FROM slow)
    WHERE number = (count + 1) / 2),
other AS (SELECT o.id AS id, o.name AS name, o.pid AS pid, o.first_ns AS first_ns, o.last_ns AS last_ns, m.bytes AS bytes,
        {within(l.begin_ns, l.end_ns)} * 1.0 / max(1, l.end_ns - l.begin_ns) AS present, l.end_ns - l.begin_ns AS run_ns,
        (SELECT total({within(start_ns, end_ns)}) FROM queued) AS queued_ns, (SELECT total(end_ns - start_ns) FROM queued) AS all_queued_ns,
        (SELECT total({within(start_ns, end_ns)} > 0) FROM slow) AS slow, (SELECT count(*) FROM slow) AS all_slow
    FROM lane l JOIN device d ON d.process = l.process AND d.device = l.device JOIN other_process o ON o.uuid = d.uuid AND NOT {is_server(o.name)}
        LEFT JOIN other_process_memory m ON m.other = o.id
    WHERE l.process = ?1 AND l.device = ?2
        AND o.id IN (SELECT o.id FROM middle CROSS JOIN other_process o WHERE {within(start_ns, end_ns)} > 0))
SELECT first_ns, last_ns, coalesce(bytes, 0), coalesce(': ' || name || ', process ' || pid, ', in another container') || iif(count(*) OVER () > 1,
        ', and ' || (count(*) OVER () - 1) || ' more', ''),
    iif(is_queued, printf('%.0f %% of the time in which queued work waited', 100 * queued_ns / all_queued_ns), '')
    || iif(is_queued AND is_slow, ' and ', '') || iif(is_slow, printf('%d of %d slow steps', slow, all_slow), '')
FROM (SELECT *, 2 * queued_ns > all_queued_ns AND 100 * all_queued_ns >= run_ns AS is_queued,
        2 * slow > all_slow AND slow >= 1.5 * present * all_slow AS is_slow FROM other)
WHERE is_queued OR is_slow ORDER BY queued_ns + slow * 1000000 DESC, id LIMIT 1;

-- name: worst_stall
-- ?1 to ?4: the part of the trace, as in the fragment in_part.
SELECT id, cause, wait_ns + jit_ns, stack, name FROM stalls
WHERE NOT expected AND {in_part(process, thread, start_ns)} AND gv_in_ranges(call)
ORDER BY wait_ns + jit_ns DESC, id LIMIT 1;

-- ---- notes ----

-- define: signal_of(process)
-- The signal that ended it. The one of the process ?1 may be known before the trace knows: ?2.
coalesce({process}.exit_signal, CASE {process}.pid WHEN ?1 THEN ?2 END)

-- name: flights
SELECT p.pid, p.ended, f.name, f.kernel, f.elapsed_ns, {signal_of(p)}
FROM in_flight f LEFT JOIN processes p ON p.id = f.process
ORDER BY f.start_ns LIMIT 3;

-- name: ended_badly
WITH ended AS (
    SELECT p.id, p.pid, {signal_of(p)} AS number, p.ended, p.exit_code FROM processes p
    WHERE p.ended = 'killed' OR p.ended = 'exit' AND p.exit_code <> 0
    UNION ALL
    SELECT NULL, ?1, ?2, 'killed', NULL
    WHERE ?2 > 0 AND NOT EXISTS (SELECT 1 FROM processes WHERE pid = ?1 AND ended = 'killed'))
SELECT pid, number, exit_code FROM ended
WHERE id IS NULL OR ended = 'exit' OR id NOT IN (SELECT process FROM in_flight)
ORDER BY id IS NULL DESC, ended = 'exit', id;

-- name: gpu_side
SELECT gpu, gpu_why, count(*) FROM process
WHERE gpu NOT IN ('cupti', 'sampled') OR gpu = 'cupti' AND gpu_why IS NOT NULL
GROUP BY gpu, gpu_why ORDER BY min(id) LIMIT 3;

-- name: no_native_frames
-- Also nothing if they are missing for another reason.
SELECT value FROM meta WHERE key = 'native_frames' AND EXISTS (SELECT 1 FROM stack)
    AND NOT EXISTS (SELECT 1 FROM frame WHERE kind = 'native');

-- name: others
-- By profiler, and whether it had only the callbacks.
SELECT gpu = 'operations', coalesce(profiler, 'another profiler'), count(*), min(start_ns),
    max(end_ns), CAST(total(end_ns - start_ns) AS INTEGER)
FROM recording WHERE gpu IN ('other', 'operations')
GROUP BY 1, 2 ORDER BY min(start_ns) LIMIT 4;

-- name: unseen
-- Nothing, if another profiler had the GPU side at the end, or recording was stopped, and that is why.
SELECT count, processes, pid, killed
FROM (SELECT CAST(total(count) AS INTEGER) AS count, count(*) AS processes, max(p.pid) AS pid,
        max(p.ended = 'killed') AS killed
    FROM loss l JOIN process p ON p.id = l.process WHERE l.what = 'GPU operation')
WHERE count > 0 OR NOT EXISTS (SELECT 1 FROM process p
    WHERE {sees_nothing((SELECT gpu FROM gpu_change WHERE process = p.id ORDER BY at_ns DESC LIMIT 1))});

-- name: unseen_times
SELECT start_ns, coalesce(end_ns, 1 << 62) FROM recording WHERE {sees_nothing(gpu)};

-- define: child_of_initialised
-- A forked process got the result 3, and CUDA had started in its parent: before the last of those. Reads the calls at most twice.
EXISTS (SELECT 1 FROM process WHERE forked) AND EXISTS (SELECT 1 FROM call k CROSS JOIN thread u ON u.id = k.thread CROSS JOIN (
        SELECT q.id AS parent, max(p.start_ns) AS until_ns FROM process p JOIN process q ON q.pid = p.parent_pid
        WHERE p.forked AND p.id IN (SELECT t.process FROM call c JOIN thread t ON t.id = c.thread WHERE c.result = 3) GROUP BY q.id) f
    ON f.parent = u.process WHERE k.result = 0 AND k.start_ns < f.until_ns)

-- name: errors
-- The columns are those of enum gv_error_note_column. A result has the name and the class of the
-- call that returned it most often (SQLite's rule for bare columns beside a max()). The words are those
-- of CUDA's results.
SELECT e.result, a.name, a.class, CAST(total(e.count) AS INTEGER) AS times, count(*),
    CASE WHEN e.result = 3 THEN {child_of_initialised} ELSE 0 END, max(e.count)
FROM error_total e JOIN api a ON a.id = e.api WHERE a.class <> 'collective' AND e.result <> ?1
GROUP BY e.result ORDER BY times DESC, e.result;
