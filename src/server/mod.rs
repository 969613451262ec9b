//! The HTTP side: webhook intake, pages, health, metrics.
