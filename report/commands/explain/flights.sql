-- name: flights
-- The columns are those of enum gv_flight_column.
SELECT p.pid AS pid, f.thread AS thread, f.name AS name, f.kernel AS launches, f.start_ns AS start_ns, f.elapsed_ns AS elapsed_ns,
    f.cause AS cause, f.confidence AS confidence, f.blocked_by_thread AS blocked_by_thread, p.ended AS ended,
    f.process, f.state, f.advice, p.exit_signal
FROM in_flight f LEFT JOIN processes p ON p.id = f.process ORDER BY f.start_ns, f.thread;
