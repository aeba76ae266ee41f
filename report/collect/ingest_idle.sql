-- What the end of a process does with its samples of threads between calls. ?1 is the process.

-- name: late_threads
-- A sample can be stored before its thread has a row: until then it has the negative number that
-- the system gave the thread.
UPDATE idle_sample SET thread = (SELECT max(t.id) FROM thread t WHERE t.process = ?1
    AND t.tid = -idle_sample.thread AND t.serial < 1 << 61)
WHERE process = ?1 AND thread < 0;

-- name: reused_threads
-- The system may give a number again: of the threads that had it, the latest one that had made a
-- call by then.
CREATE TEMP TABLE reused AS
SELECT t.id AS id, t.tid AS tid, NULL AS first_ns FROM thread t
WHERE t.process = ?1 AND t.serial < 1 << 61 AND t.tid IN (SELECT tid FROM thread
    WHERE process = ?1 AND serial < 1 << 61 GROUP BY tid HAVING count(*) > 1);
UPDATE temp.reused SET first_ns = c.first_ns
FROM (SELECT thread, min(start_ns) AS first_ns FROM call
    WHERE thread IN (SELECT id FROM temp.reused) GROUP BY thread) c
WHERE c.thread = reused.id;
UPDATE idle_sample SET thread = coalesce((SELECT r.id FROM temp.reused o
    JOIN temp.reused r ON r.tid = o.tid
    WHERE o.id = idle_sample.thread AND r.first_ns <= idle_sample.at_ns
    ORDER BY r.id DESC LIMIT 1), thread)
WHERE process = ?1 AND thread IN (SELECT id FROM temp.reused);
DROP TABLE temp.reused;

-- name: reuses
SELECT count(*) FROM (SELECT 1 FROM thread WHERE process = ?1 AND serial < 1 << 61
    GROUP BY tid HAVING count(*) > 1);
