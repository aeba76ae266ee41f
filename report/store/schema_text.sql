-- name: columns
-- Of the views, and with ?2 also of the tables; ?1: only of this one.
SELECT s.type, s.name, s.sql, c.name, c.type FROM sqlite_master s, pragma_table_info(s.name) c
WHERE (s.type = 'view' OR (?2 AND s.type = 'table')) AND (?1 IS NULL OR s.name = ?1)
ORDER BY s.type DESC, s.rowid, c.cid;
