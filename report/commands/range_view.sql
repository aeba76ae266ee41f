-- name: names
-- Of ranges that calls can be in, the most frequent first.
SELECT d.text, m.text
FROM (SELECT domain, text, count(*) AS count FROM range WHERE kind IN (1, 2) GROUP BY 1, 2) r
    LEFT JOIN range_text d ON d.id = r.domain LEFT JOIN range_text m ON m.id = r.text
ORDER BY r.count DESC, 1, 2 LIMIT 10000;
