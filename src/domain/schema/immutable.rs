//! Validation rules that forbid a change (`x-kubernetes-validations` with `oldSelf`).
//!
//! The server runs them as expressions (CEL). The shapes that definitions use to say "immutable" are
//! read here; a rule of any other shape is passed over, never guessed.
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#transition-rules>

use crate::yaml::Node;

/// A field that must stay as it is once the object exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Immutable {
    /// The fields from where the rule stands to the field it speaks of; empty for that place itself.
    pub below: Box<[Box<str>]>,
    /// Whether a value may come where there was none.
    pub setting: Allowed,
    /// Whether the value may go.
    pub removing: Allowed,
    /// The rule's own message, where it has one.
    pub message: Option<Box<str>>,
}

/// Whether the rule allows something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Allowed {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// How many rules of one field are read.
const RULES: usize = 50;

/// The rules of a schema that forbid a change.
pub(super) fn rules_of(schema: &Node) -> Box<[Immutable]> {
    let rules = schema.get("x-kubernetes-validations").and_then(Node::as_sequence).unwrap_or_default();
    let read = |rule: &Node| {
        let optional = rule.get("optionalOldSelf").is_some_and(|node| node.value() == true);
        let message = rule.get("message").and_then(Node::as_str);
        let read = read_rule(rule.get("rule")?.as_str()?)?;
        (!optional).then_some(Immutable { message: message.map(Into::into), ..read })
    };
    rules.iter().take(RULES).filter_map(read).collect()
}

/// Reads a rule: alternatives (`||`), of which one says that the field equals its old self and the
/// others say when it need not.
fn read_rule(rule: &str) -> Option<Immutable> {
    if !rule.contains("oldSelf") || rule.len() > 2_000 {
        return None;
    }
    let mut equal: Option<Vec<&str>> = None;
    let (mut setting, mut removing) = (None, None);
    let mut guards = Vec::new();
    for part in split(strip(rule), "||") {
        let part = strip(part);
        match equality(part) {
            Some(path) if equal.is_none() => equal = Some(path),
            _ => guards.push(part),
        }
    }
    let path = equal?;
    for guard in guards {
        let absent = |word: &str| format!("!has({})", join(word, &path));
        let old_absent = guard == absent("oldSelf") || is_empty_test(guard, &join("oldSelf", &path));
        let new_absent = guard == absent("self");
        let both = split(guard, "&&").map(strip).collect::<Vec<_>>();
        let both_absent = match both.as_slice() {
            [one, other] => {
                (*one == absent("self") && *other == absent("oldSelf"))
                    || (*one == absent("oldSelf") && *other == absent("self"))
            }
            _ => false,
        };
        if old_absent {
            setting = Some(Allowed::Yes);
        } else if new_absent {
            removing = Some(Allowed::Yes);
        } else if !both_absent {
            // Some condition of its own: nobody here can tell when it holds.
            return None;
        }
    }
    // A rule at the field itself is asked only where the field was there and still is; one above it
    // fails where either side has none.
    let otherwise = if path.is_empty() { Allowed::Yes } else { Allowed::No };
    Some(Immutable {
        below: path.iter().map(|name| (*name).into()).collect(),
        setting: setting.unwrap_or(otherwise),
        removing: removing.unwrap_or(otherwise),
        message: None,
    })
}

/// The path of `self.a.b == oldSelf.a.b`, either way round.
fn equality(part: &str) -> Option<Vec<&str>> {
    let (one, other) = part.split_once("==")?;
    let (one, other) = (path_of(one.trim(), "self"), path_of(other.trim(), "oldSelf"));
    match (one, other) {
        (Some(new), Some(old)) => (new == old).then_some(new),
        _ => {
            let (one, other) = part.split_once("==")?;
            let (old, new) = (path_of(one.trim(), "oldSelf")?, path_of(other.trim(), "self")?);
            (new == old).then_some(new)
        }
    }
}

/// `self.a.b` -> `a`, `b`.
fn path_of<'t>(text: &'t str, word: &str) -> Option<Vec<&'t str>> {
    let rest = text.strip_prefix(word)?;
    if rest.is_empty() {
        return Some(Vec::new());
    }
    let names: Vec<&str> = rest.strip_prefix('.')?.split('.').collect();
    let is_name = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    names.iter().all(is_name).then_some(names)
}

fn join(word: &str, path: &[&str]) -> String {
    path.iter().fold(word.to_owned(), |text, name| format!("{text}.{name}"))
}

/// `oldSelf == ''`, `size(oldSelf) == 0` and the like.
fn is_empty_test(guard: &str, old: &str) -> bool {
    let Some((one, other)) = guard.split_once("==") else { return false };
    let (one, other) = (one.trim(), other.trim());
    (one == old && matches!(other, "''" | "\"\"" | "null" | "0" | "[]" | "{}"))
        || (other == "0" && (one == format!("size({old})") || one == format!("{old}.size()")))
}

/// Takes off parentheses that hold the whole text.
fn strip(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        let mut depth = 0_i32;
        let closes_early = inner.chars().any(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth < 0
        });
        if closes_early {
            break;
        }
        text = inner.trim();
    }
    text
}

/// Splits at an operator that stands in no parentheses.
fn split<'t>(text: &'t str, operator: &'t str) -> impl Iterator<Item = &'t str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut depth = 0_i32;
        for (at, c) in text.char_indices() {
            depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
            if depth == 0 && text[at..].starts_with(operator) {
                rest = Some(&text[at + operator.len()..]);
                return Some(&text[..at]);
            }
        }
        rest = None;
        Some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::Allowed::{No, Yes};
    use super::*;

    #[test]
    fn the_shapes_that_say_immutable_are_read_and_no_others() {
        type Read = (&'static str, Allowed, Allowed);
        let cases: [(&str, Option<Read>); 17] = [
            ("self == oldSelf", Some(("", Yes, Yes))),
            ("(self == oldSelf)", Some(("", Yes, Yes))),
            ("oldSelf == self", Some(("", Yes, Yes))),
            ("self.region == oldSelf.region", Some(("region", No, No))),
            ("self.a.b == oldSelf.a.b", Some(("a.b", No, No))),
            (
                "(!has(self.region) && !has(oldSelf.region)) || self.region == oldSelf.region",
                Some(("region", No, No)),
            ),
            ("!has(oldSelf.region) || self.region == oldSelf.region", Some(("region", Yes, No))),
            ("!has(oldSelf.a) || !has(self.a) || self.a == oldSelf.a", Some(("a", Yes, Yes))),
            ("oldSelf == '' || self == oldSelf", Some(("", Yes, Yes))),
            ("oldSelf.size() == 0 || self == oldSelf", Some(("", Yes, Yes))),
            ("self == oldSelf || self == 'x'", None),
            ("self.a == oldSelf.b", None),
            ("self >= oldSelf", None),
            ("self != oldSelf", None),
            ("self.x == 'a' || self == oldSelf", None),
            ("self.size() == oldSelf.size()", None),
            ("has(self.a)", None),
        ];
        for (rule, expected) in cases {
            let read = read_rule(rule).map(|rule| (rule.below.join("."), rule.setting, rule.removing));
            assert_eq!(
                read,
                expected.map(|(path, setting, removing)| (path.to_owned(), setting, removing)),
                "{rule}"
            );
        }
    }
}
