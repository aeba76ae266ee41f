-- Where the newest build of each program loses more than the build before it: stalls and idle GPUs, in % of the time.
-- Lines are compared without their numbers. Only what grew by a tenth and by 1 % of the time is listed.
WITH builds AS (
    SELECT program, build, MIN(start_unix_ns) AS first_ns, SUM(duration_ns / 1e9) AS run_s, SUM(duration_ns / 1e9 * gpus) AS held_s
    FROM processes
    WHERE build IS NOT NULL AND start_unix_ns IS NOT NULL -- an anonymised trace has no time
    GROUP BY program, build),
newest AS (
    SELECT program, build, run_s, held_s, ROW_NUMBER() OVER (PARTITION BY program ORDER BY first_ns DESC, build DESC) AS age
    FROM builds),
lost AS (
    SELECT p.program AS program, p.build AS build, 'stall' AS what, s.cause AS why, COALESCE(s.code, '?') AS line,
        SUM(s.lost_ns / 1e9) AS stalled_s, 0.0e0 AS idle_s
    FROM stalls s JOIN processes p ON p.trace = s.trace AND p.process = s.process
    GROUP BY p.program, p.build, s.cause, COALESCE(s.code, '?')
    UNION ALL
    SELECT p.program AS program, p.build AS build, 'idle' AS what, i.what AS why, COALESCE(i.code, '?') AS line,
        0.0e0 AS stalled_s, SUM(i.account_ns / 1e9) AS idle_s
    FROM ledger i JOIN processes p ON p.trace = i.trace AND p.process = i.process
    WHERE i.state = 'idle'
    GROUP BY p.program, p.build, i.what, COALESCE(i.code, '?')),
compared AS (
    SELECT l.program AS program, l.what AS what, l.why AS why, l.line AS line,
        SUM(CASE WHEN n.age = 2 THEN COALESCE(l.stalled_s / NULLIF(n.run_s, 0), 0) + COALESCE(l.idle_s / NULLIF(n.held_s, 0), 0)
            ELSE 0 END) AS before_share,
        SUM(CASE WHEN n.age = 1 THEN COALESCE(l.stalled_s / NULLIF(n.run_s, 0), 0) + COALESCE(l.idle_s / NULLIF(n.held_s, 0), 0)
            ELSE 0 END) AS after_share
    FROM lost l JOIN newest n ON n.program = l.program AND n.build = l.build
    WHERE n.age <= 2
    GROUP BY l.program, l.what, l.why, l.line)
SELECT c.program AS program_name, b.build AS build_before, a.build AS build_after, c.what AS lost_to, c.why AS reason,
    c.line AS code_line, ROUND(100 * c.before_share, 3) AS before_percent, ROUND(100 * c.after_share, 3) AS after_percent
FROM compared c
    JOIN newest a ON a.program = c.program AND a.age = 1
    JOIN newest b ON b.program = c.program AND b.age = 2
WHERE c.after_share > 1.1e0 * c.before_share AND c.after_share - c.before_share >= 0.01e0
ORDER BY after_percent - before_percent DESC, program_name, lost_to, reason, code_line
LIMIT 50
