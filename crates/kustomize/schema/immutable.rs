//! Validation rules that forbid a change (`x-kubernetes-validations` with `oldSelf`).
//!
//! The server runs them as expressions (CEL). The shapes that definitions use to say "immutable" are
//! read here; a rule of any other shape is passed over, never guessed.
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#transition-rules>

use capstan_yaml::Node;

/// A field that must stay as it is once the object exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Immutable {
    /// The fields from the rule's place to its field; empty for that place itself.
    pub below: Box<[Box<str>]>,
    /// Whether a value may come where there was none.
    pub setting: RuleAllows,
    /// Whether the value may become another.
    pub changing: RuleAllows,
    /// Whether the value may go.
    pub removing: RuleAllows,
    /// What counts as absent.
    pub absent: Absent,
    /// The rule's own message, where it has one.
    pub message: Option<Box<str>>,
}

/// Whether the rule allows something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleAllows {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// What counts as absent for a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Absent {
    /// What is not there.
    Alone,
    /// And what is empty: the rule asks for `oldSelf == ''` or the like.
    OrEmpty,
}

/// How many rules of one field are read.
const RULES: usize = 50;

/// The rules of a schema that forbid a change.
pub(super) fn rules_of(schema: &Node) -> Box<[Immutable]> {
    let rules = schema.get("x-kubernetes-validations").and_then(Node::as_sequence).unwrap_or_default();
    let read = |rule: &Node| {
        // `oldSelf` is another thing there.
        let optional = rule.get("optionalOldSelf").is_some_and(|node| node.value() == true);
        let text = rule.text_at("rule").filter(|_| !optional);
        let message: Option<Box<str>> = rule.text_at("message").map(Into::into);
        let read = text.map(read_rule).unwrap_or_default().into_iter();
        read.map(move |rule| Immutable { message: message.clone(), ..rule })
    };
    rules.iter().take(RULES).flat_map(read).collect()
}

/// Reads a rule: its conjuncts (`&&`), by their field. Each field's part is tested against the possible
/// transitions of the field; other parts are ignored, since the rest must hold in any case.
fn read_rule(rule: &str) -> Vec<Immutable> {
    if !rule.contains("oldSelf") || rule.len() > 2_000 {
        return Vec::new();
    }
    let mut fields: Vec<(Path<'_>, Vec<Test<'_>>)> = Vec::new();
    let rule = strip(rule);
    // `&&` binds closer than `||`: with alternatives, the rule is one part.
    let parts: Vec<&str> = match split(rule, "||").count() {
        1 => split(rule, "&&").collect(),
        _ => vec![rule],
    };
    for part in parts {
        let Some(test) = Test::read(part) else { continue };
        let mut paths = Vec::new();
        test.paths(&mut paths);
        paths.sort_unstable();
        paths.dedup();
        let [path] = paths.as_slice() else { continue };
        match fields.iter_mut().find(|(known, _)| known == *path) {
            Some((_, tests)) => tests.push(test),
            None => fields.push(((*path).clone(), vec![test])),
        }
    }
    fields.into_iter().filter_map(|(path, tests)| judge(&path, &tests)).collect()
}

fn judge(path: &Path<'_>, tests: &[Test<'_>]) -> Option<Immutable> {
    let allows = |case| {
        let holds = tests.iter().all(|test| test.holds(case) == Some(true));
        if holds { RuleAllows::Yes } else { RuleAllows::No }
    };
    // A rule at the field itself is asked only where the field was there and still is.
    let unless_itself = |case| if path.is_empty() { RuleAllows::Yes } else { allows(case) };
    let read = Immutable {
        below: path.iter().map(|name| (*name).into()).collect(),
        setting: unless_itself(FieldTransition::Set),
        changing: allows(FieldTransition::Changed),
        removing: unless_itself(FieldTransition::Removed),
        absent: if tests.iter().any(Test::asks_for_emptiness) { Absent::OrEmpty } else { Absent::Alone },
        message: None,
    };
    // A rule that an unchanged field violates is not of this kind.
    let forbids = [read.setting, read.changing, read.removing].contains(&RuleAllows::No);
    (forbids && allows(FieldTransition::Kept) == RuleAllows::Yes).then_some(read)
}

/// What can happen to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldTransition {
    Set,
    Changed,
    Kept,
    Removed,
}

/// The names on the way to a field.
type Path<'t> = Vec<&'t str>;

/// One side of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransitionSide {
    Old,
    New,
}

/// What a rule asks of one field. Anything else is not read.
#[derive(Debug)]
enum Test<'t> {
    Any(Vec<Test<'t>>),
    All(Vec<Test<'t>>),
    Not(Box<Test<'t>>),
    /// `has(self.a)`
    Has(TransitionSide, Path<'t>),
    /// `self.a == oldSelf.a`
    Equal(Path<'t>),
    /// `has(self.a) == has(oldSelf.a)`
    BothOrNone(Path<'t>),
    /// `oldSelf.a == ''` and the like.
    WasEmpty(Path<'t>),
}

impl<'t> Test<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let text = strip(text);
        let several = |operator| {
            let parts: Vec<&str> = split(text, operator).collect();
            (parts.len() > 1).then(|| parts.into_iter().map(Self::read).collect::<Option<Vec<_>>>())
        };
        if let Some(tests) = several("||") {
            return tests.map(Self::Any);
        }
        if let Some(tests) = several("&&") {
            return tests.map(Self::All);
        }
        if let Some(rest) = text.strip_prefix('!') {
            return Self::read(rest).map(|test| Self::Not(Box::new(test)));
        }
        let sides: Vec<&str> = split(text, "==").map(str::trim).collect();
        match *sides {
            [one] => has(one).map(|(side, path)| Self::Has(side, path)),
            [one, other] => match (has(one), has(other), side_of(one), side_of(other)) {
                (Some((one, path)), Some((other, twin)), ..) if one != other && path == twin => {
                    Some(Self::BothOrNone(path))
                }
                (.., Some((one, path)), Some((other, twin))) if one != other && path == twin => {
                    Some(Self::Equal(path))
                }
                (_, _, Some((TransitionSide::Old, path)), None) if EMPTY.contains(&other) => {
                    Some(Self::WasEmpty(path))
                }
                (None, None, None, None) if other == "0" => {
                    let of = one.strip_prefix("size(").and_then(|one| one.strip_suffix(')'));
                    match side_of(of.or_else(|| one.strip_suffix(".size()"))?)? {
                        (TransitionSide::Old, path) => Some(Self::WasEmpty(path)),
                        (TransitionSide::New, _) => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn paths<'s>(&'s self, found: &mut Vec<&'s Path<'t>>) {
        match self {
            Self::Any(tests) | Self::All(tests) => tests.iter().for_each(|test| test.paths(found)),
            Self::Not(test) => test.paths(found),
            Self::Has(_, path) | Self::Equal(path) | Self::BothOrNone(path) | Self::WasEmpty(path) => {
                found.push(path);
            }
        }
    }

    /// As CEL decides it: `None` is an error, which one alternative that holds makes up for.
    fn holds(&self, case: FieldTransition) -> Option<bool> {
        let there = |side| match side {
            TransitionSide::Old => {
                matches!(case, FieldTransition::Changed | FieldTransition::Kept | FieldTransition::Removed)
            }
            TransitionSide::New => {
                matches!(case, FieldTransition::Set | FieldTransition::Changed | FieldTransition::Kept)
            }
        };
        match self {
            Self::Any(tests) => one_decides(tests, case, true),
            Self::All(tests) => one_decides(tests, case, false),
            Self::Not(test) => test.holds(case).map(|held| !held),
            Self::Has(side, _) => Some(there(*side)),
            Self::BothOrNone(_) => Some(there(TransitionSide::Old) == there(TransitionSide::New)),
            Self::Equal(_) => (there(TransitionSide::Old) && there(TransitionSide::New))
                .then_some(case == FieldTransition::Kept),
            // What is empty counts as absent ([`Absent::OrEmpty`]).
            Self::WasEmpty(_) => Some(case == FieldTransition::Set),
        }
    }

    fn asks_for_emptiness(&self) -> bool {
        match self {
            Self::Any(tests) | Self::All(tests) => tests.iter().any(Self::asks_for_emptiness),
            Self::Not(test) => test.asks_for_emptiness(),
            Self::WasEmpty(_) => true,
            Self::Has(..) | Self::Equal(_) | Self::BothOrNone(_) => false,
        }
    }
}

/// How CEL writes what is empty.
const EMPTY: [&str; 6] = ["''", "\"\"", "null", "0", "[]", "{}"];

/// Whether tests hold of which one alone decides, if it comes out so: an error counts only where none does.
fn one_decides(tests: &[Test<'_>], case: FieldTransition, so: bool) -> Option<bool> {
    let held: Vec<Option<bool>> = tests.iter().map(|test| test.holds(case)).collect();
    if held.contains(&Some(so)) {
        return Some(so);
    }
    (!held.contains(&None)).then_some(!so)
}

/// `has(self.a)`
fn has(text: &str) -> Option<(TransitionSide, Path<'_>)> {
    side_of(text.strip_prefix("has(")?.strip_suffix(')')?).filter(|(_, path)| !path.is_empty())
}

/// `oldSelf.a.b` -> the old side, `a`, `b`.
fn side_of(text: &str) -> Option<(TransitionSide, Path<'_>)> {
    let text = text.trim();
    match text.strip_prefix("oldSelf") {
        Some(rest) => path_of(rest).map(|path| (TransitionSide::Old, path)),
        None => path_of(text.strip_prefix("self")?).map(|path| (TransitionSide::New, path)),
    }
}

/// `.a.b` -> `a`, `b`.
fn path_of(rest: &str) -> Option<Path<'_>> {
    if rest.is_empty() {
        return Some(Vec::new());
    }
    let names: Vec<&str> = rest.strip_prefix('.')?.split('.').collect();
    let is_name = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    names.iter().all(is_name).then_some(names)
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

/// Splits at an operator outside of parentheses.
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
    use super::RuleAllows::{No, Yes};
    use super::*;

    #[test]
    fn the_shapes_that_forbid_a_change_are_read_and_no_others() {
        // Whether a value may be set, changed, removed.
        type Read = (&'static str, RuleAllows, RuleAllows, RuleAllows);
        let cases: [(&str, &[Read]); 25] = [
            ("self == oldSelf", &[("", Yes, No, Yes)]),
            ("(self == oldSelf)", &[("", Yes, No, Yes)]),
            ("oldSelf == self", &[("", Yes, No, Yes)]),
            ("self.region == oldSelf.region", &[("region", No, No, No)]),
            ("self.a.b == oldSelf.a.b", &[("a.b", No, No, No)]),
            (
                "(!has(self.region) && !has(oldSelf.region)) || self.region == oldSelf.region",
                &[("region", No, No, No)],
            ),
            ("!has(oldSelf.region) || self.region == oldSelf.region", &[("region", Yes, No, No)]),
            ("!has(oldSelf.a) || !has(self.a) || self.a == oldSelf.a", &[("a", Yes, No, Yes)]),
            ("oldSelf == '' || self == oldSelf", &[("", Yes, No, Yes)]),
            ("oldSelf.size() == 0 || self == oldSelf", &[("", Yes, No, Yes)]),
            // Once set, it stays.
            ("!has(oldSelf.a) || (has(self.a) && self.a == oldSelf.a)", &[("a", Yes, No, No)]),
            ("!has(oldSelf.a) || has(self.a)", &[("a", Yes, Yes, No)]),
            ("has(self.a) || !has(oldSelf.a)", &[("a", Yes, Yes, No)]),
            // At creation or never.
            ("has(oldSelf.a) == has(self.a)", &[("a", No, Yes, No)]),
            ("has(oldSelf.a) == has(self.a) && (!has(self.a) || self.a == oldSelf.a)", &[("a", No, No, No)]),
            ("self.a == oldSelf.a && oldSelf.b == self.b", &[("a", No, No, No), ("b", No, No, No)]),
            // The other half must hold in any case.
            ("self.a == oldSelf.a && self.b > 3", &[("a", No, No, No)]),
            ("self.b > 3 || self.a == oldSelf.a && self.c", &[]),
            ("self == oldSelf || self == 'x'", &[]),
            ("self.a == oldSelf.b", &[]),
            ("self >= oldSelf", &[]),
            ("self != oldSelf", &[]),
            ("self.x == 'a' || self == oldSelf", &[]),
            ("self.size() == oldSelf.size()", &[]),
            ("has(self.a) != has(oldSelf.a)", &[]),
        ];
        for (rule, expected) in cases {
            let read = read_rule(rule);
            let read: Vec<_> = read
                .iter()
                .map(|rule| (rule.below.join("."), rule.setting, rule.changing, rule.removing))
                .collect();
            let expected = expected.iter();
            let expected =
                expected.map(|(path, set, change, remove)| ((*path).to_owned(), *set, *change, *remove));
            assert_eq!(read, expected.collect::<Vec<_>>(), "{rule}");
        }
    }
}
