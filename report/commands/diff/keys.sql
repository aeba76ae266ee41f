-- The findings and facts of several traces, which are rows of the tables finding and fact. Stalls are compared by themselves.

-- define: of_side
-- ?1: the first trace of a side; ?2: the first beyond; ?3: how many.
count(DISTINCT run) FROM finding WHERE run >= ?1 AND run < ?2 AND key IS NOT NULL AND what <> 'unexpected-waits'
GROUP BY 1 ORDER BY count(DISTINCT run) DESC, min(id), 1 LIMIT ?3

-- name: keys
SELECT rtrim(key), {of_side};

-- name: named
-- As the rows of the findings are called.
SELECT {finding_name}, {of_side};

-- name: facts
-- ?1, ?2, ?3: the same.
SELECT name, count(DISTINCT run) FROM fact WHERE run >= ?1 AND run < ?2
GROUP BY name ORDER BY count(DISTINCT run) DESC, min(rowid) LIMIT ?3;

-- name: of_run
SELECT * FROM finding WHERE run = ?1 ORDER BY id;
