-- How often in a row a job was put off without having failed (GitHub was still computing): the waits
-- grow with it, and anything new ends them.
ALTER TABLE jobs ADD COLUMN put_off INTEGER NOT NULL DEFAULT 0;
