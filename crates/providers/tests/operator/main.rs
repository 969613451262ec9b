//! Rendering, held against the Cluster API operator v0.28.0: its own phases, run by `tests/operator/render`, get the
//! same provider object, ConfigMaps and Secret, and have to make the same objects.
//!
//! Both sides' objects then go through Go's types, as in an API server: the operator sends what Go's types add to some
//! of them, Capstan what is written. Deliberate differences stand by hand in [`compare::MEANT`], and in the table of
//! `docs/providers.md`. Without `tests/operator/build` these tests skip, aloud.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod cases;
mod compare;
mod generated;
mod generator;
mod operator;
