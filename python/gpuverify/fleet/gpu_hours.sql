-- GPU hours lost, and what fixing the ten costliest lines would save.
-- A fix saves at most the time in which a GPU idled for this reason at this line. Time without a line cannot be fixed.
WITH held AS (
    SELECT SUM(duration_ns / 3600e9 * gpus) AS held_hours
    FROM processes),
unused AS (
    SELECT p.program AS program, i.reason AS reason, i.location AS line, COUNT(DISTINCT i.trace) AS traces,
        SUM(i.idle_ns / 3600e9) AS hours
    FROM idle i JOIN processes p ON p.trace = i.trace AND p.process = i.process
    GROUP BY p.program, i.reason, i.location),
lost AS (
    SELECT SUM(hours) AS lost_hours
    FROM unused),
fixes AS (
    SELECT program, reason, line, traces, hours,
        ROW_NUMBER() OVER (ORDER BY ROUND(hours, 9) DESC, program, reason, line) AS turn
    FROM unused
    WHERE line IS NOT NULL AND reason <> 'unknown')
SELECT f.turn AS fix, f.program AS program_name, f.reason AS idle_reason, f.line AS code_line, f.traces AS traces_seen,
    ROUND(f.hours, 6) AS saves_hours, ROUND(SUM(f.hours) OVER (ORDER BY f.turn), 6) AS saves_so_far,
    ROUND(l.lost_hours, 6) AS all_lost_hours, ROUND(h.held_hours, 6) AS all_held_hours
FROM fixes f CROSS JOIN lost l CROSS JOIN held h
WHERE f.turn <= 10
ORDER BY fix
