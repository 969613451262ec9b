//! What is meant in a cloud: by its id, or by what a filter says of it.

use std::fmt;

/// Something in a cloud, as an object names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CloudSelector {
    Id(String),
    /// By its name, which may be of several, and tags that it must all have.
    Filter {
        /// Any where `None`.
        name: Option<String>,
        /// All of them.
        tags: Vec<String>,
    },
}

impl CloudSelector {
    /// By a name alone.
    pub(super) fn name(name: &str) -> Self {
        Self::Filter { name: Some(name.to_owned()), tags: Vec::new() }
    }

    /// Whether that is meant.
    pub fn means(&self, id: &str, name: &str, tags: &[String]) -> bool {
        match self {
            Self::Id(wanted) => wanted == id,
            Self::Filter { name: wanted, tags: all } => {
                wanted.as_deref().is_none_or(|wanted| wanted == name)
                    && all.iter().all(|tag| tags.contains(tag))
            }
        }
    }
}

impl fmt::Display for CloudSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "with the id `{id}`"),
            Self::Filter { name, tags } => {
                let tagged =
                    if tags.is_empty() { String::new() } else { format!("tagged `{}`", tags.join("`, `")) };
                match name {
                    Some(name) if tags.is_empty() => write!(f, "`{name}`"),
                    Some(name) => write!(f, "`{name}` {tagged}"),
                    None => f.write_str(&tagged),
                }
            }
        }
    }
}
