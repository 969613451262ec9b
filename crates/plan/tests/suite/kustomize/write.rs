//! YAML as people write it: the same text plain here and quoted there.

use capstan_test_support::random::Random;

/// A value to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Yaml {
    /// As it is here: `3`, `0644`, `on`.
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

    /// With some of its keys in another case, as long as they are fields and not keys of maps.
    pub(super) fn in_other_case(&self, random: &mut Random) -> Self {
        let is_map = |key: &str, value: &Self| {
            ["commonLabels", "commonAnnotations", "pairs", "annotations", "openapi", "metadata"]
                .contains(&key)
                || (key == "labels" && matches!(value, Self::Map(_)))
        };
        match self {
            Self::Map(entries) => Self::Map(
                entries
                    .iter()
                    .map(|(key, value)| {
                        let new =
                            if is_map(key, value) { value.clone() } else { value.in_other_case(random) };
                        let key = match random.below(6) {
                            0 => key.to_ascii_uppercase(),
                            1 => key.to_ascii_lowercase(),
                            2 => key[..1].to_ascii_uppercase() + &key[1..],
                            _ => key.clone(),
                        };
                        (key, new)
                    })
                    .collect(),
            ),
            Self::List(items) => Self::List(items.iter().map(|item| item.in_other_case(random)).collect()),
            Self::Raw(_) | Self::Text(_) => self.clone(),
        }
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
                let ends = [("\n\n", " |+\n"), ("\n", " |\n"), ("", " |-\n")];
                out.push_str(ends.iter().find(|(end, _)| text.ends_with(end)).unwrap().1);
                for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
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
