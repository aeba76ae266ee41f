-- The findings that cost the most, by program and key: in how many traces, and how much of their phase.
SELECT p.program AS program_name, f.key AS finding, f.phase AS phase_name, COUNT(DISTINCT f.trace) AS traces,
    ROUND(SUM(f.lost_ns / 1e9), 3) AS lost_s, ROUND(SUM(f.saves_ns / 1e9), 3) AS saves_s,
    ROUND(100 * MAX(f.lost_ns / 1e9 / NULLIF(f.phase_ns / 1e9, 0)), 3) AS most_percent
FROM findings f JOIN processes p ON p.trace = f.trace AND p.process = f.process
GROUP BY p.program, f.key, f.phase
ORDER BY saves_s DESC, program_name, finding, phase_name
LIMIT 20
