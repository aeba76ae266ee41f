-- name: waits
-- Also whether the program can do something about it.
SELECT start_ns, wait_ns, {is_avoidable}, cause FROM stalls
WHERE NOT expected AND wait_ns > 0 AND {in_part(process, thread, start_ns)} ORDER BY start_ns;
