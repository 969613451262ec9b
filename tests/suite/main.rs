//! One binary for all integration tests: compiling and linking once is what keeps them quick.

mod cases;
mod dependencies;
mod forge;
mod git;
mod house;
