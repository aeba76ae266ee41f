-- Known stalls and findings: --accept FILE.

-- name: tables
-- known: a line of the file, of a stall or with the key of a finding. accepted: the stacks of the trace that it is about.
CREATE TEMP TABLE known (number INTEGER PRIMARY KEY, most_ns INTEGER NOT NULL, cause TEXT, location TEXT, key TEXT);
CREATE TEMP TABLE accepted (cause TEXT NOT NULL, stack INTEGER, number INTEGER NOT NULL, most_ns INTEGER NOT NULL);

-- name: accept
INSERT INTO temp.accepted
SELECT s.cause, s.stack, k.number, k.most_ns
FROM (SELECT cause, stack, coalesce(gv_where(stack), '?') AS location
        FROM (SELECT DISTINCT cause, stack FROM stalls WHERE NOT expected)) s
    JOIN temp.known k ON k.cause = s.cause AND k.location IN (s.location, {code(s.location)});

-- define: is_all
NOT EXISTS (SELECT 1 FROM losses WHERE count > 0) AND NOT EXISTS (SELECT 1 FROM older)
    AND NOT EXISTS (SELECT 1 FROM not_taken WHERE what = 'stack' AND reason <> 'not followed' AND count > 0)

-- name: missing
-- Only a trace that has all records, and none as sums by minute (GPUVERIFY_KEEP), tells that a stall or a finding is gone.
-- A line allows twice what its stall lost: where half of it is below the threshold, the stall may still be there.
SELECT number, most_ns / 2 >= threshold_ns, threshold_ns
FROM temp.known, (SELECT coalesce((SELECT value FROM meta WHERE key = 'stall_threshold_ns'), 0) AS threshold_ns)
WHERE cause IS NOT NULL AND number NOT IN (SELECT number FROM temp.accepted) AND NOT EXISTS (SELECT 1 FROM {running})
    AND {is_all}
UNION ALL SELECT number, 1, 0 FROM temp.known
WHERE key NOT IN (SELECT rtrim(key) FROM findings WHERE key IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM {running}) AND {is_all};

-- name: all
-- Twice the longest, as times differ from run to run. A name with a line end would be two lines of the file.
SELECT printf('%s %s=%dms', cause, location, (2 * lost + 999999) / 1000000)
FROM (SELECT cause, {code(location)} AS location, max(lost) AS lost
    FROM (SELECT cause, coalesce(gv_where(stack), '?') AS location, max(wait_ns + jit_ns) AS lost
        FROM stalls WHERE NOT expected GROUP BY cause, stack)
    GROUP BY 1, 2)
WHERE instr(location, char(10)) = 0
ORDER BY lost DESC, cause, location;

-- name: all_findings
-- ?1: the lowest limit.
-- A key without a function ends in a blank.
SELECT rtrim(key) FROM findings WHERE saves_ns > 0 AND share > ?1 AND instr(key, char(10)) = 0 GROUP BY key ORDER BY min(id);
