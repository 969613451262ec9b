//! How much a YAML text may hold before it is refused: a file from a repository is anybody's input.

/// Bytes of a text. The largest manifests known (bundles of CRDs) have about 2 MB.
pub const BYTES: usize = 32 << 20;

/// Nesting of mappings and sequences, aliases expanded.
pub const DEPTH: usize = 200;

/// Values of a text, aliases and merges expanded: what stops a "billion laughs".
pub const NODES: usize = 1_000_000;

/// Bytes of text that anchors and aliases repeat: a long text is one value, and may be named often.
pub const REPEATED_BYTES: usize = 32 << 20;

/// Documents of a text.
pub const DOCUMENTS: usize = 20_000;
