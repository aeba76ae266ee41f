-- What gpuverify idle says of all idle times together.

-- name: sums
SELECT CAST(total(total_ns) AS INTEGER), CAST(total(CASE WHEN gv_account(what) = 'idle' THEN total_ns END) AS INTEGER),
    (SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY process, device)), (SELECT count(*) FROM idle),
    EXISTS (SELECT 1 FROM idle WHERE device IS NULL), EXISTS (SELECT 1 FROM idle_sample)
FROM ledger;

-- name: reasons
SELECT reason, CAST(total(duration_ns) AS INTEGER) FROM idle GROUP BY 1 ORDER BY 2 DESC LIMIT 4;

-- name: lines
-- ?1: rows have names of their own. The detail is that of the longest. (SQLite's rule for bare columns beside a max().)
SELECT reason, detail, place AS "where", total_ns, gaps, samples, CASE WHEN ?1 THEN earliest END AS first,
    CASE WHEN ?1 THEN id END AS longest, inferred
FROM (SELECT reason, detail, place, CAST(total(duration_ns) AS INTEGER) AS total_ns, sum(gaps) AS gaps, sum(samples) AS samples,
        earliest, id, sum(device IS NULL) > 0 AS inferred, max(duration_ns)
    FROM (SELECT reason, detail, place, duration_ns, gaps, samples, id, device, min(id) OVER same AS earliest
        FROM (SELECT *, nullif(gv_where(stack), '') AS place FROM idle) WINDOW same AS (PARTITION BY reason, coalesce(place, detail)))
    GROUP BY reason, coalesce(place, detail))
ORDER BY reason = 'unknown', total_ns DESC, earliest;
