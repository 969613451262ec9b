//! Decisions as tables.
