//! One binary for all integration tests: compiling and linking once is what keeps them quick.

mod bot;
mod cases;
mod dependencies;
mod git;
mod house;
