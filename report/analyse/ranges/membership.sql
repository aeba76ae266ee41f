-- What decides which ranges a call is in.

-- define: end
coalesce(start_ns + duration_ns, 9223372036854775807)

-- name: range
-- The columns are those of enum range_column.
SELECT id, start_ns, {end}, parent FROM range WHERE id = ?1 AND kind = 1;

-- name: pushes
-- Of the thread ?1, after the range ?2: ?4 of them.
SELECT id, start_ns, {end}, parent FROM range
WHERE thread = ?1 AND kind = 1 AND id > ?2 ORDER BY id LIMIT ?4;

-- name: starts_table
CREATE TEMP TABLE IF NOT EXISTS membership_start (process INTEGER, start_ns INTEGER, id INTEGER,
    end_ns INTEGER, PRIMARY KEY (process, start_ns, id)) WITHOUT ROWID;
INSERT OR IGNORE INTO temp.membership_start
SELECT t.process, r.start_ns, r.id, {end}
FROM range r JOIN thread t ON t.id = r.thread WHERE r.kind = 2;

-- name: starts
-- Of the process ?1, after the range ?2, which started at ?3: ?4 of them.
SELECT id, start_ns, end_ns, 0 FROM temp.membership_start
WHERE process = ?1 AND (start_ns, id) > (?3, ?2) ORDER BY start_ns, id LIMIT ?4;

-- name: pushers
-- Of each process: how many threads push, and one of them.
SELECT t.process, count(*), min(r.thread)
FROM (SELECT DISTINCT thread FROM range WHERE kind = 1) r JOIN thread t ON t.id = r.thread
GROUP BY t.process;

-- name: changes
-- ?1: thread, ?2: the last call that is known, ?3: how many
SELECT call, range FROM call_range WHERE thread = ?1 AND call > ?2 ORDER BY call LIMIT ?3;
