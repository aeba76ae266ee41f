-- Names that try to drive the terminal, invalid UTF-8, a name of 20,000 letters, rows that contradict
-- each other.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 5), ('session', 'stored'), ('program', char(27) || ']0;owned' || char(7));
INSERT INTO api (id, name, class) VALUES (1, 'cuModule' || char(27) || '[31mLoadData', 'load'), (2, CAST(x'63c3288aff' AS TEXT), 'copy');
INSERT INTO process (id, identity, pid, program, start_ns, ended, gpu) VALUES (1, 1, 4242, char(27) || '[2J', 0, 'killed', 'cupti');
INSERT INTO thread VALUES (1, 1, 1, 4242, char(27) || '[1m', 2);
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, replace(hex(zeroblob(10000)), '0', 'k'));
INSERT INTO call VALUES (1, 1, 1, 1000000, 200000000, 0, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO call VALUES (2, 1, 2, 9223372036854775000, 9223372036854775000, 0, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO stall_advice VALUES (1, 'fix' || char(27) || '[0m' || char(10) || 'it');
INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, waited_for, blocked_by, drained_count, drained_ns, confidence, advice) VALUES (1, 1, 'no' || char(10) || 'such cause', 0, 0, 199000000, 1000000, 77, 78, -5, -6, 'certain', 1);
INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, waited_for, blocked_by, drained_count, drained_ns, confidence, advice) VALUES (2, 2, 'free', 0, 9000000000000000000, 9000000000000000000, 0, NULL, 2, NULL, NULL, 'measured', NULL);
INSERT INTO call_stack VALUES (1, 1);
INSERT INTO lost_capture VALUES (1, 2, 1), (99, 98, 97);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES (1, 0, 'native', char(27) || 'f', NULL, char(13) || 'x.py', -1, NULL);
INSERT INTO flight (process, thread_serial, tid, name, api, start_ns, kernel, seen_ns, cause, blocked_by_thread, confidence, advice) VALUES (1, 1, 4242, char(7), 1, -5, 1, 9223372036854775807, 'lazy-load', 99, 'inferred', char(27) || 'advice');
INSERT INTO cost VALUES (1, char(27) || '[2Jhooks', 9223372036854775807, 9223372036854775807, 0), (1, 'end', -5, 9223372036854775807, 9223372036854775807), (1, 'stacks', 'x', 5, 9223372036854775807), (99, 'start', 1, -1, 1);
