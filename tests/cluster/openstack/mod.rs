//! Keystone, Glance, Nova, Neutron and Cinder themselves, asked as a preflight asks them: each row once good and once bad.
//!
//! They are installed and started by `tests/openstack` (`make test-real`); where they were never built, the tests say
//! aloud that they skip.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is how tests fail, and they say aloud what they skip"
)]

mod heads;
mod keeper;
mod lives;
mod orc;
mod real;
mod renewing;
mod rows;
mod strangers;
