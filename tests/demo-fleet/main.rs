//! `make demo-fleet`: the whole loop on real parts, with ten clusters on this machine. It prints each step.
//!
//! The forge takes the place of GitHub. Everything else is real: `capstan serve`, `capstan reconcile`, kube-apiserver,
//! etcd and the controllers of Cluster API. Only the machines are those of Cluster API's in-memory provider. Each step
//! waits for what it prints and checks it. A demo that fails says why.
//!
//! `--once` ends after the story. Without it, everything runs until Ctrl-C.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a demo tells what it does, and stops where it does not go as it should"
)]

mod hosts;
#[expect(dead_code, reason = "the tests use more of it")]
mod live;
mod owners;
mod services;
mod story;

use live::ground::{Capstan, Ground};
use live::sample::Sample;
use live::town::Town;

fn main() {
    let once = std::env::args().any(|argument| argument == "--once");
    println!(
        "\nCapstan, the whole loop\n\n   A real management cluster starts on this machine: etcd, kube-apiserver, kube-controller-manager and\n   Cluster API's four managers, as plain processes. Machines lie in memory; all the rest is real."
    );
    let clusters: Vec<Sample> = (1..=10)
        .map(|number| Sample { provider: "mem".to_owned(), ..Sample::new(&format!("shop{number:02}")) })
        .collect();
    let Some(ground) = Ground::start(Capstan::Installed) else {
        println!(
            "The demo needs Go 1.26 or newer, once, to build a management cluster: install it (https://go.dev/dl), then run this again."
        );
        return;
    };
    let town = Town::start(&ground, &clusters, &[services::cluster()]);
    story::tell(&town, &clusters);
    hosts::tell(&ground.plane);
    if !once {
        story::invite(&town);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(tokio::signal::ctrl_c()).unwrap();
    }
    println!("\nStopping everything.");
}
