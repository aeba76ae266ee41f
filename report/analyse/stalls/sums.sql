-- name: counts
SELECT coalesce(sum(NOT expected), 0), coalesce(sum(expected != 0), 0),
    CAST(total(CASE WHEN expected THEN wait_ns + jit_ns ELSE 0 END) AS INTEGER),
    (SELECT count(*) FROM flight),
    CAST(total(CASE WHEN expected THEN 0 ELSE jit_ns END) AS INTEGER),
    count(CASE WHEN cause = 'unknown' AND NOT expected THEN 1 END)
FROM stall;

-- name: lost
SELECT process, start_ns, wait_ns + jit_ns, cause = 'unknown' FROM stalls
WHERE NOT expected ORDER BY process, start_ns;
