-- name: flights
-- The columns are those of enum gv_flight_column.
SELECT f.process, f.thread, f.name, f.kernel, f.start_ns, f.elapsed_ns, f.cause,
    f.blocked_by_thread, f.confidence, f.state, f.advice, p.ended, p.pid, p.exit_signal
FROM in_flight f LEFT JOIN processes p ON p.id = f.process ORDER BY f.start_ns, f.thread;
