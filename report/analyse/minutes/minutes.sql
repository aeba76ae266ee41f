-- name: older
-- From the first one to the last one, of those in ?1 to ?2: count, and their times.
WITH span AS (SELECT max((SELECT min(minute) FROM older), ?1 / 60000000000) AS first,
        min((SELECT max(minute) FROM older), (?2 - 1) / 60000000000) AS last)
SELECT last - first + 1, first * 60000000000, (last + 1) * 60000000000 FROM span WHERE first <= last;

-- name: keep
-- The view sorts several times at once, each time with as much memory as the cache may have.
PRAGMA main.cache_size = -2048;
BEGIN IMMEDIATE;
DELETE FROM main.minute_total;
CREATE TEMP TABLE minute_kept AS
SELECT minute_ns / 60000000000 AS minute, coalesce(process, 0) AS process, what, coalesce(name, '?') AS name, count,
    total_ns, max_ns, bytes
FROM minutes WHERE minute_ns >= (SELECT value FROM meta WHERE key = 'full_from_ns');
INSERT OR IGNORE INTO main.older_name (text) SELECT DISTINCT name FROM temp.minute_kept;
INSERT INTO main.minute_total
SELECT k.minute, k.process, w.id, n.id, k.count, k.total_ns, k.max_ns, k.bytes
FROM temp.minute_kept k JOIN minute_what w ON w.name = k.what JOIN older_name n ON n.text = k.name;
DROP TABLE temp.minute_kept;
COMMIT;
PRAGMA main.cache_size = -16384;

-- name: make_tables
-- minute_all: rows of minutes that count here. minute_row: those of the part. what: as in minutes, and "time":
-- recorded by each process, "all": by any; "window": with the GPU side, of all together; "seen": the time of
-- which busy and kernel are sums. minute_bucket: start_ns: its first minute. Times as in minutes; idle_reason, stall_cause: those
-- that took most. minute_change: at_ns: the first minute after it. before, after: share of the time;
-- before_ns, after_ns: mean of one.
CREATE TEMP TABLE minute_all (minute_ns INTEGER, process INTEGER, what TEXT, name TEXT, count INTEGER,
    total_ns INTEGER, max_ns INTEGER, bytes INTEGER);
CREATE TEMP TABLE minute_row (minute_ns INTEGER, what TEXT, name TEXT, count INTEGER, total_ns INTEGER,
    max_ns INTEGER);
CREATE TEMP TABLE minute_bucket (start_ns INTEGER, length_ns INTEGER, time_ns INTEGER, all_ns INTEGER, window_ns INTEGER,
    seen_ns INTEGER, busy_ns INTEGER,
    devices INTEGER, idle_ns INTEGER, idle_reason TEXT, idle_reason_ns INTEGER, lost_ns INTEGER, stall_cause TEXT,
    stall_cause_ns INTEGER, longest_ns INTEGER, launches INTEGER);
CREATE TEMP TABLE minute_change (what TEXT, name TEXT, at_ns INTEGER, before REAL, after REAL,
    before_ns INTEGER, after_ns INTEGER);

-- name: read
-- ?1: process, 0: all. ?2, ?3: from, to: minutes of which at least half is in it. ?4: kernels that took less in a
-- minute are left out: they do not count. Not grouped, as that takes longest.
INSERT INTO temp.minute_all
SELECT minute_ns, process, what, name, count, total_ns, max_ns, bytes FROM minutes
WHERE what IN ('recorded', 'busy', 'idle', 'stall', 'kernel', 'launch', 'graph', 'copy', 'set', 'call')
    AND minute_ns >= ?2 - 30000000000 AND minute_ns < ?3 - 30000000000 AND (what <> 'kernel' OR total_ns >= ?4);
INSERT INTO temp.minute_row
SELECT minute_ns, CASE WHEN what <> 'recorded' THEN what WHEN name = 'calls' THEN 'time' ELSE 'seen' END,
    CASE WHEN what IN ('busy', 'idle', 'stall', 'kernel') THEN name END, count, total_ns, max_ns
FROM temp.minute_all
WHERE what IN ('recorded', 'busy', 'idle', 'stall', 'kernel', 'launch')
    AND CASE WHEN what = 'busy' THEN 1 WHEN ?1 = 0 THEN (process IS NULL) = (what = 'recorded' AND name <> 'calls')
        ELSE process IS ?1 END;
INSERT INTO temp.minute_row
SELECT minute_ns, CASE name WHEN 'calls' THEN 'all' ELSE 'window' END, NULL, count, total_ns, max_ns
FROM temp.minute_all WHERE what = 'recorded' AND process IS nullif(?1, 0);
-- name: extent
-- The clock: of the trace's start.
SELECT min(minute_ns), max(minute_ns), coalesce((SELECT value FROM meta WHERE key = 'start_unix_ns'), 0)
FROM temp.minute_row;

-- define: most(what, column)
-- Bare columns beside a max() are of its row.
(SELECT {column} FROM (SELECT name, max(ns) AS ns FROM named WHERE named.at = sums.at AND named.what = '{what}'))

-- name: buckets
-- ?1: a bucket's length, ?2: from where buckets are counted to the session's start.
INSERT INTO temp.minute_bucket
WITH named AS (SELECT (minute_ns + ?2) / ?1 AS at, what, name, CAST(total(total_ns) AS INTEGER) AS ns FROM temp.minute_row
    WHERE what IN ('idle', 'stall') GROUP BY 1, 2, 3),
sums AS (SELECT (minute_ns + ?2) / ?1 AS at, min(minute_ns) AS start_ns,
        max(minute_ns) + 60000000000 - min(minute_ns) AS length_ns, total(CASE WHEN what = 'time' THEN total_ns END) AS time_ns,
        total(CASE WHEN what = 'all' THEN total_ns END) AS all_ns, total(CASE WHEN what = 'window' THEN total_ns END) AS window_ns,
        total(CASE WHEN what = 'seen' THEN total_ns END) AS seen_ns,
        total(CASE WHEN what = 'busy' THEN total_ns END) AS busy_ns, total(CASE WHEN what = 'idle' THEN total_ns END) AS idle_ns,
        total(CASE WHEN what = 'stall' THEN total_ns END) AS lost_ns, max(CASE WHEN what = 'stall' THEN max_ns END) AS longest_ns,
        total(CASE WHEN what = 'launch' THEN count END) AS launches
    FROM temp.minute_row GROUP BY 1)
SELECT start_ns, length_ns, CAST(time_ns AS INTEGER), CAST(all_ns AS INTEGER), CAST(window_ns AS INTEGER), CAST(seen_ns AS INTEGER), CAST(busy_ns AS INTEGER),
    (SELECT count(DISTINCT name) FROM temp.minute_row WHERE what = 'busy'), CAST(idle_ns AS INTEGER), {most(idle, name)}, {most(idle, ns)},
    CAST(lost_ns AS INTEGER), {most(stall, name)}, {most(stall, ns)}, longest_ns, CAST(launches AS INTEGER)
FROM sums ORDER BY at;

-- name: series
-- ?1: a bin's length, ?2: the first one's start. The times first.
SELECT what, name, (minute_ns - ?2) / ?1 AS at, total(total_ns), total(count) FROM temp.minute_row
WHERE what IN ('time', 'seen', 'busy', 'idle', 'stall', 'kernel') AND name IS NOT 'others'
GROUP BY 1, 2, 3 ORDER BY what NOT IN ('time', 'seen'), what, name, at;

-- name: near
-- Each minute of ?1 to ?2 in which time was recorded: of what and name ?3 and ?4, and of the time ?5.
SELECT minute_ns, total(CASE WHEN what = ?3 THEN total_ns END), total(CASE WHEN what = ?3 THEN count END),
    total(CASE WHEN what = ?5 THEN total_ns END) AS time_ns
FROM temp.minute_row
WHERE minute_ns >= ?1 AND minute_ns < ?2 AND (what = ?5 OR (what = ?3 AND name IS ?4))
GROUP BY minute_ns HAVING time_ns > 0 ORDER BY minute_ns;

-- name: change
INSERT INTO temp.minute_change (at_ns, what, name, before, after, before_ns, after_ns) VALUES (?1, ?3, ?4, ?5, ?6, ?7, ?8);
