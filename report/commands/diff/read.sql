-- name: begin
CREATE TABLE value (area INTEGER, what TEXT, of_gpu INTEGER, unit INTEGER, run INTEGER, value REAL,
    PRIMARY KEY (area, what, of_gpu, unit, run)) WITHOUT ROWID;
BEGIN;
