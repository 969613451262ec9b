//! The reconciler's use case on a management cluster in memory: what is there in the end, and what it cost.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod adopting;
mod applying;
mod board;
mod dying;
mod fake;
mod looping;
mod preflight;
mod pruning;
mod real;
mod rows;
mod world;
