-- name: waits
-- Of the cause ?5, or all that the program can do something about.
SELECT start_ns, wait_ns FROM stalls
WHERE NOT expected AND wait_ns > 0 AND (?5 IS NULL AND {is_avoidable} OR cause = ?5)
    AND {in_part(process, thread, start_ns)}
ORDER BY start_ns;
