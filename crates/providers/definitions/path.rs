//! The path of a node of a schema, written only on demand.

/// A node on the way from a schema's root: a list that lives on the stack.
#[derive(Clone, Copy)]
pub(super) enum Path<'p> {
    Root,
    Field(&'p Self, &'p str),
    Items(&'p Self),
    Values(&'p Self),
}

impl std::fmt::Display for Path<'_> {
    /// `spec.taints[].key`, `spec.labels.*`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Items(parent) => write!(f, "{parent}[]"),
            Self::Values(Self::Root) => f.write_str("*"),
            Self::Values(parent) => write!(f, "{parent}.*"),
        }
    }
}
