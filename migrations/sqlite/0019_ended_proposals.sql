-- When the pull request of a proposal was found merged or closed: its end is in the audit trail then.
ALTER TABLE proposals ADD COLUMN ended_at_ms INTEGER;
