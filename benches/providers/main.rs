//! What providers cost. `cargo bench --bench providers [-- plan | install]`
//!
//! | file | measures |
//! |---|---|
//! | `planning` | planning a set of seven real providers, beside `kubectl kustomize` |
//! | `installing` | installing, keeping and upgrading core, kubeadm and IPAM on a real API server, beside the Cluster API operator itself |

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

#[path = "../../tests/cluster/operator/figures.rs"]
mod figures;
mod installing;
mod planning;
#[path = "../../tests/cluster/operator/running.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod running;
#[path = "../../tests/cluster/installing/stub.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod stub;
#[path = "../../tests/cluster/installing/town.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod town;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |what: &str| asked.is_empty() || asked.iter().any(|argument| argument == what);
    if wants("plan") {
        planning::measure_planning();
    }
    if wants("install") {
        installing::measure_installing();
    }
}
