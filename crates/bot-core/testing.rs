//! Facts for tests.
