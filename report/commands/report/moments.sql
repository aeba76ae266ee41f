-- name: span
-- The start by the clock, and the trace's last moment.
SELECT (SELECT value FROM meta WHERE key = 'start_unix_ns'),
    max(coalesce((SELECT max(end_ns) FROM process), 0),
        coalesce((SELECT start_ns + duration_ns FROM call ORDER BY id DESC LIMIT 1), 0),
        coalesce((SELECT (max(minute) + 1) * 60000000000 FROM older), 0));
