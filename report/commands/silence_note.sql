-- name: silence
-- Calls are in order of arrival, so looking near the end is enough.
SELECT (SELECT value FROM meta WHERE key = 'start_unix_ns'),
    (SELECT value FROM meta WHERE key = 'watchdog_ns'),
    max(coalesce((SELECT max(start_ns) FROM process), 0),
        coalesce((SELECT max(start_ns + duration_ns)
            FROM (SELECT start_ns, duration_ns FROM call ORDER BY id DESC LIMIT 20000)), 0)),
    EXISTS (SELECT 1 FROM in_flight);
