//! What is meant in a cloud: by its id, or by what a filter says of it.

use std::fmt;

use capstan_yaml::Value;

/// Something in a cloud as an object of the OpenStack provider names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Named {
    /// By its id.
    Id(String),
    /// By its name, which may be of several, and tags that it must all have.
    Filter {
        /// Any where `None`.
        name: Option<String>,
        /// All of them.
        tags: Vec<String>,
    },
}

impl Named {
    /// What `{id}` or `{filter: {name, tags}}` names; `None` where it says something that is not judged here: an object
    /// of the OpenStack resource controller, or a filter with fields beside these.
    pub(super) fn of(param: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(id) = text(param, "id") {
            return Some(Self::Id(id));
        }
        let filter = param.get("filter")?.as_object()?;
        if !filter.keys().all(|key| key == "name" || key == "tags") {
            return None;
        }
        let tags = filter.get("tags").and_then(Value::as_array).into_iter().flatten();
        let tags = tags.filter_map(|tag| tag.as_str().map(str::to_owned)).collect();
        let filter = param.get("filter")?;
        Some(Self::Filter { name: text(filter, "name"), tags })
    }

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

impl fmt::Display for Named {
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
