-- Collectives of all ranks of a trace: what they did, and who came late.

-- define: point_to_point
('send', 'receive')

-- name: any_captured
-- Collectives that may have been captured into a graph: they did not run themselves.
SELECT EXISTS (SELECT 1 FROM collective WHERE operation IS NULL)
    AND EXISTS (SELECT 1 FROM api WHERE gpu_work = 2);

-- name: new_replays
-- Launches of graphs into which collectives were captured. A graph is known on all ranks by its first collective,
-- and the n-th launch on one rank is the n-th one on the others.
DROP TABLE IF EXISTS temp.replay;
CREATE TEMP TABLE replay (collective INTEGER, process INTEGER, communicator INTEGER, sequence INTEGER,
    replay INTEGER, call INTEGER PRIMARY KEY, start_ns INTEGER, end_ns INTEGER);
DROP TABLE IF EXISTS temp.captured;
CREATE TEMP TABLE captured (collective INTEGER PRIMARY KEY, process INTEGER, graph INTEGER, end_ns INTEGER,
    communicator INTEGER, sequence INTEGER);

-- name: find_replays
DROP TABLE IF EXISTS temp.job_capture;
CREATE TEMP TABLE job_capture AS
SELECT process, thread, start_ns AS begin_ns, end_ns, graph
FROM (SELECT t.process, c.thread, c.start_ns, a.begins_capture,
        lead(c.start_ns + c.duration_ns) OVER w AS end_ns, lead(a.ends_capture) OVER w AS ends,
        lead(c.object) OVER w AS graph
    FROM call c JOIN api a ON a.id = c.api JOIN thread t ON t.id = c.thread
    WHERE c.api IN (SELECT id FROM api WHERE begins_capture OR ends_capture) AND coalesce(c.result, 0) = 0
    WINDOW w AS (PARTITION BY t.process, c.stream ORDER BY c.start_ns))
WHERE begins_capture AND ends;
CREATE INDEX temp.job_capture_begin ON job_capture (thread, begin_ns, end_ns);
-- A thread may capture several streams at once.
INSERT OR IGNORE INTO temp.captured
SELECT k.id, x.process, x.graph, x.end_ns, k.communicator, k.sequence
FROM collective k JOIN call c ON c.id = k.call JOIN temp.job_capture x ON x.rowid = (
    SELECT rowid FROM (SELECT rowid, end_ns FROM temp.job_capture j WHERE j.thread = c.thread AND j.begin_ns <= c.start_ns
        ORDER BY j.begin_ns DESC LIMIT 4)
    WHERE end_ns >= c.start_ns LIMIT 1)
WHERE k.operation IS NULL AND k.sequence IS NOT NULL;
-- The first of each capture.
DROP TABLE IF EXISTS temp.job_graph;
CREATE TEMP TABLE job_graph AS
SELECT min(collective) AS collective, process, graph, end_ns FROM temp.captured GROUP BY process, graph, end_ns;
CREATE INDEX temp.job_graph_end ON job_graph (process, graph, end_ns);
-- What can be launched, and from when on it is the graph that was captured.
DROP TABLE IF EXISTS temp.job_executable;
CREATE TEMP TABLE job_executable AS
SELECT process, executable, from_ns,
    (SELECT g.collective FROM temp.job_graph g WHERE g.process = made.process AND g.graph = made.graph
        AND g.end_ns <= made.from_ns ORDER BY g.end_ns DESC LIMIT 1) AS collective
FROM (SELECT t.process, c.object AS executable, o.object AS graph, c.start_ns AS from_ns
    FROM call c JOIN thread t ON t.id = c.thread JOIN call_object o ON o.call = c.id
    WHERE c.api IN (SELECT id FROM api WHERE class = 'graph') AND coalesce(c.result, 0) = 0) made;
CREATE INDEX temp.job_executable_from ON job_executable (process, executable, from_ns);
INSERT INTO temp.replay
SELECT k.id, t.process, k.communicator, k.sequence, row_number() OVER (
        PARTITION BY t.process, k.communicator, k.sequence, k.rank ORDER BY c.start_ns, c.id), c.id, NULL, NULL
FROM call c JOIN thread t ON t.id = c.thread
    JOIN temp.job_executable e ON e.rowid = (SELECT rowid FROM temp.job_executable x
        WHERE x.process = t.process AND x.executable = c.object AND x.from_ns <= c.start_ns ORDER BY x.from_ns DESC LIMIT 1)
    JOIN collective k ON k.id = e.collective
WHERE c.api IN (SELECT id FROM api WHERE gpu_work = 2) AND coalesce(c.result, 0) = 0;
DROP TABLE IF EXISTS temp.job_ran;
CREATE TEMP TABLE job_ran (call INTEGER PRIMARY KEY, start_ns INTEGER, end_ns INTEGER);
INSERT INTO temp.job_ran
SELECT call, min(start_ns), max(start_ns + duration_ns) FROM gpu_op
WHERE call IN (SELECT call FROM temp.replay) AND duration_ns IS NOT NULL GROUP BY call;
UPDATE temp.replay SET start_ns = (SELECT start_ns FROM temp.job_ran r WHERE r.call = replay.call),
    end_ns = (SELECT end_ns FROM temp.job_ran r WHERE r.call = replay.call);

-- name: meetings
-- What tells clocks apart: collectives that end nowhere before all ranks have begun. The last begin and the first end
-- in this trace.
SELECT communicator, sequence, 0, max(o.start_ns), min(o.start_ns + o.duration_ns)
FROM collective k JOIN gpu_op o ON o.id = k.operation
WHERE k.kind IN ('all-reduce', 'all-gather', 'reduce-scatter') AND o.start_ns IS NOT NULL AND o.duration_ns IS NOT NULL
GROUP BY 1, 2
UNION ALL
SELECT r.communicator, r.sequence, r.replay, max(r.start_ns), min(r.end_ns)
FROM temp.replay r JOIN collective k ON k.id = r.collective
WHERE k.kind IN ('all-reduce', 'all-gather', 'reduce-scatter') AND r.end_ns IS NOT NULL
GROUP BY 1, 2, 3;

-- name: new_meetings
CREATE TABLE seen (communicator INTEGER, sequence INTEGER, replay INTEGER, trace INTEGER, start_ns INTEGER,
    end_ns INTEGER, PRIMARY KEY (trace, communicator, sequence, replay)) WITHOUT ROWID;
-- Of a machine, whose traces have one clock, that of its first trace: the last begin and the first end.
CREATE TABLE meeting (communicator INTEGER, sequence INTEGER, replay INTEGER, trace INTEGER, start_ns INTEGER,
    end_ns INTEGER, PRIMARY KEY (communicator, sequence, replay, trace)) WITHOUT ROWID;
CREATE INDEX meeting_trace ON meeting (trace);

-- name: contradicts
-- Whether ?2 ended something before a trace of machine ?1 began it, or the other way round, if ?3 is added to its times.
SELECT EXISTS (SELECT 1 FROM seen b CROSS JOIN meeting a USING (communicator, sequence, replay)
WHERE b.trace = ?2 AND a.trace = ?1 AND (b.start_ns + ?3 > a.end_ns OR a.start_ns > b.end_ns + ?3));

-- name: join_machine
-- ?1: the trace, ?2: the first of its machine, ?3: what is added to its times.
INSERT INTO meeting SELECT communicator, sequence, replay, ?2, start_ns + ?3, end_ns + ?3 FROM seen WHERE trace = ?1
ON CONFLICT (communicator, sequence, replay, trace) DO UPDATE SET start_ns = max(start_ns, excluded.start_ns), end_ns = min(end_ns, excluded.end_ns);

-- name: shared
-- How many collectives each machine has in common with the first machine of each of them.
SELECT first, trace, count(*) FROM (SELECT trace, min(trace) OVER (PARTITION BY communicator, sequence, replay) AS first
    FROM meeting)
WHERE first < trace GROUP BY 1, 2 ORDER BY 3 DESC;

-- name: at_most
-- Machine ?2 against ?1: neither ends before the other has begun.
SELECT b.start_ns, a.end_ns - b.start_ns FROM meeting a JOIN meeting b USING (communicator, sequence, replay)
WHERE a.trace = ?1 AND b.trace = ?2 ORDER BY 1;

-- name: at_least
SELECT b.end_ns, a.start_ns - b.end_ns FROM meeting a JOIN meeting b USING (communicator, sequence, replay)
WHERE a.trace = ?1 AND b.trace = ?2 ORDER BY 1;

-- name: ends
-- Every ?3-th one.
SELECT at_ns, difference_ns FROM (
    SELECT b.end_ns AS at_ns, a.end_ns - b.end_ns AS difference_ns, row_number() OVER (ORDER BY b.end_ns) AS number
    FROM meeting a JOIN meeting b USING (communicator, sequence, replay) WHERE a.trace = ?1 AND b.trace = ?2)
WHERE number % ?3 = 0 ORDER BY 1;

-- name: version
SELECT value FROM main.meta WHERE key = 'collectives'
    AND EXISTS (SELECT 1 FROM main.meta WHERE key = 'state' AND value = 'complete');

-- name: is_complete
SELECT count(*) FROM main.meta WHERE key = 'state' AND value = 'complete';

-- define: longest_of(what)
-- The one that takes most of the time in which the others waited. One of half of it began in the first half.
(SELECT id FROM (
        SELECT * FROM (SELECT id, min(x.end_ns, l.last_ns) - max(x.start_ns, l.first_ns) AS ns FROM temp.job_gap x
            WHERE what = '{what}' AND x.process = l.process
                AND x.start_ns BETWEEN l.first_ns AND l.first_ns + (l.last_ns - l.first_ns) / 2 + 1
            ORDER BY x.start_ns DESC LIMIT 1000)
        UNION ALL SELECT * FROM (SELECT id, min(x.end_ns, l.last_ns) - max(x.start_ns, l.first_ns) AS ns FROM temp.job_gap x
            WHERE what = '{what}' AND x.process = l.process AND x.start_ns < l.first_ns ORDER BY x.start_ns DESC LIMIT 4))
    WHERE ns >= (l.last_ns - l.first_ns) / 2 ORDER BY ns DESC LIMIT 1)

-- name: make_groups
-- In the order of the collectives, and in each one of arrival.
DROP TABLE IF EXISTS temp.job_member;
CREATE TEMP TABLE job_member (id INTEGER PRIMARY KEY, communicator INTEGER, sequence INTEGER, replay INTEGER,
    collective INTEGER, process INTEGER, kind TEXT, bytes INTEGER, arrival_ns INTEGER, end_ns INTEGER);
INSERT INTO temp.job_member (communicator, sequence, replay, collective, process, kind, bytes, arrival_ns, end_ns)
SELECT k.communicator, k.sequence, 0, k.id, t.process, k.kind, k.bytes, coalesce(o.start_ns, c.start_ns),
    o.start_ns + o.duration_ns
FROM collective k JOIN call c ON c.id = k.call JOIN thread t ON t.id = c.thread
    LEFT JOIN gpu_op o ON o.id = k.operation
WHERE k.kind NOT IN {point_to_point} AND k.id NOT IN (SELECT collective FROM temp.captured)
UNION ALL
SELECT r.communicator, r.sequence, r.replay, r.collective, r.process, 'graph', NULL, r.start_ns, r.end_ns
FROM temp.replay r WHERE r.start_ns IS NOT NULL
ORDER BY 1, 2, 3, 8;
INSERT INTO collective_group (communicator, sequence, replay, kind, bytes, ranks, first_ns, last_ns, end_ns, late, wait_ns)
SELECT g.communicator, g.sequence, g.replay, l.kind, g.bytes, g.ranks, g.first_ns, g.last_ns, g.end_ns, l.collective,
    g.wait_ns / (g.ranks - 1)
FROM (SELECT communicator, sequence, replay, max(id) AS last, max(bytes) AS bytes, count(*) AS ranks,
        min(arrival_ns) AS first_ns, max(arrival_ns) AS last_ns, max(end_ns) AS end_ns, sum(last_ns - arrival_ns) AS wait_ns
    FROM (SELECT *, max(arrival_ns) OVER (PARTITION BY communicator, sequence, replay) AS last_ns FROM temp.job_member)
    GROUP BY communicator, sequence, replay HAVING count(*) > 1) g
    JOIN temp.job_member l ON l.id = g.last
ORDER BY g.first_ns;
CREATE UNIQUE INDEX temp.job_group ON job_member (communicator, sequence, replay, id);
INSERT INTO collective_member (collective, process, together, arrival_ns, end_ns, wait_ns)
SELECT m.collective, m.process, g.id, m.arrival_ns, m.end_ns, g.last_ns - m.arrival_ns
FROM collective_group g JOIN temp.job_member m
    ON m.communicator = g.communicator AND m.sequence = g.sequence AND m.replay = g.replay;
DROP TABLE temp.job_member;
-- What the late rank did while the others waited: a stall or an idle time of at least half of that; or else short idle
-- times of that length. Of the rest, its GPU was busy.
DROP TABLE IF EXISTS temp.job_late;
CREATE TEMP TABLE job_late (id INTEGER PRIMARY KEY, process INTEGER, first_ns INTEGER, last_ns INTEGER, wait_ns INTEGER);
INSERT OR IGNORE INTO temp.job_late
SELECT g.id, m.process, g.first_ns, g.last_ns, g.wait_ns
FROM collective_group g JOIN collective_member m ON m.together = g.id AND m.collective = g.late
WHERE g.wait_ns >= ?1;
DROP TABLE IF EXISTS temp.job_gap;
CREATE TEMP TABLE job_gap AS
SELECT 'idle' AS what, process, id, start_ns, start_ns + duration_ns AS end_ns FROM idle_time WHERE gap IS NOT NULL
UNION ALL SELECT 'stall', process, id, start_ns, start_ns + duration_ns FROM stalls WHERE NOT expected;
CREATE INDEX temp.job_gap_start ON job_gap (what, process, start_ns);
DROP TABLE IF EXISTS temp.job_short;
CREATE TEMP TABLE job_short AS
SELECT process, id, duration_ns / gaps AS each_ns, duration_ns AS total_ns FROM idle_time WHERE gap IS NULL;
CREATE INDEX temp.job_short_process ON job_short (process, total_ns);
UPDATE collective_group SET stall = (SELECT {longest_of(stall)} FROM temp.job_late l WHERE l.id = collective_group.id)
WHERE id IN (SELECT id FROM temp.job_late);
UPDATE collective_group SET idle = (SELECT coalesce({longest_of(idle)}, (SELECT s.id FROM temp.job_short s
        WHERE s.process = l.process AND s.each_ns >= l.wait_ns / 2 ORDER BY s.total_ns DESC LIMIT 1))
    FROM temp.job_late l WHERE l.id = collective_group.id)
WHERE stall IS NULL AND id IN (SELECT id FROM temp.job_late);
UPDATE collective_group SET reason = (SELECT cause FROM stall WHERE id = collective_group.stall),
    detail = (SELECT name FROM stalls WHERE id = collective_group.stall),
    stack = (SELECT stack FROM stalls WHERE id = collective_group.stall)
WHERE stall IS NOT NULL;
UPDATE collective_group SET reason = (SELECT reason FROM idle_time WHERE id = collective_group.idle),
    detail = (SELECT detail FROM idle_time WHERE id = collective_group.idle),
    stack = (SELECT stack FROM idle_time WHERE id = collective_group.idle)
WHERE idle IS NOT NULL;
UPDATE collective_group SET reason = 'gpu-work'
WHERE reason IS NULL AND wait_ns >= ?1;
DROP TABLE temp.job_late;
DROP TABLE temp.job_gap;
DROP TABLE temp.job_short;

-- name: stacks
SELECT stack FROM collective_group WHERE stack > 0
UNION SELECT x.stack FROM collective k JOIN call_stack x ON x.call = k.call;

-- define: late_groups(least)
-- Collectives to which a rank came noticeably late, what kept it, and in which function: a look that is late by some lines found
-- the same.
(SELECT g.id, g.late, t.process, g.reason, g.detail, g.stall, s.place, g.stack, g.wait_ns,
        coalesce(p.file, p.library) || ' ' || coalesce(p.function, p.line, '') AS function
    FROM collective_group g JOIN collective k ON k.id = g.late JOIN call c ON c.id = k.call
        JOIN thread t ON t.id = c.thread LEFT JOIN stack_place s ON s.stack = g.stack LEFT JOIN place p ON p.id = s.place
    WHERE g.reason IS NOT NULL AND g.wait_ns >= {least})

-- name: late_rank
-- One function of one rank for which the others waited longest, and the line and the reason that say most of it.
SELECT l.process, coalesce(r.rank, (SELECT rank FROM collective WHERE id = l.late)), total_ns, l.id, l.reason, l.detail,
    l.stack, l.stall IS NOT NULL
FROM (SELECT id, process, reason, detail, stall, stack, late, sum(ns) AS total_ns, max(ns)
    FROM (SELECT id, process, function, reason, detail, stall, stack, late, sum(wait_ns) AS ns, max(wait_ns)
        FROM {late_groups(?1)} GROUP BY process, place, reason, iif(place IS NULL, detail, NULL))
    GROUP BY process, coalesce(function, reason)) l
    LEFT JOIN process_rank r ON r.process = l.process
ORDER BY total_ns DESC LIMIT 1;

-- define: is_that
-- Of a late group l: ?1: the process; ?2: one of those in this function, or without one for this reason.
(l.process = ?1 AND coalesce(l.function, l.reason) = (SELECT coalesce(o.function, o.reason) FROM {late_groups(?3)} o WHERE o.id = ?2))

-- name: late_steps
-- Of the rank's steps that have a collective, those in which it was late. Its series with the most steps.
SELECT count(*), count(wait_ns), coalesce(sum(wait_ns), 0), 1
FROM (SELECT step, max(wait_ns) AS wait_ns
    FROM (SELECT number, wait_ns, max(number) OVER (ORDER BY at_ns, number IS NULL) AS step
        FROM (SELECT number, start_ns AS at_ns, NULL AS wait_ns FROM step WHERE series = (
                SELECT e.id FROM step_series e JOIN step s ON s.series = e.id WHERE e.process = ?1
                GROUP BY e.id ORDER BY count(*) DESC LIMIT 1)
            UNION ALL SELECT NULL, m.arrival_ns, l.wait_ns
            FROM collective_member m LEFT JOIN {late_groups(?3)} l
                ON l.id = m.together AND l.late = m.collective AND {is_that}
            WHERE m.process = ?1))
    WHERE number IS NULL AND step IS NOT NULL GROUP BY step);

-- name: late_collectives
SELECT (SELECT count(*) FROM collective_member WHERE process = ?1), count(*), coalesce(sum(wait_ns), 0), 0
FROM {late_groups(?3)} l WHERE {is_that};

-- name: forget_waits
DELETE FROM finding WHERE what = 'collective';

-- name: add_waits
-- The rank that waited longest for others in collectives, where nothing else computed, from ?1 each: at least a twentieth of its time,
-- as for the fact "late rank". What made that rank late is a finding of its own, which saves it.
INSERT INTO finding (key, process, device, phase, what, place, lost_ns, phase_ns, error_ns, count, steps, confidence, title, fix)
SELECT 'collective ' || coalesce((SELECT replace(coalesce(file, library, ''), rtrim(coalesce(file, library, ''),
            replace(coalesce(file, library, ''), '/', '')), '') || ' ' || coalesce(function, '') FROM place WHERE id = w.place), ''),
    w.process, w.device, 1, 'collective', w.place, w.lost_ns, w.phase_ns, 0, w.count, w.steps, 'measured',
    printf('waiting in collectives for other ranks, mostly rank %d, in rank %d', (
        SELECT coalesce(r.rank, k.rank) FROM collective_member m JOIN collective_group g ON g.id = m.together
            JOIN collective k ON k.id = g.late JOIN call c ON c.id = k.call JOIN thread t ON t.id = c.thread LEFT JOIN process_rank r ON r.process = t.process
        WHERE m.process = w.process GROUP BY t.process ORDER BY sum(m.wait_ns) DESC LIMIT 1),
        coalesce((SELECT rank FROM process_rank WHERE process = w.process), w.rank)),
    'Give each rank as much to do, or speed up what keeps that rank: gpuverify report FILE --section ranks.'
FROM (
    SELECT l.process AS process, l.device AS device, l.steps AS steps, l.main_end_ns - l.main_ns AS phase_ns, k.rank AS rank, s.place AS place,
        max(sum(m.wait_ns)) OVER (PARTITION BY l.process) AS most_ns, sum(m.wait_ns) AS ns, sum(count(*)) OVER (PARTITION BY l.process) AS count,
        min(sum(sum(m.wait_ns)) OVER (PARTITION BY l.process), coalesce((SELECT sum(total_ns) FROM ledger_row r
            WHERE r.process = l.process AND r.device IS l.device AND r.phase = 1 AND r.what = 'collective'), 0)) AS lost_ns
    FROM collective_member m JOIN lane l ON l.rowid = (SELECT min(rowid) FROM lane WHERE process = m.process)
        JOIN collective k ON k.id = m.collective LEFT JOIN call_stack x ON x.call = k.call LEFT JOIN stack_place s ON s.stack = x.stack
    WHERE m.wait_ns >= ?1 AND m.arrival_ns >= l.main_ns AND m.arrival_ns < l.main_end_ns
    GROUP BY l.process, s.place) w
WHERE w.ns = w.most_ns AND w.lost_ns > 0 AND w.lost_ns >= w.phase_ns / 20
ORDER BY w.lost_ns DESC LIMIT 1;
