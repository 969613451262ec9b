//! What lies in `deploy/`: the kustomizations and the chart say the same, a real API server takes it, the programs start
//! as it says, and what it watches is what they tell.

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
