//! The budget under a virtual clock.

mod properties;
mod simulation;
