//! The oracle of drains, from small clusters that are written by hand. Answers of the eviction API are those of a real
//! kube-apiserver 1.36.3.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod evictions;
mod example;
mod filters;
mod places;
mod random;
mod stops;
mod through;
