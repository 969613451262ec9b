//! Which objects a patch with a `target` is meant for.

use std::fmt;

use regex::Regex;

use super::budget::{LOOK, RenderBudget};
use super::error::RenderError;
use super::go_expression::spelled;
use super::keys::fields_of;
use super::kustomize::{Gvk, Id};
use super::placed::PlacedValue;
use super::resource::RenderedResource;

/// A `target`: every part that is given must fit. Group, version, kind, name and namespace are
/// regular expressions that must match as a whole, as in kustomize.
#[derive(Debug)]
pub(super) struct PatchSelector {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: Vec<Requirement>,
    annotations: Vec<Requirement>,
}

#[derive(Debug, Default)]
struct Pattern {
    text: String,
    expression: WholeRegex,
    /// Steps of asking whether a text fits.
    steps: usize,
}

/// A regular expression that a text must match as a whole.
#[derive(Debug, Default)]
enum WholeRegex {
    /// None was given.
    #[default]
    Any,
    /// Words with anything between them (`c1-md-.*`): what most are, and compiling one takes longer than
    /// rendering a file.
    Words(Vec<String>),
    Regex(Regex),
}

impl WholeRegex {
    fn words(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte);
        let words: Vec<String> = text.split(".*").map(str::to_owned).collect();
        words.iter().all(|word| word.bytes().all(is_plain)).then_some(Self::Words(words))
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Words(words) => fits_words(words, text),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

fn fits_words(words: &[String], text: &str) -> bool {
    let Some((first, others)) = words.split_first() else { return text.is_empty() };
    let Some((last, between)) = others.split_last() else { return text == first };
    // A dot matches anything but the end of a line.
    let Some(rest) = text.strip_prefix(first.as_str()).filter(|_| !text.contains('\n')) else { return false };
    let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
    between.iter().all(|word| {
        let found = rest.find(word.as_str());
        rest = found.map_or(rest, |at| &rest[at + word.len()..]);
        found.is_some()
    })
}

impl Pattern {
    fn read(target: &PlacedValue, field: &str, budget: &RenderBudget) -> Result<Self, RenderError> {
        let Some(value) = target.field(field).filter(|value| !value.is_null()) else {
            return Ok(Self::default());
        };
        let text = value.as_str().ok_or_else(|| {
            RenderError::malformed(&value.place, format!("`{field}` of a target is a text: quote it"))
        })?;
        if text.is_empty() {
            return Ok(Self::default());
        }
        if let Some(expression) = WholeRegex::words(text) {
            return Ok(Self { text: text.to_owned(), expression, steps: 0 });
        }
        let expression = format!("^(?:{text})$");
        let compiled = budget.expression(&expression, &value.place)?.map_err(|reason| {
            // In the words of the original text, where it is not valid by itself.
            let reason = spelled(text).err().unwrap_or(reason);
            let reason = reason.lines().last().unwrap_or_default().trim().to_owned();
            RenderError::malformed(
                &value.place,
                format!(
                    "`{field}` of a target must be a regular expression, but `{text}` is not one: {reason}"
                ),
            )
        })?;
        let steps = compiled.steps;
        Ok(Self { text: text.to_owned(), expression: WholeRegex::Regex(compiled.regex), steps })
    }

    fn fits(&self, text: &str) -> bool {
        self.expression.fits(text)
    }

    const fn is_given(&self) -> bool {
        !matches!(self.expression, WholeRegex::Any)
    }
}

/// One part of a label selector.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

impl PatchSelector {
    /// Reads a `target`.
    pub(super) fn read(target: &PlacedValue, budget: &RenderBudget) -> Result<Self, RenderError> {
        const FIELDS: [&str; 7] =
            ["group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector"];
        let target = &*fields_of(target, "a target", &FIELDS)?;
        Ok(Self {
            group: Pattern::read(target, "group", budget)?,
            version: Pattern::read(target, "version", budget)?,
            kind: Pattern::read(target, "kind", budget)?,
            name: Pattern::read(target, "name", budget)?,
            namespace: Pattern::read(target, "namespace", budget)?,
            labels: requirements(target, "labelSelector")?,
            annotations: requirements(target, "annotationSelector")?,
        })
    }

    /// Steps of asking whether it means an object.
    pub(super) const fn steps(&self) -> usize {
        LOOK + self.group.steps
            + self.version.steps
            + self.kind.steps
            // The name and namespace that it has, and those that it was loaded with.
            + 2 * self.name.steps
            + 2 * self.namespace.steps
    }

    /// Whether a patch with this target means an object: by its present kind, and the name and namespace
    /// that it has or was loaded with.
    pub(super) fn selects(&self, resource: &RenderedResource) -> bool {
        let (now, first) = (resource.id(), resource.original_id());
        let either = |pattern: &Pattern, one: &str, other: &str| pattern.fits(one) || pattern.fits(other);
        self.fits_gvk(&now.gvk)
            && either(&self.name, &first.name, &now.name)
            && either(&self.namespace, first.effective_namespace(), now.effective_namespace())
            && self.fits_marks(resource)
    }

    fn fits_gvk(&self, gvk: &Gvk) -> bool {
        self.group.fits(&gvk.group) && self.version.fits(&gvk.version) && self.kind.fits(&gvk.kind)
    }

    /// Whether one identity is meant; a namespace counts as it is written.
    pub(super) fn fits_id(&self, id: &Id) -> bool {
        self.fits_gvk(&id.gvk) && self.name.fits(&id.name) && self.namespace.fits(&id.namespace)
    }

    /// Whether an object's labels and annotations fit.
    pub(super) fn fits_marks(&self, resource: &RenderedResource) -> bool {
        let meets = |field: &str, requirements: &[Requirement]| {
            let values = resource.value.at(&["metadata", field]);
            let value = |key: &str| values?.field(key).map(PlacedValue::written).map(Into::into);
            requirements.iter().all(|requirement| requirement.is_met(&value))
        };
        meets("labels", &self.labels) && meets("annotations", &self.annotations)
    }

    /// Whether it asks for labels or annotations.
    pub(super) const fn has_marks(&self) -> bool {
        !self.labels.is_empty() || !self.annotations.is_empty()
    }

    /// Whether it asks for a name.
    pub(super) const fn names_something(&self) -> bool {
        self.name.is_given()
    }

    /// Whether it asks for anything else.
    pub(super) fn has_names(&self) -> bool {
        [&self.group, &self.version, &self.kind, &self.name, &self.namespace]
            .iter()
            .any(|pattern| pattern.is_given())
    }
}

impl fmt::Display for PatchSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("group", &self.group),
            ("version", &self.version),
            ("kind", &self.kind),
            ("namespace", &self.namespace),
            ("name", &self.name),
        ];
        let mut words: Vec<String> = parts
            .iter()
            .filter(|(_, pattern)| !pattern.text.is_empty())
            .map(|(field, pattern)| format!("{field} {}", pattern.text))
            .collect();
        if !self.labels.is_empty() {
            words.push("a label selector".to_owned());
        }
        if !self.annotations.is_empty() {
            words.push("an annotation selector".to_owned());
        }
        f.write_str(&if words.is_empty() { "every object".to_owned() } else { words.join(", ") })
    }
}

impl Requirement {
    fn is_met(&self, value: &dyn Fn(&str) -> Option<String>) -> bool {
        match self {
            Self::Exists(key) => value(key).is_some(),
            Self::Absent(key) => value(key).is_none(),
            Self::In(key, wanted) => value(key).is_some_and(|value| wanted.contains(&value)),
            // Kubernetes: what lacks the label meets `!=` and `notin`.
            Self::NotIn(key, unwanted) => value(key).is_none_or(|value| !unwanted.contains(&value)),
        }
    }
}

/// Whether labels or annotations match a selector in Kubernetes' syntax; `None` where it is not valid.
pub fn meets_selector(selector: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<bool> {
    let parts = split_outside_brackets(selector).into_iter().map(str::trim).filter(|part| !part.is_empty());
    let requirements: Vec<Requirement> = parts.map(parse_requirement).collect::<Option<_>>()?;
    Some(requirements.iter().all(|requirement| requirement.is_met(value)))
}

fn requirements(target: &PlacedValue, field: &str) -> Result<Vec<Requirement>, RenderError> {
    let Some(value) = target.field(field).filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    let text = value.as_str().unwrap_or_default();
    split_outside_brackets(text)
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            parse_requirement(part).ok_or_else(|| {
                RenderError::malformed(
                    &value.place,
                    format!("`{field}` has a part `{part}`, which is not `key`, `!key`, `key=value`, `key!=value`, `key in (a, b)` or `key notin (a, b)`"),
                )
            })
        })
        .collect()
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn parse_requirement(part: &str) -> Option<Requirement> {
    let key = |text: &str| {
        let text = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./${}".contains(c);
        (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
    };
    if let Some(list) = part.strip_suffix(')') {
        let (head, values) = list.split_once('(')?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let (name, operator) = head.trim().rsplit_once(char::is_whitespace)?;
        return match operator {
            "in" => Some(Requirement::In(key(name)?, values)),
            "notin" => Some(Requirement::NotIn(key(name)?, values)),
            _ => None,
        };
    }
    if let Some((name, value)) = part.split_once("!=") {
        return Some(Requirement::NotIn(key(name)?, vec![value.trim().to_owned()]));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Some(Requirement::In(key(name)?, vec![value.trim().to_owned()]));
    }
    match part.strip_prefix('!') {
        Some(name) => Some(Requirement::Absent(key(name)?)),
        None => Some(Requirement::Exists(key(part)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_length_that_kubernetes_has_may_be_asked_for() {
        let place = capstan_model::tree::RepoPath::root();
        let compiled = |text: &str| RenderBudget::default().expression(text, &place).unwrap();
        assert!(compiled(r"^(?:\w{1,63})$").is_ok());
        assert!(compiled(r"^(?:\pL{999})$").is_err());
    }

    #[test]
    fn words_fit_what_their_regular_expression_fits() {
        let patterns = ["a", "a.*", ".*a", ".*", "a.*b", "a.*b.*a", ".*.*", "ab.*ba", "a-b_c/d"];
        let texts = [
            "", "a", "b", "ab", "ba", "aba", "abba", "aab", "ab\nba", "xay", "abxba", "a-b_c/d", "aa", "a\n",
        ];
        for pattern in patterns {
            let words = WholeRegex::words(pattern).unwrap();
            let regex = Regex::new(&format!("^(?:{pattern})$")).unwrap();
            for text in texts {
                assert_eq!(words.fits(text), regex.is_match(text), "{pattern} and {text:?}");
            }
        }
        for pattern in
            ["a.b", "a+", "[ab]", "a|b", "", "(a)", "a$"].iter().filter(|pattern| !pattern.is_empty())
        {
            assert!(WholeRegex::words(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn label_selectors_read_as_kubernetes_reads_them() {
        let text = |text: &str| text.to_owned();
        let cases = [
            ("tier", Some(Requirement::Exists(text("tier")))),
            ("!tier", Some(Requirement::Absent(text("tier")))),
            ("tier=web", Some(Requirement::In(text("tier"), vec![text("web")]))),
            ("tier == web", Some(Requirement::In(text("tier"), vec![text("web")]))),
            ("tier!=web", Some(Requirement::NotIn(text("tier"), vec![text("web")]))),
            ("tier in (a, b)", Some(Requirement::In(text("tier"), vec![text("a"), text("b")]))),
            ("tier notin (a)", Some(Requirement::NotIn(text("tier"), vec![text("a")]))),
            ("tier like (a)", None),
            ("ti er", None),
        ];
        for (part, expected) in cases {
            assert_eq!(parse_requirement(part), expected, "{part}");
        }
        assert_eq!(split_outside_brackets("a in (x,y),b"), ["a in (x,y)", "b"]);
    }
}
