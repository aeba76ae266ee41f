-- name: begin
CREATE TABLE value (area INTEGER, what TEXT, basis INTEGER, unit INTEGER, run INTEGER, value REAL,
    PRIMARY KEY (area, what, basis, unit, run)) WITHOUT ROWID;
BEGIN;
