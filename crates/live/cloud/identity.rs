//! The credential that a cloud is asked with.

use std::fmt;

/// A kind of cloud, by which its adapter is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloudKind(&'static str);

impl CloudKind {
    pub const OPENSTACK: Self = Self::new("openstack");

    /// The kind of that name.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }
}

impl fmt::Display for CloudKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Which object holds a credential, and which of the clouds in it is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The kind of cloud.
    pub of: CloudKind,
    /// What sort of object holds it.
    pub holder: CredentialHolder,
    /// The namespace of the object that names it.
    pub namespace: Option<String>,
    pub name: String,
    /// Which of its clouds.
    pub cloud: String,
    /// The region, where it is not that cloud's own.
    pub region: Option<String>,
}

/// What sort of object holds a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CredentialHolder {
    /// A Secret in the namespace of the object that names it.
    Secret,
    /// An object of that kind, which belongs to no folder.
    OfNoFolder(&'static str),
}

impl Identity {
    /// `cloud openstack of Secret my-org/peu01-cloud-config`
    pub fn shown(&self) -> String {
        let (sort, namespace) = match self.holder {
            CredentialHolder::Secret => ("Secret", self.namespace.as_deref()),
            CredentialHolder::OfNoFolder(kind) => (kind, None),
        };
        let namespace = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        format!("cloud `{}` of {sort} {namespace}{}", self.cloud, self.name)
    }
}
