//! A mirror of a repository and snapshots of its trees (gix).
