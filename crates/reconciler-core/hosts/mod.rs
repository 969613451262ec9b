//! Bare-metal hosts: what is known of them, and what a head commit asks of them.
//!
//! | file | owns |
//! |---|---|
//! | `kinds` | the kinds that hosts are given by |
//! | `memory` | what is known, and what of it is out of date |
//! | `preflight` | whether the racks can give what a head asks for |
//!
//! Deliberately absent: which hosts a tenant cluster gets ([`capstan_hosts`]).

pub mod kinds;
mod memory;
#[cfg(test)]
mod memory_tests;
pub mod preflight;

pub use memory::HostMemory;
