//! Why a Secret holds what its VaultSecret asks for, or does not.

/// The reason of the condition `Resolved`, of a closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResolvedReason {
    /// The Secret holds what was asked for.
    Resolved,
    /// Vault refuses the login or the path.
    Denied,
    /// There is no such store, path, version or key.
    Missing,
    /// Vault is sealed.
    Sealed,
    /// Vault, or the API server, does not answer.
    Away,
    /// The answer cannot be used: it is not a JSON object, or no such Secret can be written.
    BadData,
    /// It is not allowed: the store serves other namespaces, or the Secret is not Capstan's.
    NotAllowed,
}

impl ResolvedReason {
    /// The word in the condition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resolved => "Resolved",
            Self::Denied => "Denied",
            Self::Missing => "Missing",
            Self::Sealed => "Sealed",
            Self::Away => "Away",
            Self::BadData => "BadData",
            Self::NotAllowed => "NotAllowed",
        }
    }

    /// Whether it may pass without a change of the VaultSecret.
    pub const fn passes(self) -> bool {
        matches!(self, Self::Sealed | Self::Away)
    }
}
