-- The stalls that cost the most, by program, cause and line.
SELECT p.program AS program_name, s.cause AS stall_cause, s.call_name AS cuda_call, COALESCE(s.location, '?') AS line,
    COUNT(DISTINCT s.trace) AS traces, CAST(SUM(s.times) AS BIGINT) AS stalls_seen, ROUND(SUM(s.lost_ns / 1e9), 3) AS lost_s,
    ROUND(MAX(s.most_ns) / 1e6, 3) AS longest_ms
FROM stalls s JOIN processes p ON p.trace = s.trace AND p.process = s.process
GROUP BY p.program, s.cause, s.call_name, COALESCE(s.location, '?')
ORDER BY lost_s DESC, program_name, stall_cause, cuda_call, line
LIMIT 20
