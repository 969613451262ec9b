-- A button of a check that somebody pressed: GitHub does not tell of it again.
ALTER TABLE deliveries ADD COLUMN pressed_by TEXT;
ALTER TABLE deliveries ADD COLUMN pressed TEXT;
-- What came of the button that was pressed last, as the check says it.
ALTER TABLE checks ADD COLUMN pressed TEXT;
