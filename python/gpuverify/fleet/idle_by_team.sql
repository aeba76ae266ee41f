-- Why GPUs were idle, by team: GPU hours, and their share of the hours that the team held GPUs.
WITH held AS (
    SELECT COALESCE(team, '?') AS team_name, SUM(duration_ns / 3600e9 * gpus) AS held_hours
    FROM processes
    GROUP BY COALESCE(team, '?')),
unused AS (
    SELECT COALESCE(p.team, '?') AS team_name, i.what AS idle_reason, COUNT(DISTINCT i.trace) AS traces,
        SUM(i.account_ns / 3600e9) AS idle_hours
    FROM ledger i JOIN processes p ON p.trace = i.trace AND p.process = i.process
    WHERE i.state = 'idle'
    GROUP BY COALESCE(p.team, '?'), i.what)
SELECT u.team_name AS team, u.idle_reason AS reason, u.traces AS traces_seen, ROUND(u.idle_hours, 6) AS gpu_hours,
    ROUND(100 * u.idle_hours / NULLIF(h.held_hours, 0), 3) AS percent_of_held
FROM unused u JOIN held h ON h.team_name = u.team_name
ORDER BY team, gpu_hours DESC, reason
