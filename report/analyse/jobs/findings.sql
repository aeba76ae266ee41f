-- The findings of a job.

-- name: ranks
SELECT count(DISTINCT rank) FROM process_rank;

-- name: join
-- The first finding of a job is the one that saves the most; but what came after another one of its lane still does: worth is what it
-- saves, or less if one before it does. Ids are given anew.
DROP TABLE IF EXISTS temp.job_finding;
CREATE TEMP TABLE job_finding AS
SELECT id, rank, worth, turn, max(nth) OVER same AS ranks FROM (
    SELECT f.id AS id, r.rank AS rank, f.key AS key, f.phase AS phase, r.job AS job,
        min(coalesce(f.saves_ns, 0)) OVER (PARTITION BY f.process, f.device ORDER BY f.id) AS worth,
        row_number() OVER (PARTITION BY f.key, f.phase, r.job ORDER BY f.saves_ns DESC, f.lost_ns DESC, f.id) AS turn,
        dense_rank() OVER (PARTITION BY f.key, f.phase, r.job ORDER BY r.rank) AS nth
    FROM finding f LEFT JOIN process_rank r ON r.process = f.process)
WINDOW same AS (PARTITION BY key, phase, job);
DELETE FROM finding WHERE id IN (SELECT id FROM temp.job_finding WHERE turn > 1 AND rank IS NOT NULL);
UPDATE finding SET title = title || (SELECT printf(', in rank %d', rank)
        || CASE ranks WHEN 1 THEN '' ELSE printf(', and less in %d other%s', ranks - 1, CASE ranks WHEN 2 THEN '' ELSE 's' END) END
    FROM temp.job_finding j WHERE j.id = finding.id)
WHERE id IN (SELECT id FROM temp.job_finding WHERE rank IS NOT NULL);
UPDATE finding SET id = -(SELECT number FROM (SELECT id, row_number() OVER (ORDER BY worth DESC, id) AS number
    FROM temp.job_finding WHERE turn = 1 OR rank IS NULL) n WHERE n.id = finding.id);
UPDATE finding SET id = -id;
DROP TABLE temp.job_finding;
