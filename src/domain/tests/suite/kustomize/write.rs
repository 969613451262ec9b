//! YAML as people write it: the same text plain here and quoted there.

use crate::random::Random;

/// A value to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Yaml {
    /// As it stands: `3`, `0644`, `on`.
    Raw(String),
    /// This string, whatever it looks like.
    Text(String),
    Map(Vec<(String, Yaml)>),
    List(Vec<Yaml>),
}

pub(super) fn raw(text: impl Into<String>) -> Yaml {
    Yaml::Raw(text.into())
}

pub(super) fn text(text: impl Into<String>) -> Yaml {
    Yaml::Text(text.into())
}

pub(super) fn map<const N: usize>(entries: [(&str, Yaml); N]) -> Yaml {
    Yaml::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

pub(super) fn list(items: impl IntoIterator<Item = Yaml>) -> Yaml {
    Yaml::List(items.into_iter().collect())
}

impl Yaml {
    pub(super) fn set(&mut self, key: &str, value: Self) {
        let Self::Map(entries) = self else { panic!("no mapping") };
        match entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => entries.push((key.to_owned(), value)),
        }
    }

    /// The mapping at a key, made where it is missing.
    pub(super) fn inside(&mut self, key: &str) -> &mut Self {
        if self.get(key).is_none() {
            self.set(key, map([]));
        }
        let Self::Map(entries) = self else { panic!("no mapping") };
        entries.iter_mut().find(|(known, _)| known == key).map(|(_, value)| value).unwrap()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else { return None };
        entries.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(super) fn document(&self, random: &mut Random) -> String {
        let mut out = String::new();
        self.write(random, 0, &mut out);
        out
    }

    fn write(&self, random: &mut Random, indent: usize, out: &mut String) {
        match self {
            Self::Map(entries) if !entries.is_empty() => {
                for (key, value) in entries {
                    out.push_str(&" ".repeat(indent));
                    out.push_str(&scalar(key, random));
                    out.push(':');
                    value.write_below(random, indent + 2, out);
                }
            }
            Self::List(items) if !items.is_empty() => {
                for item in items {
                    out.push_str(&" ".repeat(indent));
                    out.push('-');
                    item.write_below(random, indent + 2, out);
                }
            }
            other => {
                out.push_str(&other.short(random));
                out.push('\n');
            }
        }
    }

    fn write_below(&self, random: &mut Random, indent: usize, out: &mut String) {
        match self {
            Self::Map(entries) if !entries.is_empty() => {
                out.push('\n');
                self.write(random, indent, out);
            }
            Self::List(items) if !items.is_empty() => {
                out.push('\n');
                self.write(random, indent, out);
            }
            Self::Text(text) if text.contains('\n') => {
                out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
                for line in text.trim_end_matches('\n').split('\n') {
                    if !line.is_empty() {
                        out.push_str(&" ".repeat(indent));
                        out.push_str(line);
                    }
                    out.push('\n');
                }
            }
            other => {
                let short = other.short(random);
                if !short.is_empty() {
                    out.push(' ');
                    out.push_str(&short);
                }
                out.push('\n');
            }
        }
    }

    fn short(&self, random: &mut Random) -> String {
        match self {
            Self::Raw(text) => text.clone(),
            Self::Text(text) => scalar(text, random),
            Self::Map(_) => "{}".to_owned(),
            Self::List(_) => "[]".to_owned(),
        }
    }
}

/// Plain where that is safe, most of the time.
fn scalar(text: &str, random: &mut Random) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || "-_./$@".contains(c);
    let safe = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(word)
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str());
    match (safe, random.below(6)) {
        (true, 0) => format!("'{text}'"),
        (true, 1) | (false, _) => format!("{text:?}"),
        (true, _) => text.to_owned(),
    }
}
