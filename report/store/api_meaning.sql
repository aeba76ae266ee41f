-- name: lacks
SELECT id, name, class FROM api WHERE gpu_work IS NULL;

-- name: set
UPDATE api SET kind = lower(replace(?2, '_', '-')), gpu_work = ?3, memory = ?4, starts_cuda = ?5,
    begins_capture = ?6, ends_capture = ?7, awaits_event = ?8, every_context = ?9
WHERE id = ?1;
