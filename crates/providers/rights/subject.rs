//! Who may do something.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who may do something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum RightsSubject {
    ServiceAccount { namespace: String, name: String },
    User { name: String },
    Group { name: String },
}

impl RightsSubject {
    /// A subject of a binding; one without a namespace is in the binding's.
    pub(super) fn read(subject: &Value, binding: Option<&str>) -> Option<Self> {
        let text = |key: &str| subject.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let name = text("name")?.to_owned();
        match text("kind")? {
            "ServiceAccount" => {
                let namespace = text("namespace").or(binding)?.to_owned();
                Some(Self::ServiceAccount { namespace, name })
            }
            // A service account by the name that it authenticates with.
            "User" => Some(
                match name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':')) {
                    Some((namespace, name)) => {
                        Self::ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() }
                    }
                    None => Self::User { name },
                },
            ),
            "Group" => Some(Self::Group { name }),
            _ => None,
        }
    }

    /// The groups that it is in by itself.
    /// <https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/>
    pub(super) fn groups(&self) -> impl Iterator<Item = Self> {
        let names = match self {
            Self::ServiceAccount { namespace, .. } => vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ],
            Self::User { name } if name != "system:anonymous" => vec!["system:authenticated".to_owned()],
            Self::User { .. } | Self::Group { .. } => Vec::new(),
        };
        names.into_iter().map(|name| Self::Group { name })
    }
}

impl fmt::Display for RightsSubject {
    /// `ServiceAccount capi-system/capi-manager`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ServiceAccount { namespace, name } => write!(f, "ServiceAccount {namespace}/{name}"),
            Self::User { name } => write!(f, "User {name}"),
            Self::Group { name } => write!(f, "Group {name}"),
        }
    }
}
