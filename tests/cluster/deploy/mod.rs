//! The files in `deploy/`: the kustomizations and the chart render the same, a real API server accepts the objects, the
//! programs start with their arguments, and the alerts and the board use metrics that the programs export.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is how tests fail, and they say aloud what they skip"
)]

mod chart;
mod chart_source;
mod helm;
mod image;
mod manifests;
mod metrics;
mod tenants;
mod unit;
mod watching;
