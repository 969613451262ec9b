-- A preflight tries what a merge would give. An answer is good for as long as that is made of the same files:
-- older ones tried the bare head, so their content is unknown and they are asked again.
ALTER TABLE preflights ADD COLUMN commit_id TEXT NOT NULL DEFAULT '';   -- what is tried
ALTER TABLE preflights ADD COLUMN content TEXT NOT NULL DEFAULT '';     -- digest of what it is made of
ALTER TABLE preflights ADD COLUMN standing TEXT NOT NULL DEFAULT '';    -- how the rollouts stood when it was asked
UPDATE preflights SET commit_id = head;

CREATE INDEX preflights_commit ON preflights (repository, commit_id);
