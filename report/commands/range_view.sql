-- name: names
-- The most frequent first. ?1: marks too; else ranges that calls can be in.
SELECT d.text, m.text
FROM (SELECT domain, text, count(*) AS count FROM range WHERE kind IN (1, 2) OR ?1 GROUP BY 1, 2) r
    LEFT JOIN range_text d ON d.id = r.domain LEFT JOIN range_text m ON m.id = r.text
ORDER BY r.count DESC, 1, 2 LIMIT 10000;
