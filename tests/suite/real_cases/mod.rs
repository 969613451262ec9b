//! Five real cases.
