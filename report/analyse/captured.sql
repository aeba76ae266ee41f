-- name: open
-- The captures of the process ?1, as temp.capture. Captures of several streams at a time are rare:
-- who waits joins the last one. An attempt to end a capture that left it on (905: from another
-- thread) ends none; 901 and 904 end it.
DROP TABLE IF EXISTS temp.capture;
-- Integers by declaration: an index does not help to compare a column without a type.
CREATE TEMP TABLE capture (stream INTEGER, start_ns INTEGER, end_ns INTEGER);
INSERT INTO temp.capture
SELECT stream, CASE WHEN begins THEN start_ns ELSE -9223372036854775807 END,
    CASE WHEN begins THEN next_ns ELSE end_ns END
FROM (
    SELECT stream, start_ns, end_ns, begins,
        lead(end_ns, 1, 9223372036854775807) OVER marks AS next_ns,
        lag(begins, 1, 0) OVER marks AS begun
    FROM (
        SELECT c.stream AS stream, c.start_ns AS start_ns, c.start_ns + c.duration_ns AS end_ns,
            a.begins_capture AS begins, coalesce(c.result, 0) AS result
        FROM call c JOIN api a ON a.id = c.api JOIN thread t ON t.id = c.thread
        WHERE t.process = ?1 AND c.stream IS NOT NULL AND c.api IN (SELECT id FROM api
            WHERE begins_capture OR ends_capture))
    WHERE result = 0 OR NOT begins AND result IN (901, 904)
    WINDOW marks AS (PARTITION BY stream ORDER BY start_ns))
WHERE begins OR NOT begun;
CREATE INDEX temp.capture_started ON capture (start_ns);
INSERT INTO temp.capture
SELECT stream, start_ns, end_ns
FROM (
    SELECT c.stream AS stream, c.start_ns AS start_ns, (SELECT k.end_ns FROM temp.capture k
        WHERE k.start_ns <= c.start_ns ORDER BY k.start_ns DESC LIMIT 1) AS end_ns
    FROM call c JOIN thread t ON t.id = c.thread
    WHERE EXISTS (SELECT 1 FROM temp.capture) AND t.process = ?1 AND c.stream IS NOT NULL
        AND c.result = 0
        AND c.api IN (SELECT id FROM api WHERE awaits_event))
WHERE end_ns >= start_ns;
CREATE INDEX temp.capture_stream ON capture (stream, start_ns);
