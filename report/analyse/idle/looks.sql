-- What the reading of looks asks for.

-- name: looks
SELECT thread, at_ns, process, about, state, system_call, target, signs, pid_or_tid,
    coalesce(stack, 0), coalesce(other_stack, 0), delay_ns, cpu_ns, text,
    span_ns, process_cpu_ns, cpus, about = 4 AND pid_or_tid = coalesce((SELECT tid FROM thread WHERE id = idle_sample.thread), -thread)
FROM idle_sample LEFT JOIN idle_sample_cpu ON sample = id WHERE thread IS NOT NULL AND id > ?1 AND id <= ?2
ORDER BY thread, at_ns, id;

-- name: frames
-- CUDA's code, and ours, are known by their library.
SELECT function, coalesce(iif(kind = 'runtime', library, file), library),
    kind = 'python' AND NOT {in_package(file)} AND file NOT LIKE '<%', kind = 'python' FROM frame
WHERE stack = ?1 ORDER BY depth;

-- name: thread_name
SELECT name FROM thread WHERE process = ?1 AND tid = ?2 ORDER BY id DESC LIMIT 1;
