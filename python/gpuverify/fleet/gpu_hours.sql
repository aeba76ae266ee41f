-- GPU hours lost, and what fixing the ten costliest findings would save.
-- Findings of a run save at most what it lost. A finding without a line cannot be fixed.
WITH held AS (
    SELECT SUM(duration_ns / 3600e9 * gpus) AS held_hours
    FROM processes),
lost AS (
    SELECT SUM(i.account_ns / 3600e9) AS lost_hours
    FROM ledger i JOIN processes p ON p.trace = i.trace AND p.process = i.process
    WHERE i.state = 'idle'),
saved AS (
    SELECT p.program AS program, f.what AS what, f.code AS line, COUNT(DISTINCT f.trace) AS traces, SUM(f.saves_ns / 3600e9) AS hours
    FROM findings f JOIN processes p ON p.trace = f.trace AND p.process = f.process
    WHERE f.code IS NOT NULL AND f.what <> 'unknown'
    GROUP BY p.program, f.what, f.code),
fixes AS (
    SELECT program, what, line, traces, hours,
        ROW_NUMBER() OVER (ORDER BY ROUND(hours, 9) DESC, program, what, line) AS turn
    FROM saved)
SELECT f.turn AS fix, f.program AS program_name, f.what AS lost_to, f.line AS code_line, f.traces AS traces_seen,
    ROUND(f.hours, 6) AS saves_hours, ROUND(SUM(f.hours) OVER (ORDER BY f.turn), 6) AS saves_so_far,
    ROUND(l.lost_hours, 6) AS all_lost_hours, ROUND(h.held_hours, 6) AS all_held_hours
FROM fixes f CROSS JOIN lost l CROSS JOIN held h
WHERE f.turn <= 10
ORDER BY fix
