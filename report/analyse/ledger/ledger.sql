-- What the ledger reads and writes.

-- name: apis
SELECT id, class, name FROM api;

-- name: looks_end
-- The last of so many looks that are in memory at a time.
SELECT coalesce(max(id), ?1) FROM (SELECT id FROM idle_sample WHERE id > ?1 ORDER BY id LIMIT 65536);

-- name: processes
SELECT p.id, p.start_ns, p.end_ns, p.id IN (SELECT process FROM gpu_place)
        OR (coalesce(p.gpu, '') = 'cupti' AND p.id NOT IN (SELECT process FROM gpu_change WHERE profiler IS NOT NULL)),
    (SELECT min(id) FROM thread WHERE process = p.id)
FROM process p ORDER BY p.id;

-- name: last_looks
SELECT process, max(at_ns) FROM idle_sample GROUP BY process;

-- name: steps
-- The steps of each process that did the most.
SELECT process, series, from_ns, until_ns, gpu_ns, steps FROM (
    SELECT e.process AS process, e.id AS series, min(CASE WHEN NOT s.warmup THEN s.start_ns END) AS from_ns,
        max(s.start_ns + s.duration_ns) AS until_ns, sum(s.gpu_ns) AS gpu_ns, sum(NOT s.warmup) AS steps,
        row_number() OVER (PARTITION BY e.process ORDER BY sum(s.gpu_ns) DESC, sum(s.duration_ns) DESC) AS rank
    FROM step s JOIN step_series e ON e.id = s.series GROUP BY e.id)
WHERE rank = 1 AND steps >= 4 AND from_ns IS NOT NULL;

-- name: stalls
SELECT call, cause, wait_ns + jit_ns, wait_ns FROM stall WHERE NOT expected AND wait_ns + jit_ns > 0;

-- name: builds
-- Code that lies in no file was made by the process, or is a library's cache of it.
SELECT call FROM load WHERE call IS NOT NULL AND library IS NULL AND hash <> 0;

-- name: collectives
SELECT s.id, n.name GLOB 'nccl*', s.name FROM gpu_shape s JOIN gpu_name n ON n.id = s.name;

-- name: own_frames
-- The program's own, innermost first: Python's outside of packages, if there is Python at all.
SELECT file, function FROM frame
WHERE stack = ?1 AND file IS NOT NULL AND CASE WHEN EXISTS (SELECT 1 FROM frame WHERE stack = ?1 AND kind = 'python')
    THEN kind = 'python' AND NOT {in_package(file)} AND file NOT LIKE '<%'
    ELSE kind <> 'runtime' AND NOT {is_system(kind, library)} END
ORDER BY depth;

-- name: has_own
SELECT EXISTS (SELECT 1 FROM frame WHERE stack = ?1 AND file IS NOT NULL AND CASE WHEN kind = 'python'
    THEN NOT {in_package(file)} AND file NOT LIKE '<%'
    ELSE kind <> 'runtime' AND NOT {is_system(kind, library)} END);

-- name: passes
SELECT EXISTS (SELECT 1 FROM frame f JOIN place p ON p.id = ?2
    WHERE f.stack = ?1 AND f.file IS p.file AND f.line = p.line);

-- name: callee
-- The package's function that the program's own line calls in this stack; wrappers are passed by.
SELECT function || ' in ' || CASE WHEN file LIKE '%-packages/%' THEN substr(file, instr(file, '-packages/') + 10)
        ELSE substr(file, instr(file, '/lib/python3.') + 13 + instr(substr(file, instr(file, '/lib/python3.') + 13), '/')) END, depth
FROM frame WHERE stack = ?1 AND kind = 'python' AND {in_package(file)} AND file NOT LIKE '<%' AND file NOT LIKE '%/torchinductor_%'
    AND function NOT GLOB '_*' AND function NOT GLOB '*._*' AND function NOT GLOB '*<*'
    AND depth < (SELECT min(depth) FROM frame WHERE stack = ?1 AND kind = 'python' AND NOT {in_package(file)})
UNION ALL -- without Python: the other library's function
SELECT f.function || ' in ' || replace(f.library, rtrim(f.library, replace(f.library, '/', '')), ''), f.depth
FROM frame f, stack_place s JOIN place p ON p.id = s.place
WHERE f.stack = ?1 AND s.stack = ?1 AND f.function NOT NULL AND f.library IS NOT p.library
    AND NOT EXISTS (SELECT 1 FROM frame WHERE stack = ?1 AND kind = 'python')
    AND f.depth = (SELECT min(depth) - 1 FROM frame WHERE stack = ?1 AND library IS p.library AND function IS p.function)
ORDER BY 2 DESC LIMIT 1;

-- name: copies_back
-- Whether the process ?2 copies both to the device and back at the place ?1, at least every other of ?3 steps.
SELECT count(*) = 2 FROM (SELECT 1 FROM gpu_stack g JOIN stack_place p ON p.stack = g.stack
    WHERE p.place = ?1 AND g.process = ?2 AND g.kind = 2 AND g.copy_kind & 15 IN (1, 2)
    GROUP BY g.copy_kind & 15 HAVING 2 * sum(g.launches) >= ?3);

-- name: reads
-- How often the process ?2 copies to the host for less than 5 us on average, at the place ?1; or, for that place, in a thread
-- of a library: it launches something there for each.
SELECT coalesce(max(CASE WHEN is_here OR kernels BETWEEN copies * 0.9 AND copies * 1.1 THEN copies END), 0)
FROM (SELECT p.place IS ?1 AS is_here, sum(g.launches) AS copies,
        (SELECT sum(k.launches) FROM gpu_stack k JOIN stack_place s ON s.stack = k.stack WHERE s.place = ?1 AND k.process = ?2 AND k.kind = 1) AS kernels
    FROM gpu_stack g JOIN stack_place p ON p.stack = g.stack JOIN place l ON l.id = p.place
    WHERE g.process = ?2 AND g.kind = 2 AND g.copy_kind & 15 = 2 AND (p.place = ?1 OR (l.file IS NULL AND (SELECT file FROM place WHERE id = ?1) NOT NULL))
    GROUP BY 1 HAVING sum(g.gpu_ns) < 5000 * sum(g.launches));

-- name: keeps
-- What brings data to the device and leaves it there, in the framework whose frames the stack ?1 has.
SELECT words FROM (SELECT depth, CASE WHEN file LIKE '%-packages/jax%' THEN ' (jax.device_put)' WHEN file LIKE '%/numba/%' THEN ' (cuda.to_device)'
        WHEN file LIKE '%-packages/cupy%' THEN ' (cupy.asarray)' WHEN file LIKE '%-packages/torch/%' THEN ' (.to(device))' END AS words
    FROM (SELECT depth, coalesce(file, library) AS file FROM frame WHERE stack = ?1))
WHERE words IS NOT NULL ORDER BY depth DESC LIMIT 1;

-- name: copies_await
-- The stack of most calls that make a stream wait for others, among the streams in which the process ?2 copies at the
-- place ?1.
SELECT k.stack FROM call_stack k JOIN call c ON c.id = k.call JOIN api a ON a.id = c.api
WHERE a.awaits_event AND c.stream IN (SELECT d.stream FROM stack_place s JOIN call_stack j ON j.stack = s.stack JOIN call d ON d.id = j.call
    JOIN thread t ON t.id = d.thread WHERE s.place = ?1 AND t.process = ?2)
GROUP BY k.stack ORDER BY count(*) DESC, k.stack LIMIT 1;

-- name: host_function
-- What streams of the process ?1 ran on the CPU from ?2 to ?3, if that is half of ?4 or more: its name, and where most of it
-- was put into a stream.
SELECT coalesce(h.name, 'a function'), k.stack FROM host_functions h JOIN call_stack k ON k.call = h.call
WHERE h.process = ?1 AND h.start_ns BETWEEN ?2 AND ?3
    AND 2 * (SELECT total(duration_ns) FROM host_function WHERE process = ?1 AND start_ns BETWEEN ?2 AND ?3) >= ?4
GROUP BY 1, 2 ORDER BY sum(h.duration_ns) DESC LIMIT 1;

-- name: copies_most
-- Of the function at the place ?1, the line at which the process ?2 copies from or to the host for the longest.
SELECT p.id FROM place o JOIN place p ON p.function IS o.function AND p.file IS o.file AND p.library IS o.library
    JOIN stack_place s ON s.place = p.id JOIN gpu_stack g ON g.stack = s.stack
WHERE o.id = ?1 AND g.process = ?2 AND g.kind = 2 AND g.copy_kind & 15 BETWEEN 1 AND 4
GROUP BY p.id ORDER BY sum(g.gpu_ns) DESC LIMIT 1;

-- name: has_managed
SELECT EXISTS (SELECT 1 FROM api_total t JOIN api a ON a.id = t.api WHERE a.kind = 'alloc-managed');

-- name: is_backward
-- PyTorch's autograd launches.
SELECT EXISTS (SELECT 1 FROM frame WHERE stack = ?1 AND function = '_engine_run_backward');

-- name: checks_gradient
-- PyTorch's autograd itself looks for NaN, or reads a value: a node of its graph would be between.
SELECT EXISTS (SELECT 1 FROM frame i JOIN frame e ON e.stack = i.stack AND e.depth = i.depth + 1
    WHERE i.stack = ?1 AND (i.function GLOB '*::item*' OR i.function GLOB '*is_nonzero*' OR i.function GLOB '*isnan*' OR i.function GLOB '*is_any_true*') AND e.function GLOB 'torch::autograd::Engine::evaluate_function(*');

-- name: sharing
-- Another process that used the device ?2 of the process ?1 for at least half of the time from ?3 to ?4.
SELECT coalesce(o.name || ', process ' || o.pid, 'in another container') FROM other_process o
    JOIN device d ON d.uuid = o.uuid AND d.process = ?1 AND d.device = ?2
WHERE NOT {is_server(o.name)} AND min(o.last_ns, ?4) - max(o.first_ns, ?3) > (?4 - ?3) / 2 ORDER BY o.last_ns - o.first_ns DESC, o.id LIMIT 1;

-- name: find_sharing
-- Who was on a device from when to when: other processes, and the lanes, of which one of calls alone is on each of its process's
-- devices. The second table is how long all of them together were there until a moment, without asking each: a line that bends
-- where one comes or goes.
DROP TABLE IF EXISTS temp.ledger_there;
CREATE TEMP TABLE ledger_there (process INTEGER, device INTEGER, uuid TEXT, first_ns INTEGER, last_ns INTEGER);
INSERT INTO temp.ledger_there
SELECT NULL, NULL, uuid, first_ns, max(first_ns, last_ns) FROM other_process WHERE uuid NOT NULL AND NOT {is_server(name)}
UNION ALL SELECT e.process, e.device, e.uuid, l.begin_ns, max(l.begin_ns, l.end_ns)
FROM lane l JOIN device e ON e.process = l.process AND e.device = coalesce(l.device, e.device) WHERE e.uuid NOT NULL;
CREATE INDEX temp.ledger_there_process ON ledger_there (process);
DROP TABLE IF EXISTS temp.ledger_until;
CREATE TEMP TABLE ledger_until (uuid TEXT, at_ns INTEGER, slope REAL, less_ns REAL, PRIMARY KEY (uuid, at_ns)) WITHOUT ROWID;
INSERT INTO temp.ledger_until
SELECT uuid, at_ns, total(total(bend)) OVER (PARTITION BY uuid ORDER BY at_ns), total(total(1.0 * bend * at_ns)) OVER (PARTITION BY uuid ORDER BY at_ns)
FROM (SELECT uuid, first_ns AS at_ns, 1 AS bend FROM temp.ledger_there UNION ALL SELECT uuid, last_ns, -1 FROM temp.ledger_there)
GROUP BY uuid, at_ns;

-- define: there_until(at)
coalesce((SELECT u.slope * {at} - u.less_ns FROM temp.ledger_until u WHERE u.uuid = d.uuid AND u.at_ns <= {at} ORDER BY u.at_ns DESC LIMIT 1), 0)

-- name: has_sharing
-- Whether other processes, also those of the session, were there for a tenth of that time.
SELECT total({there_until(?4)} - {there_until(?3)} - (SELECT total(max(0, min(o.last_ns, ?4) - max(o.first_ns, ?3)))
        FROM temp.ledger_there o WHERE o.process = ?1 AND o.uuid = d.uuid)) > (?4 - ?3) / 10
FROM (SELECT DISTINCT uuid FROM temp.ledger_there WHERE process = ?1 AND (device = ?2 OR ?2 < 0)) d;

-- name: find_uses
-- The samples of GPM by the device's first id, in the order of time: each of many lanes reads only those of its own time.
DROP TABLE IF EXISTS temp.ledger_gpm;
CREATE TEMP TABLE ledger_gpm (device INTEGER, at_ns INTEGER, sample INTEGER, PRIMARY KEY (device, at_ns, sample)) WITHOUT ROWID;
INSERT INTO temp.ledger_gpm
SELECT d.id, s.at_ns, s.id FROM sample_gpm g JOIN sample s ON s.id = g.sample
    JOIN (SELECT uuid, min(id) AS id FROM device GROUP BY uuid) d ON d.uuid = s.uuid
WHERE g.duration_ns > 0 AND g.sm_tenths >= 0 AND g.dram_tenths >= 0;

-- name: uses
-- The samples of GPM of the device ?2 of the process ?1 (below 0: of its only one), to the first that ends at ?4 or later.
SELECT u.at_ns, g.duration_ns, coalesce(g.clock_reasons, 0), g.sm_tenths, g.occupancy_tenths, g.tensor_tenths, g.dram_tenths,
    g.fp64_tenths, g.fp32_tenths, g.fp16_tenths, g.pcie_tenths, s.gpu_percent, coalesce(s.sm_clock_mhz, 0)
FROM (SELECT min(id) AS id FROM device WHERE uuid = (SELECT min(uuid) FROM device WHERE process = ?1 AND (device = ?2 OR ?2 < 0)
        GROUP BY process HAVING count(DISTINCT uuid) = 1)) d
    CROSS JOIN temp.ledger_gpm u ON u.device = d.id AND u.at_ns > ?3
        AND u.at_ns <= coalesce((SELECT min(n.at_ns) FROM temp.ledger_gpm n WHERE n.device = d.id AND n.at_ns >= ?4), ?4)
    CROSS JOIN sample_gpm g ON g.sample = u.sample CROSS JOIN sample s ON s.id = u.sample
WHERE u.at_ns - g.duration_ns < ?4 ORDER BY u.at_ns;

-- name: drop_uses
DROP TABLE temp.ledger_gpm;

-- name: drop_sharing
DROP TABLE IF EXISTS temp.ledger_there;
DROP TABLE IF EXISTS temp.ledger_until;

-- name: lock_around
-- The line at which threads with the stack ?1 wait for a lock, if the stack ?2 is elsewhere in the same function: that
-- thread has the lock. Where a package's code waits, as a queue's or a condition's does, no lock is known.
SELECT gv_line(w.function, w.library, w.file, w.line)
FROM frame w JOIN frame h ON h.stack = ?2 AND h.file = w.file AND h.function = w.function AND h.line <> w.line
WHERE w.stack = ?1 AND NOT {in_package(w.file)}
    AND w.depth = (SELECT min(depth) FROM frame WHERE stack = ?1 AND kind = 'python') LIMIT 1;

-- name: place_words
SELECT gv_line(function, library, file, line) FROM place WHERE id = ?;

-- name: is_line
SELECT count(*) FROM place WHERE id = ? AND line > 0;

-- name: may_overlap
-- Whether the call was made to wait, or to bring what the host needs. Another one, such as a load, should not wait: it is to be
-- moved, whatever the host does afterwards.
SELECT count(*) FROM api WHERE id = ? AND class IN ('sync', 'copy');

-- name: add_lane
INSERT INTO lane (process, device, begin_ns, main_ns, main_end_ns, end_ns, series, steps)
VALUES (?1, CASE WHEN ?2 >= 0 THEN ?2 END, ?3, ?4, ?5, ?6, nullif(?7, 0), ?8);

-- name: add_row
INSERT INTO ledger_row (process, device, phase, place, claimed, total_ns, count, error_ns, first_half_ns, stack, what,
    confidence, detail)
VALUES (?1, CASE WHEN ?2 >= 0 THEN ?2 END, ?3, nullif(?4, 0), nullif(?5, 0), ?6, ?7, ?8, ?9, nullif(?10, 0), ?11, ?12, ?13);

-- name: add_finding
INSERT INTO finding (process, device, phase, place, lost_ns, saves_ns, phase_ns, error_ns, count, steps, stall, key, what,
    confidence, title, fix, afterwards)
VALUES (?1, CASE WHEN ?2 >= 0 THEN ?2 END, ?3, nullif(?4, 0), ?5, nullif(?6, -1), ?7, ?8, ?9, ?10, nullif(?11, 0),
    ?12 || coalesce(' ' || (SELECT replace(coalesce(file, library, ''), rtrim(coalesce(file, library, ''), replace(coalesce(file, library, ''), '/', '')), '')
        || ' ' || coalesce(function, '') FROM place WHERE id = ?4), ''),
    ?12, ?13, ?14, ?15, ?16);

-- name: keep_fix
UPDATE finding SET fix = ?2 WHERE id = ?1;

-- name: add_use
INSERT INTO lane_use (process, device, phase, samples, busy_ns, sm_tenths, occupancy_tenths, tensor_tenths, dram_tenths,
    fp64_tenths, fp32_tenths, fp16_tenths, pcie_tenths, words)
VALUES (?1, ?2, ?3, ?4, ?5, nullif(?6, -1), nullif(?7, -1), nullif(?8, -1), nullif(?9, -1), nullif(?10, -1), nullif(?11, -1),
    nullif(?12, -1), nullif(?13, -1), ?14);

-- name: again
-- A call's kind, and how often it was made; then the functions of a stack.
SELECT a.kind, t.count, a.name FROM api a JOIN api_total t ON t.api = a.id WHERE a.id = ?1
UNION ALL SELECT function, 0, NULL FROM frame WHERE stack = ?2 AND function IS NOT NULL;

-- name: growth
-- Of the steady steps of the most frequent kind, by tenths: how much longer than the first tenth all took, by its median or
-- its mean, whichever grew less, as steps of two lengths in turn have a median that jumps; the same of the first tenth and of
-- the last; and how many of all began in the first half of the time, before ?2, and after it.
WITH steady AS (
    SELECT duration_ns, ntile(10) OVER (ORDER BY number) AS tenth FROM step WHERE series = ?1 AND NOT warmup
        AND kind = (SELECT kind FROM step WHERE series = ?1 GROUP BY kind ORDER BY count(*) DESC, kind LIMIT 1)),
middle AS (
    SELECT tenth, duration_ns AS median_ns, mean_ns, count FROM (SELECT tenth, duration_ns,
            row_number() OVER (PARTITION BY tenth ORDER BY duration_ns) AS place,
            count(*) OVER (PARTITION BY tenth) AS count, avg(duration_ns) OVER (PARTITION BY tenth) AS mean_ns FROM steady)
    WHERE place = (count + 1) / 2)
SELECT (SELECT CAST(sum(m.count * min(m.median_ns - f.median_ns, m.mean_ns - f.mean_ns)) AS INTEGER) FROM middle m),
    CAST(iif(l.median_ns - f.median_ns < l.mean_ns - f.mean_ns, f.median_ns, f.mean_ns) AS INTEGER),
    CAST(iif(l.median_ns - f.median_ns < l.mean_ns - f.mean_ns, l.median_ns, l.mean_ns) AS INTEGER),
    (SELECT count(*) FROM step WHERE series = ?1 AND NOT warmup AND start_ns < ?2),
    (SELECT count(*) FROM step WHERE series = ?1 AND NOT warmup AND start_ns >= ?2)
FROM middle f, middle l WHERE f.tenth = 1 AND l.tenth = 10;

-- name: slow_steps
-- Those that take half as long again as the median ?2, and how much longer. The last one has what comes after the loop.
SELECT count(*), sum(duration_ns - ?2) FROM step WHERE series = ?1 AND NOT warmup AND 2 * duration_ns >= 3 * ?2
    AND ((SELECT source FROM step_series WHERE id = ?1) = 'range' OR number < (SELECT max(number) FROM step WHERE series = ?1))
    AND kind = (SELECT kind FROM step WHERE series = ?1 GROUP BY kind ORDER BY count(*) DESC, kind LIMIT 1);

-- name: main_kernel
-- Whether most of the time of kernels is of those with fewer blocks than the device has SMs; the kernel that
-- has most of the time of all, and its percentage.
SELECT coalesce((SELECT 2 * u.value > k.value FROM fact u, fact k WHERE u.key = 'underfilled_ns' AND k.key = 'kernel_time_ns'), 0),
    max(100 * total_ns) / nullif(sum(total_ns), 0), name FROM kernel_total;

-- name: call_name
-- The kernel that a call launches, or else the call.
SELECT coalesce((SELECT name FROM kernel WHERE id = ?1), (SELECT name FROM api WHERE id = ?2));

-- name: unexpected_waits
-- The worst of the process, in a part of the time. (SQLite's rule for bare columns beside a max().)
SELECT count(*), sum(s.wait_ns + s.jit_ns), max(s.wait_ns + s.jit_ns), s.id, coalesce(k.stack, 0), c.start_ns, s.cause
FROM stall s JOIN call c ON c.id = s.call JOIN thread t ON t.id = c.thread LEFT JOIN call_stack k ON k.call = c.id
WHERE NOT s.expected AND s.wait_ns + s.jit_ns > 0 AND t.process = ?1 AND c.start_ns >= ?2 AND c.start_ns < ?3;

-- name: evidence
-- The worst unexpected stall at a finding's line shows it. Its advice is better than that of the account where such
-- stalls are at least half of what is lost. (SQLite's rule for bare columns beside a max().)
DROP TABLE IF EXISTS temp.ledger_stall;
CREATE TEMP TABLE ledger_stall AS
SELECT t.process AS process, p.place AS place, s.cause AS cause, s.id AS id, s.advice AS advice,
    max(s.wait_ns + s.jit_ns) AS most_ns, sum(s.wait_ns + s.jit_ns) AS lost_ns
FROM stall s JOIN call c ON c.id = s.call JOIN thread t ON t.id = c.thread
    LEFT JOIN call_stack k ON k.call = c.id LEFT JOIN stack_place p ON p.stack = k.stack
WHERE NOT s.expected GROUP BY 1, 2, 3;
UPDATE finding SET stall = (SELECT id FROM temp.ledger_stall s WHERE s.process = finding.process AND s.place IS finding.place
        AND (s.cause = finding.what OR finding.what = 'waits' AND finding.place IS NOT NULL OR finding.what = 'no-cpu' AND s.cause = 'descheduled')
    ORDER BY most_ns DESC LIMIT 1) WHERE stall IS NULL;
UPDATE finding SET fix = coalesce((SELECT v.text FROM temp.ledger_stall s JOIN stall_advice v ON v.id = s.advice
        WHERE s.id = finding.stall AND s.lost_ns >= finding.lost_ns / 2), fix) WHERE stall IS NOT NULL;
DROP TABLE temp.ledger_stall;

-- name: add_idle
-- ?14: the function in which the time was; 0: outside of any, or it does not matter.
INSERT INTO idle_time (process, device, thread, start_ns, duration_ns, gaps, samples, stack, previous_call, next_call, gap,
    gap_ns, is_inner, reason, detail, confidence)
VALUES (?1, CASE WHEN ?2 >= 0 THEN ?2 END, nullif(?3, 0), ?4, ?5, ?6, ?7, nullif(?8, 0), nullif(?9, 0), nullif(?10, 0),
    nullif(?11, 0), nullif(?12, 0), ?13, ?15, coalesce(?16, (SELECT name FROM api WHERE id = ?14)), ?17);

-- name: idle_evidence
-- The longest idle time of the phase that a row of the finding is of, if possible at its line.
DROP TABLE IF EXISTS temp.ledger_of;
CREATE TEMP TABLE ledger_of (process INTEGER, device INTEGER, phase INTEGER, place INTEGER, what TEXT, finding INTEGER, is_line INTEGER);
INSERT INTO temp.ledger_of
SELECT f.process, f.device, f.phase, r.place, r.what, f.id, max(f.what = 'waits' OR f.place IS r.place)
FROM finding f LEFT JOIN place p ON p.id = f.place
    JOIN ledger_row r ON r.process = f.process AND r.device IS f.device AND r.phase = f.phase
    LEFT JOIN place q ON q.id = r.place
WHERE CASE WHEN f.what = 'waits' THEN r.claimed IS f.place
    ELSE r.claimed IS NULL AND r.what = f.what AND (r.place IS f.place OR (q.function = p.function AND q.file IS p.file)) END
GROUP BY f.id, r.place, r.what;
CREATE INDEX temp.ledger_of_row ON ledger_of (process, device, phase, place, what);
DROP TABLE IF EXISTS temp.ledger_idle;
CREATE TEMP TABLE ledger_idle AS
SELECT o.finding AS finding, i.id AS id, i.gap AS gap, i.ns AS ns, o.is_line AS is_line
FROM (SELECT i.process AS process, i.device AS device, i.id AS id, i.gap AS gap, i.reason AS what, x.place AS place,
        CASE WHEN i.start_ns < l.main_ns THEN 0 WHEN i.start_ns < l.main_end_ns THEN 1 ELSE 2 END AS phase,
        min(i.duration_ns, CASE WHEN i.start_ns < l.main_ns THEN l.main_ns WHEN i.start_ns < l.main_end_ns THEN l.main_end_ns ELSE l.end_ns END - i.start_ns) AS ns
    FROM idle_time i JOIN lane l ON l.process = i.process AND l.device IS i.device LEFT JOIN stack_place x ON x.stack = i.stack
    WHERE i.gap IS NOT NULL) i
    CROSS JOIN temp.ledger_of o ON o.process = i.process AND o.device IS i.device AND o.phase = i.phase AND o.place IS i.place AND o.what = i.what;
CREATE INDEX temp.ledger_idle_finding ON ledger_idle (finding, ns);
UPDATE finding SET idle = (SELECT id FROM temp.ledger_idle WHERE finding = finding.id ORDER BY is_line DESC, ns DESC LIMIT 1);
-- A few idle times are no part of each step. Of each, a wait claims what it waited: about as much of all, so as much that
-- the rest of them is what was lost beside the waits.
DROP TABLE IF EXISTS temp.ledger_long;
CREATE TEMP TABLE ledger_long AS
SELECT finding, ns, row_number() OVER longest AS number, sum(ns) OVER longest AS until_ns
FROM (SELECT finding, sum(ns) AS ns FROM temp.ledger_idle GROUP BY finding, gap)
WINDOW longest AS (PARTITION BY finding ORDER BY ns DESC ROWS UNBOUNDED PRECEDING);
CREATE INDEX temp.ledger_long_finding ON ledger_long (finding, number);
DROP TABLE IF EXISTS temp.ledger_claimed;
CREATE TEMP TABLE ledger_claimed AS
SELECT f.id AS finding, f.what = 'waits' AS is_wait, f.lost_ns AS lost_ns,
    max(0, max((l.until_ns - CASE WHEN f.what = 'waits' THEN max(0, a.ns - f.lost_ns) ELSE f.lost_ns END) / l.number)) AS each_ns
FROM finding f JOIN temp.ledger_long l ON l.finding = f.id JOIN (SELECT finding, sum(ns) AS ns FROM temp.ledger_long GROUP BY finding) a ON a.finding = f.id
GROUP BY f.id;
UPDATE finding SET times = (SELECT min(number) FROM (
        SELECT l.number AS number, c.lost_ns AS lost_ns, sum(CASE WHEN c.is_wait THEN min(l.ns, c.each_ns) ELSE max(0, l.ns - c.each_ns) END)
            OVER (ORDER BY l.number ROWS UNBOUNDED PRECEDING) AS until_ns
        FROM temp.ledger_long l JOIN temp.ledger_claimed c ON c.finding = l.finding WHERE l.finding = finding.id)
    WHERE 5 * until_ns >= 4 * lost_ns)
WHERE phase = 1 AND steps > 1 AND saves_ns NOT NULL;
DROP TABLE temp.ledger_long;
DROP TABLE temp.ledger_claimed;
UPDATE finding SET times = NULL WHERE times > 1 AND 10 * times > steps;
UPDATE finding SET afterwards = NULL, title = title || '; most of it in ' || iif(times = 1, 'one idle time', times || ' idle times') || ', not in each step'
WHERE times NOT NULL;
DROP TABLE temp.ledger_of;
DROP TABLE temp.ledger_idle;

-- name: again_in_steps
-- In how many steps the host did what a finding is about, in its function or below: of each such work, the largest finding.
-- Nothing is said if short times, which have no rows of their own, may hide more. Of single calls, again.def tells it.
DROP TABLE IF EXISTS temp.ledger_again;
CREATE TEMP TABLE ledger_again AS
SELECT f.id AS finding, f.steps AS steps, f.lost_ns AS lost_ns, sum(i.duration_ns) AS ns, count(DISTINCT (SELECT start_ns FROM step s
    WHERE s.series = l.series AND s.start_ns <= i.start_ns + i.duration_ns / 2 ORDER BY s.start_ns DESC LIMIT 1)) AS times
FROM finding f JOIN lane l ON l.process = f.process AND l.device IS f.device JOIN place p ON p.id = f.place
    JOIN idle_time i ON i.process = f.process AND i.device IS f.device AND i.reason = f.what AND i.gap IS NOT NULL
        AND i.start_ns >= l.main_ns AND i.start_ns < l.main_end_ns
        AND EXISTS (SELECT 1 FROM frame r WHERE r.stack = i.stack AND r.function = p.function AND r.file IS p.file)
WHERE f.id IN (SELECT min(id) FROM finding WHERE phase = 1 AND steps > 0 GROUP BY process, device, what) AND f.title NOT LIKE '% a step'
    AND f.what IN ('compile', 'import', 'gc', 'traceback', 'child', 'benchmark', 'instantiating', 'loading')
GROUP BY f.id;
UPDATE finding SET title = title || (SELECT ', again in ' || min(a.times, a.steps) || ' of ' || a.steps || ' steps'
    FROM temp.ledger_again a WHERE a.finding = finding.id)
WHERE id IN (SELECT finding FROM temp.ledger_again WHERE times > 1 AND (2 * times >= steps OR 2 * ns >= lost_ns));
DROP TABLE temp.ledger_again;
-- What was compiled and is the same is known by its hash, whichever compiler it was.
UPDATE finding SET title = title || coalesce((
    SELECT ', ' || (count(*) - count(DISTINCT d.hash)) || ' of ' || count(*) || ' compilations repeat earlier ones'
    FROM load d JOIN thread t ON t.id = d.thread JOIN lane l ON l.process = t.process AND l.device IS finding.device
    WHERE t.process = finding.process AND d.library IS NULL AND d.hash <> 0 AND d.start_ns >= l.main_ns AND d.start_ns < l.main_end_ns
    GROUP BY t.process HAVING count(*) > count(DISTINCT d.hash) AND count(*) >= 2 * count(DISTINCT d.hash)), '')
WHERE id IN (SELECT min(id) FROM finding WHERE phase = 1 AND what = 'compile' GROUP BY process, device);
-- When memory ran out: an allocation failed, which has a stack then, or PyTorch's allocator gave its cache back, though
-- nobody had asked it to.
DROP TABLE IF EXISTS temp.ledger_short;
CREATE TEMP TABLE ledger_short (process INTEGER, at_ns INTEGER, PRIMARY KEY (process, at_ns)) WITHOUT ROWID;
INSERT OR IGNORE INTO temp.ledger_short
SELECT t.process, c.start_ns FROM call_stack k CROSS JOIN call c ON c.id = k.call JOIN thread t ON t.id = c.thread
WHERE EXISTS (SELECT 1 FROM finding WHERE phase = 1 AND what IN ('allocating', 'freeing')) AND ((c.result = 2 AND c.api IN (SELECT id FROM api WHERE class = 'alloc')) OR k.stack IN (SELECT f.stack FROM frame f WHERE f.function GLOB '*DeviceCachingAllocator::release_*cached_blocks(*'
    AND NOT EXISTS (SELECT 1 FROM frame e WHERE e.stack = f.stack AND e.function GLOB '*emptyCache*')));
UPDATE finding SET title = title || ', as memory runs out in ' || s.times || ' of ' || finding.steps || ' steps',
    fix = 'Find the size that fits once, and keep to it: a smaller batch, or less memory in use at a time. Work that was begun before memory ran out is done twice.'
FROM (SELECT f.id AS id, min(f.steps, (SELECT count(*) FROM step p WHERE p.series = l.series AND NOT p.warmup AND EXISTS (SELECT 1
            FROM temp.ledger_short h WHERE h.process = f.process AND h.at_ns BETWEEN p.start_ns AND p.start_ns + p.duration_ns))) AS times
    FROM finding f JOIN lane l ON l.process = f.process AND l.device IS f.device
    WHERE f.id IN (SELECT min(id) FROM finding WHERE phase = 1 AND what IN ('allocating', 'freeing') GROUP BY process, device)) s
WHERE s.id = finding.id AND s.times > 1 AND 2 * s.times >= finding.steps;
DROP TABLE temp.ledger_short;

-- name: parents
SELECT id, parent_pid, executable, arguments FROM process WHERE parent_pid NOT NULL ORDER BY start_ns;

-- name: slow_steps_line
-- The line at which slow steps are idle more than as many others are: where most of what they take longer is lost.
DROP TABLE IF EXISTS temp.ledger_slow;
CREATE TEMP TABLE ledger_slow (from_ns INTEGER PRIMARY KEY, until_ns INTEGER);
INSERT OR IGNORE INTO temp.ledger_slow
WITH most AS (
    SELECT series, kind FROM step WHERE series = (SELECT l.series FROM finding f JOIN lane l ON l.process = f.process AND l.device IS f.device
        WHERE f.what = 'slow-steps') GROUP BY kind ORDER BY count(*) DESC, kind LIMIT 1),
steady AS (
    SELECT start_ns, duration_ns, row_number() OVER (ORDER BY duration_ns) AS number, count(*) OVER () AS count
    FROM most m JOIN step s ON s.series = m.series AND s.kind = m.kind WHERE NOT s.warmup)
SELECT s.start_ns, s.start_ns + s.duration_ns FROM steady m JOIN steady s ON 2 * s.duration_ns >= 3 * m.duration_ns WHERE m.number = (m.count + 1) / 2;
DROP TABLE IF EXISTS temp.ledger_slow_idle;
CREATE TEMP TABLE ledger_slow_idle AS
SELECT i.process AS process, i.device AS device, p.place AS place, sum(i.duration_ns) AS ns
FROM idle_time i JOIN stack_place p ON p.stack = i.stack
WHERE i.gap IS NOT NULL AND i.start_ns + i.duration_ns / 2 < (SELECT until_ns FROM temp.ledger_slow
    WHERE from_ns <= i.start_ns + i.duration_ns / 2 ORDER BY from_ns DESC LIMIT 1)
GROUP BY 1, 2, 3;
UPDATE finding SET place = (SELECT s.place FROM temp.ledger_slow_idle s
    WHERE s.process = finding.process AND s.device IS finding.device
        AND 2 * (s.ns - finding.count * ((SELECT sum(r.total_ns) FROM ledger_row r WHERE r.process = s.process AND r.device IS s.device
            AND r.phase = 1 AND r.place = s.place AND r.what IN (SELECT reason FROM idle_time)) - s.ns) / (finding.steps - finding.count))
        >= finding.lost_ns
    ORDER BY s.ns DESC LIMIT 1)
WHERE what = 'slow-steps' AND steps > count;
DROP TABLE temp.ledger_slow;
DROP TABLE temp.ledger_slow_idle;

-- name: minutes_begin
-- How much of each cell is in which row of ledger_row; when the time of each cell was; and which share another one's minutes.
DROP TABLE IF EXISTS temp.ledger_deal;
CREATE TEMP TABLE ledger_deal (cell INTEGER, row INTEGER, ns INTEGER);
DROP TABLE IF EXISTS temp.ledger_entry;
CREATE TEMP TABLE ledger_entry (cell INTEGER, minute INTEGER, ns INTEGER, first_ns INTEGER, count INTEGER, is_idle INTEGER);
DROP TABLE IF EXISTS temp.ledger_shared;
CREATE TEMP TABLE ledger_shared (cell INTEGER PRIMARY KEY, other INTEGER);

-- name: deal
INSERT INTO temp.ledger_deal VALUES (?1, ?2, ?3);

-- name: add_minute
INSERT INTO temp.ledger_entry VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: add_shared
INSERT INTO temp.ledger_shared VALUES (?1, ?2);

-- define: part(amount)
-- What a row has of it: all parts together are the amount.
(CAST({amount} * d.until AS INTEGER) - CAST({amount} * d.since AS INTEGER))

-- name: minutes_store
-- The 32 largest rows of each minute, and the rest by account.
DROP TABLE IF EXISTS temp.ledger_dealt;
CREATE TEMP TABLE ledger_dealt (cell INTEGER, row INTEGER, since REAL, until REAL, PRIMARY KEY (cell, row)) WITHOUT ROWID;
INSERT INTO temp.ledger_dealt
SELECT cell, row, (sum(ns) OVER cells - ns) * 1.0 / sum(ns) OVER (PARTITION BY cell), sum(ns) OVER cells * 1.0 / sum(ns) OVER (PARTITION BY cell)
FROM (SELECT cell, row, sum(ns) AS ns FROM temp.ledger_deal GROUP BY cell, row) WINDOW cells AS (PARTITION BY cell ORDER BY row);
INSERT INTO ledger_minute (minute, process, device, phase, what, place, claimed, total_ns, count, error_ns, first_half_ns, idle_ns, confidence)
WITH part AS (
    SELECT e.minute AS minute, d.row AS row, sum({part(e.ns)}) AS ns, sum({part(e.first_ns)}) AS first_ns, sum({part(e.count)}) AS count,
        sum(e.is_idle * {part(e.ns)}) AS idle_ns
    FROM temp.ledger_entry e LEFT JOIN temp.ledger_shared s ON s.cell = e.cell
        CROSS JOIN temp.ledger_dealt d ON d.cell = coalesce(s.other, e.cell) GROUP BY e.minute, d.row),
ranked AS (
    SELECT p.minute AS minute, r.id AS id, r.process AS process, r.device AS device, r.phase AS phase, r.what AS what, r.place AS place, r.claimed AS claimed,
        p.ns AS ns, min(p.first_ns, p.ns) AS first_ns, p.count AS count, p.idle_ns AS idle_ns, r.error_ns * 1.0 * p.ns / r.total_ns AS error_ns, r.confidence AS confidence,
        row_number() OVER (PARTITION BY p.minute, r.process, r.device ORDER BY p.ns DESC, r.id) <= 32 AS is_large
    FROM part p CROSS JOIN ledger_row r ON r.id = p.row WHERE p.ns > 0)
SELECT minute, process, device, phase, what, CASE WHEN is_large THEN place END, CASE WHEN is_large THEN claimed END,
    sum(ns), sum(count), CAST(sum(error_ns) AS INTEGER), sum(first_ns), sum(idle_ns), min(confidence)
FROM ranked GROUP BY minute, process, device, phase, what, CASE WHEN is_large THEN id END;
DROP TABLE temp.ledger_deal;
DROP TABLE temp.ledger_entry;
DROP TABLE temp.ledger_shared;
DROP TABLE temp.ledger_dealt;
