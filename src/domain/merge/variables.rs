//! Templated scalars (U3): `${V}`, `${V:=default}`, `${V:-default}`, and `$${V}` for a literal `${V}`.
//!
//! Values go into parsed scalars, never into text, so that a value cannot become YAML.

use std::collections::{BTreeMap, BTreeSet};

use super::lists::pair_items;
use crate::yaml::{Entry, Node, NodeKind, Scalar, ScalarStyle};

/// A part of a scalar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// Literal text.
    Text(&'t str),
    /// `$${V}`: the literal text `${V}`, given here.
    Escaped(&'t str),
    /// A variable.
    Variable {
        /// Its name.
        name: &'t str,
        /// The value where nothing binds it.
        default: Option<&'t str>,
        /// As written.
        raw: &'t str,
    },
}

/// The tokens of a scalar's text. What only looks like a variable (`${A/b/c}`, `$A`) is text.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut start = 0;
    while let Some(found) = rest[start..].find("${") {
        let at = start + found;
        let Some(variable) = read_variable(&rest[at..]) else {
            start = at + 2;
            continue;
        };
        let Token::Variable { raw, .. } = variable else { break };
        let escaped = rest[..at].ends_with('$');
        let text_end = if escaped { at - 1 } else { at };
        if text_end > 0 {
            out.push(Token::Text(&rest[..text_end]));
        }
        out.push(if escaped { Token::Escaped(raw) } else { variable.clone() });
        rest = &rest[at + raw.len()..];
        start = 0;
    }
    if !rest.is_empty() {
        out.push(Token::Text(rest));
    }
    out
}

fn read_variable(text: &str) -> Option<Token<'_>> {
    let inside = text.strip_prefix("${")?;
    let end = inside.find('}')?;
    let body = &inside[..end];
    let name_end = body.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(body.len());
    let (name, rest) = body.split_at(name_end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let default = match rest {
        "" => None,
        rest => Some(rest.strip_prefix(":=").or_else(|| rest.strip_prefix(":-"))?),
    };
    Some(Token::Variable { name, default, raw: &text[..end + 3] })
}

/// Whether any scalar below holds a variable or an escaped one.
pub(crate) fn is_templated(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Scalar(scalar) => scalar.text.contains("${"),
        NodeKind::Mapping(entries) => entries.iter().any(|entry| is_templated(&entry.value)),
        NodeKind::Sequence(items) => items.iter().any(is_templated),
    }
}

/// The names of the variables below.
pub(crate) fn names(node: &Node, out: &mut BTreeSet<String>) {
    match &node.kind {
        NodeKind::Scalar(scalar) if scalar.text.contains("${") => {
            for token in tokens(&scalar.text) {
                if let Token::Variable { name, .. } = token {
                    out.insert(name.to_owned());
                }
            }
        }
        NodeKind::Scalar(_) => {}
        NodeKind::Mapping(entries) => entries.iter().for_each(|entry| names(&entry.value, out)),
        NodeKind::Sequence(items) => items.iter().for_each(|item| names(item, out)),
    }
}

/// What variables stand for in one cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bindings {
    /// From the settings: they bind whatever the objects say.
    declared: BTreeMap<String, String>,
    /// From unifying the old release with the cluster.
    found: BTreeMap<String, String>,
    /// Found with two values: bound by neither.
    contradicting: BTreeMap<String, (String, String)>,
}

impl Bindings {
    pub(crate) fn new(declared: &BTreeMap<String, String>) -> Self {
        Self { declared: declared.clone(), ..Self::default() }
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        if let Some(value) = self.declared.get(name) {
            return Some(value);
        }
        if self.contradicting.contains_key(name) {
            return None;
        }
        self.found.get(name).map(String::as_str)
    }

    /// Variables that two places bind to two values: name, one value, another.
    pub(crate) fn contradictions(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.contradicting.iter().map(|(name, (one, other))| (name.as_str(), one.as_str(), other.as_str()))
    }

    fn bind(&mut self, name: &str, value: &str) {
        if self.declared.contains_key(name) {
            return;
        }
        match self.found.get(name) {
            None => {
                self.found.insert(name.to_owned(), value.to_owned());
            }
            Some(known) if known == value => {}
            Some(known) => {
                let known = known.clone();
                self.contradicting.entry(name.to_owned()).or_insert_with(|| (known, value.to_owned()));
            }
        }
    }

    /// Learns from a release's scalar and the cluster's text in the same place. Only one unknown in
    /// one place can be solved for; a value that equals the default binds nothing.
    pub(crate) fn unify(&mut self, own: &BTreeMap<String, String>, release: &str, cluster: &str) {
        if !release.contains("${") {
            return;
        }
        let (mut before, mut after) = (String::new(), String::new());
        let mut unknown: Option<(&str, Option<&str>)> = None;
        let parts = tokens(release);
        for token in &parts {
            let known = match token {
                Token::Text(text) | Token::Escaped(text) => Some(*text),
                Token::Variable { name, .. } => own.get(*name).map(String::as_str).or_else(|| {
                    self.declared
                        .get(*name)
                        .or_else(|| self.found.get(*name).filter(|_| parts.len() > 1))
                        .map(String::as_str)
                }),
            };
            match (known, token) {
                (Some(text), _) if unknown.is_none() => before.push_str(text),
                (Some(text), _) => after.push_str(text),
                (None, Token::Variable { name, default, .. }) if unknown.is_none() => {
                    unknown = Some((name, *default));
                }
                (None, _) => return,
            }
        }
        let Some((name, default)) = unknown else { return };
        let value = cluster.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(after.as_str()));
        if let Some(value) = value
            && !value.is_empty()
            && !value.contains("${")
            && default != Some(value)
        {
            self.bind(name, value);
        }
    }

    /// [`unify`](Self::unify) for all scalars of two trees.
    pub(crate) fn unify_nodes(&mut self, own: &BTreeMap<String, String>, release: &Node, cluster: &Node) {
        match (&release.kind, &cluster.kind) {
            (NodeKind::Scalar(release), NodeKind::Scalar(cluster)) => {
                self.unify(own, &release.text, &cluster.text)
            }
            (NodeKind::Mapping(entries), NodeKind::Mapping(_)) => {
                for entry in entries {
                    if let Some(value) = cluster.get(&entry.key) {
                        self.unify_nodes(own, &entry.value, value);
                    }
                }
            }
            (NodeKind::Sequence(release), NodeKind::Sequence(cluster)) => {
                for (release, cluster) in pair_items(release, cluster) {
                    self.unify_nodes(own, release, cluster);
                }
            }
            _ => {}
        }
    }
}

/// How far variables are substituted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Substitution {
    /// All that are bound, else the default; `$${V}` becomes `${V}`.
    Full,
    /// Only the release's own: the cluster's object is still a template, and tokens are copied.
    OwnOnly,
}

/// One source's view of the variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// Owned by the release, with this release's values.
    pub(crate) own: &'a BTreeMap<String, String>,
    /// Of the cluster.
    pub(crate) bindings: &'a Bindings,
    /// How far.
    pub(crate) substitution: Substitution,
}

impl Scope<'_> {
    /// A text with its variables substituted; the unbound stay as they are written.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for token in tokens(text) {
            match token {
                Token::Text(text) => out.push_str(text),
                Token::Escaped(raw) => {
                    if self.substitution == Substitution::OwnOnly {
                        out.push('$');
                    }
                    out.push_str(raw);
                }
                Token::Variable { name, default, raw } => {
                    let bound = match self.substitution {
                        _ if self.own.contains_key(name) => self.own.get(name).map(String::as_str),
                        Substitution::OwnOnly => None,
                        Substitution::Full => self.bindings.value(name).or(default),
                    };
                    out.push_str(bound.unwrap_or(raw));
                }
            }
        }
        out
    }

    /// A scalar with its variables substituted. What was plain stays plain, so that `${COUNT}` is a
    /// number, as it is for the tools that substitute in text.
    pub(crate) fn scalar(&self, scalar: &Scalar) -> Scalar {
        let text = self.text(&scalar.text);
        match scalar.style {
            ScalarStyle::Plain if is_plain_safe(&text) => Scalar::plain(text),
            ScalarStyle::Plain => Scalar::string(text),
            style => Scalar { text, style },
        }
    }

    /// A tree with its variables substituted.
    pub(crate) fn node(&self, node: &Node) -> Node {
        let kind = match &node.kind {
            NodeKind::Scalar(scalar) if scalar.text.contains("${") => NodeKind::Scalar(self.scalar(scalar)),
            NodeKind::Scalar(scalar) => NodeKind::Scalar(scalar.clone()),
            NodeKind::Mapping(entries) => NodeKind::Mapping(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: entry.key.clone(),
                        key_span: entry.key_span.clone(),
                        value: self.node(&entry.value),
                    })
                    .collect(),
            ),
            NodeKind::Sequence(items) => {
                NodeKind::Sequence(items.iter().map(|item| self.node(item)).collect())
            }
        };
        Node { kind, span: node.span.clone(), shared: node.shared }
    }

    /// The variables below that nothing binds and that have no default.
    pub(crate) fn unbound_below(&self, node: &Node, out: &mut BTreeSet<String>) {
        match &node.kind {
            _ if self.substitution == Substitution::OwnOnly => {}
            NodeKind::Scalar(scalar) if scalar.text.contains("${") => {
                for token in tokens(&scalar.text) {
                    if let Token::Variable { name, default: None, .. } = token
                        && !self.own.contains_key(name)
                        && self.bindings.value(name).is_none()
                    {
                        out.insert(name.to_owned());
                    }
                }
            }
            NodeKind::Scalar(_) => {}
            NodeKind::Mapping(entries) => {
                entries.iter().for_each(|entry| self.unbound_below(&entry.value, out))
            }
            NodeKind::Sequence(items) => items.iter().for_each(|item| self.unbound_below(item, out)),
        }
    }
}

fn is_plain_safe(text: &str) -> bool {
    let safe = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '.' | '_' | '/' | ':' | '@' | '+' | '-' | '$' | '{' | '}' | '=' | ',' | ' ')
    };
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '+' | '-' | '$'))
        && text.chars().all(safe)
        && !text.starts_with("- ")
        && !text.starts_with("---")
        && text != "-"
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_is_read_into_literals_and_variables() {
        let variable = |name, default, raw| Token::Variable { name, default, raw };
        assert_eq!(
            tokens("${CLUSTER}-md-${N:=0}"),
            [
                variable("CLUSTER", None, "${CLUSTER}"),
                Token::Text("-md-"),
                variable("N", Some("0"), "${N:=0}")
            ]
        );
        assert_eq!(tokens("a $${B} c"), [Token::Text("a "), Token::Escaped("${B}"), Token::Text(" c")]);
        assert_eq!(tokens("${A:-x y}"), [variable("A", Some("x y"), "${A:-x y}")]);
        assert_eq!(tokens("$A ${ B} ${1}"), [Token::Text("$A ${ B} ${1}")]);
        assert_eq!(tokens("${"), [Token::Text("${")]);
    }

    #[test]
    fn one_unknown_is_solved_for_and_a_default_binds_nothing() {
        let own = BTreeMap::new();
        let mut bindings = Bindings::new(&BTreeMap::new());
        bindings.unify(&own, "${CLUSTER_NAME}-md-0", "peu01-md-0");
        bindings.unify(&own, "${COUNT:=3}", "3");
        bindings.unify(&own, "${A}${B}", "xy");
        assert_eq!(bindings.value("CLUSTER_NAME"), Some("peu01"));
        assert_eq!(bindings.value("COUNT"), None);
        assert_eq!(bindings.value("A"), None);
        bindings.unify(&own, "${CLUSTER_NAME}", "other");
        assert_eq!(bindings.value("CLUSTER_NAME"), None);
        assert_eq!(bindings.contradictions().collect::<Vec<_>>(), [("CLUSTER_NAME", "peu01", "other")]);
    }

    #[test]
    fn substitution_keeps_numbers_numbers_and_strings_strings() {
        let own = BTreeMap::new();
        let declared = BTreeMap::from([("N".to_owned(), "3".to_owned())]);
        let bindings = Bindings::new(&declared);
        let scope = Scope { own: &own, bindings: &bindings, substitution: Substitution::Full };
        let quoted = Scalar { text: "${N}".into(), style: ScalarStyle::DoubleQuoted };
        assert_eq!(scope.scalar(&Scalar::plain("${N}")).value(), crate::yaml::Value::from(3));
        assert_eq!(scope.scalar(&quoted).value(), crate::yaml::Value::from("3"));
        assert_eq!(scope.text("$${N} ${M:-x}"), "${N} x");
    }
}
