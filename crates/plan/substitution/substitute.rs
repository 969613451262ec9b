//! Values into scalars: what a release's text is in one cluster.
//!
//! Values go into parsed scalars, never into text, so that no value can break a document or become keys and items of
//! one by accident. A text without quotes is read afterwards as the tools' result would be: `${N}` may be a number, a
//! boolean or nothing, and a value that is itself a quoted string or a collection in brackets is that.

use std::collections::BTreeMap;

use super::bindings::{Bindings, Flux};
use super::{DIALECT, budget, tokens};
use capstan_envsubst::{
    EvaluationError, Evaluator, Substituted, TextBudget, TextToken, Value, Variable, VariableOperation,
    may_hold_expressions, may_hold_tokens,
};
use capstan_yaml::scalar::{ScalarReading, read_plain};
use capstan_yaml::{Entry, Node, NodeKind, Scalar, ScalarStyle, YamlFile};

/// Bytes of a text with values in it.
pub(super) const LONGEST: usize = DIALECT.bounds.text;

/// How variables are substituted in one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Substitution {
    /// How far.
    pub(crate) extent: SubstitutionExtent,
    /// Whether Flux has its hand in it.
    pub(crate) flux: Flux,
}

/// How far variables are substituted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubstitutionExtent {
    /// All that are bound, else the default; `$$` becomes `$`.
    Full,
    /// Only the release's own: the cluster's object is still a template, and tokens are copied.
    OwnOnly,
}

impl Substitution {
    /// Everything, Flux's values included.
    pub(crate) const FULL: Self = Self { extent: SubstitutionExtent::Full, flux: Flux::Substitutes };
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SubstitutionError {
    /// Nothing binds this variable.
    Unbound(String),
    /// Flux takes this variable from a Secret, which is never read.
    Secret(String),
    /// The object stays a template, and Flux, which will substitute in it, has no value for this one.
    NotGiven(String),
    /// Not an expression that Capstan computes, as written.
    Unsupported(String),
}

/// One source's view of the variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubstitutionScope<'a> {
    /// Owned by the release, with this release's values.
    pub(crate) own: &'a BTreeMap<String, String>,
    /// Of the cluster.
    pub(crate) bindings: &'a Bindings,
    /// How far.
    pub(crate) substitution: Substitution,
}

impl SubstitutionScope<'_> {
    /// A text with its variables substituted; what has no value stays as it is written.
    pub(crate) fn text(&self, text: &str) -> String {
        self.text_within(text, &budget())
    }

    /// The same as one of several texts that share a budget.
    pub(crate) fn text_within(&self, text: &str, budget: &TextBudget) -> String {
        let mut out = String::with_capacity(text.len());
        for token in tokens(text) {
            match (&token, self.substitution.extent) {
                (TextToken::Text(text) | TextToken::Malformed(text), _) => out.push_str(text),
                (TextToken::Escaped(dollar), extent) => {
                    out.push_str(dollar);
                    // Flux takes the escape away where it reads what is written.
                    if extent == SubstitutionExtent::OwnOnly || self.is_read_by_flux() {
                        out.push_str(dollar);
                    }
                }
                (TextToken::Variable(variable), SubstitutionExtent::Full) => {
                    match self.variable_within(variable, budget) {
                        Ok(value) if out.len() + value.len() <= LONGEST => out.push_str(&value),
                        Ok(_) | Err(_) => out.push_str(variable.raw),
                    }
                }
                (TextToken::Variable(variable), SubstitutionExtent::OwnOnly) => {
                    self.copy(variable, budget, &mut out)
                }
            }
        }
        out
    }

    /// An expression's value, as one of several that share a budget.
    pub(crate) fn variable_within(
        &self,
        variable: &Variable<'_>,
        budget: &TextBudget,
    ) -> Result<String, SubstitutionError> {
        self.evaluated(budget, |evaluator, out| evaluator.variable(variable, out))
    }

    /// The value of a default, in which there are no escapes.
    pub(super) fn tokens_within(
        &self,
        tokens: &[TextToken<'_>],
        budget: &TextBudget,
    ) -> Result<String, SubstitutionError> {
        self.evaluated(budget, |evaluator, out| evaluator.tokens(tokens, out))
    }

    fn evaluated<'t>(
        &self,
        budget: &TextBudget,
        evaluate: impl FnOnce(Evaluator<'_, '_>, &mut Substituted<&'t str>) -> Result<(), EvaluationError<'t>>,
    ) -> Result<String, SubstitutionError> {
        let value = |name: &str| self.value(name);
        let mut out = Substituted::default();
        match evaluate(Evaluator::new(&DIALECT, &value, budget), &mut out) {
            Ok(()) => Ok(out.text),
            Err(EvaluationError::Unset(name)) => Err(SubstitutionError::Unbound(name.to_owned())),
            Err(EvaluationError::Secret(name)) => Err(SubstitutionError::Secret(name.to_owned())),
            Err(EvaluationError::NotComputed { raw, .. }) => {
                Err(SubstitutionError::Unsupported(raw.to_owned()))
            }
        }
    }

    /// Whether Flux reads the texts before anybody else does.
    pub(super) fn is_read_by_flux(&self) -> bool {
        self.substitution.flux == Flux::Substitutes && self.bindings.flux().substitutes()
    }

    fn value(&self, name: &str) -> Value<'_> {
        let flux = self.substitution.flux;
        let own = self.own.get(name).map(String::as_str);
        match own.or_else(|| self.bindings.value(name, flux)) {
            Some(value) => Value::Set(value),
            None if flux == Flux::Substitutes && self.bindings.flux().is_secret(name) => Value::Secret,
            None => Value::Unset,
        }
    }

    /// Copies an expression with only the release's own variables substituted.
    pub(super) fn copy(&self, variable: &Variable<'_>, budget: &TextBudget, out: &mut String) {
        if self.own.contains_key(variable.name)
            && let Ok(value) = self.variable_within(variable, budget)
            && out.len() + value.len() <= LONGEST
        {
            out.push_str(&value);
            return;
        }
        let VariableOperation::Default { operator, tokens } = &variable.operation else {
            out.push_str(variable.raw);
            return;
        };
        out.push_str("${");
        out.push_str(variable.name);
        out.push_str(operator);
        for token in tokens {
            match token {
                TextToken::Text(text) | TextToken::Escaped(text) | TextToken::Malformed(text) => {
                    out.push_str(text)
                }
                TextToken::Variable(variable) => self.copy(variable, budget, out),
            }
        }
        out.push('}');
    }

    /// A scalar with another text.
    fn with_text(scalar: &Scalar, text: String) -> NodeKind {
        if is_collection(scalar) {
            // Before all its expressions have values, and where they do not fit, it stays a template.
            return match read_as_plain(text) {
                NodeKind::Scalar(_) => NodeKind::Scalar(scalar.clone()),
                collection => collection,
            };
        }
        match scalar.style {
            ScalarStyle::Plain => read_as_plain(text),
            style => NodeKind::Scalar(Scalar { text, style }),
        }
    }

    /// A tree with its variables substituted, in keys too.
    pub(crate) fn node(&self, node: &Node) -> Node {
        self.node_within(node, &budget())
    }

    /// What goes beyond the budget stays as it is written.
    fn node_within(&self, node: &Node, budget: &TextBudget) -> Node {
        let text = |text: &str| {
            let new = self.text_within(text, budget);
            if budget.takes_bytes(new.len()) { new } else { text.to_owned() }
        };
        let kind = match &node.kind {
            NodeKind::Scalar(scalar) if may_hold_tokens(&scalar.text) => {
                Self::with_text(scalar, text(&scalar.text))
            }
            NodeKind::Scalar(scalar) => NodeKind::Scalar(scalar.clone()),
            NodeKind::Mapping(entries) => NodeKind::Mapping(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: if may_hold_tokens(&entry.key) { text(&entry.key) } else { entry.key.clone() },
                        key_span: entry.key_span.clone(),
                        value: self.node_within(&entry.value, budget),
                    })
                    .collect(),
            ),
            NodeKind::Sequence(items) => {
                NodeKind::Sequence(items.iter().map(|item| self.node_within(item, budget)).collect())
            }
        };
        Node { kind, span: node.span.clone(), shared: node.shared }
    }
}

/// Whether a scalar is a collection of a template as it is written, of which only values tell the items:
/// `[${KEYS}]`. See [`YamlFile::read_template`].
pub(crate) fn is_collection(scalar: &Scalar) -> bool {
    scalar.style == ScalarStyle::Plain
        && scalar.text.starts_with(['[', '{'])
        && may_hold_expressions(&scalar.text)
}

/// Reads a text without quotes as the reader of the tools' result would.
fn read_as_plain(text: String) -> NodeKind {
    if !matches!(read_plain(&text), ScalarReading::String(_)) {
        return NodeKind::Scalar(Scalar::plain(text));
    }
    // A value may bring its own quotes or brackets. What they do not close is text.
    if text.starts_with(['[', '{', '"', '\''])
        && let Ok(file) = YamlFile::read(&text)
        && let [document] = file.documents()
        && document.root.span == (0..text.trim_end().len())
    {
        return without_spans(&document.root).kind;
    }
    NodeKind::Scalar(Scalar::string(text))
}

fn without_spans(node: &Node) -> Node {
    Node::new(match &node.kind {
        NodeKind::Scalar(scalar) => NodeKind::Scalar(scalar.clone()),
        NodeKind::Sequence(items) => NodeKind::Sequence(items.iter().map(without_spans).collect()),
        NodeKind::Mapping(entries) => NodeKind::Mapping(
            entries
                .iter()
                .map(|entry| Entry {
                    key: entry.key.clone(),
                    key_span: 0..0,
                    value: without_spans(&entry.value),
                })
                .collect(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::reader::Cursor;
    use super::*;
    use crate::flux::PostBuild;
    use capstan_yaml::Value;

    fn bindings(pairs: &[(&str, &str)]) -> Bindings {
        let declared = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Bindings::new(&declared.collect(), &PostBuild::default())
    }

    fn full(text: &str, pairs: &[(&str, &str)]) -> String {
        let (own, bindings) = (BTreeMap::new(), bindings(pairs));
        SubstitutionScope { own: &own, bindings: &bindings, substitution: Substitution::FULL }.text(text)
    }

    /// Rows of envsubst's own tests (`eval_test.go` of Flux's fork), and its errors as what stays.
    #[test]
    fn text_becomes_what_envsubst_makes_of_it() {
        type Row = (&'static str, &'static [(&'static str, &'static str)], &'static str);
        let rows: [Row; 14] = [
            ("abcdEFGH28ij", &[], "abcdEFGH28ij"),
            ("${var=xyz}", &[("var", "abc")], "abc"),
            ("${var=xyz}", &[], "xyz"),
            ("${var:=xyz}", &[("var", "")], "xyz"),
            ("something ${var=${default_var}}", &[("default_var", "foo")], "something foo"),
            ("foo: ${var=prefix${d}-suffix}", &[("d", "foo1")], "foo: prefixfoo1-suffix"),
            ("${var=${var01^^}}", &[("var01", "abcd")], "ABCD"),
            ("$${var01}", &[("var01", "x")], "${var01}"),
            (
                "some text ${var01}$${var$${var01}$var01${var01}",
                &[("var01", "abc")],
                "some text abc${var${var01}$var01abc",
            ),
            ("something $${var=${d}}", &[("d", "foo")], "something ${var=foo}"),
            ("\\\\something ${var=${d}}", &[("d", "foo")], "\\\\something foo"),
            ("${unbound}-${#a}", &[("a", "xyz")], "${unbound}-3"),
            ("${a-b} $$", &[("a", "x")], "${a-b} $"),
            ("${A:-${B:=${C:-deep}}}", &[], "deep"),
        ];
        for (text, pairs, expected) in rows {
            assert_eq!(full(text, pairs), expected, "{text}");
        }
    }

    #[test]
    fn a_value_without_quotes_is_read_as_the_tools_result_would_be() {
        let value = |written: Scalar, bound: &str| {
            let (own, bindings) = (BTreeMap::new(), bindings(&[("V", bound)]));
            let scope =
                SubstitutionScope { own: &own, bindings: &bindings, substitution: Substitution::FULL };
            scope.node(&Node::scalar(written)).value()
        };
        let plain = |bound| value(Scalar::plain("${V}"), bound);
        assert_eq!(plain("3"), Value::from(3));
        assert_eq!(plain("true"), Value::from(true));
        assert_eq!(plain(""), Value::Null);
        assert_eq!(plain("0.5"), Value::from(0.5));
        assert_eq!(plain("v1.30.2"), Value::from("v1.30.2"));
        assert_eq!(plain("\"1.30\""), Value::from("1.30"));
        assert_eq!(plain("[10.0.0.0/16, b]"), serde_json::json!(["10.0.0.0/16", "b"]));
        assert_eq!(plain("{a: 1}"), serde_json::json!({"a": 1}));
        // What would break a document is a string.
        for text in ["a: b", "[open", "- x", "two\nlines\n", "x # y", "'", "*alias", "{a}}", "\"a\" b"] {
            assert_eq!(plain(text), Value::from(text), "{text}");
        }
        let quoted = |bound| value(Scalar { text: "${V}".into(), style: ScalarStyle::DoubleQuoted }, bound);
        assert_eq!(quoted("3"), Value::from("3"));
        assert_eq!(quoted("a\"b\n"), Value::from("a\"b\n"));
        assert_eq!(value(Scalar::plain("${V}0"), "3"), Value::from(30));
    }

    #[test]
    fn what_would_be_longer_than_any_text_stays_as_it_is_written() {
        let long = "x".repeat(1 << 10);
        let pairs = [("A", long.as_str())];
        let many = "${A}".repeat(2_000);
        let text = full(&many, &pairs);
        assert_eq!(text, format!("{}{}", long.repeat(1_024), "${A}".repeat(2_000 - 1_024)));
        assert_eq!(full("${A//x/0123456789abcdef}", &pairs).len(), 16 << 10);
        let wide = format!("${{A//x/{}}}", "y".repeat(2 << 10));
        assert_eq!(full(&wide, &pairs), wide);
        let nested = format!("${{B:={many}}}");
        assert_eq!(full(&nested, &pairs), nested);
        let (own, bindings) = (BTreeMap::new(), bindings(&pairs));
        let scope = SubstitutionScope { own: &own, bindings: &bindings, substitution: Substitution::FULL };
        let document = Node::sequence((0..100).map(|_| Node::scalar(Scalar::string("${A}".repeat(1_024)))));
        let all = scope.node(&document);
        let NodeKind::Sequence(items) = &all.kind else { panic!("no list") };
        let lengths = items.iter().map(|item| match &item.kind {
            NodeKind::Scalar(scalar) => scalar.text.len(),
            _ => 0,
        });
        assert_eq!(lengths.filter(|length| *length == 1 << 20).count(), 32);
    }

    #[test]
    fn a_value_left_alone_for_its_length_is_reported() {
        let long = "x".repeat(1 << 10);
        let bindings = bindings(&[("A", &long), ("B", "b")]);
        let own = BTreeMap::new();
        let scope = SubstitutionScope { own: &own, bindings: &bindings, substitution: Substitution::FULL };
        let troubles = |node: &Node| {
            let mut found = BTreeMap::new();
            scope.troubles_below(node, Cursor::of(None), &mut found);
            found.into_keys().collect::<Vec<String>>()
        };
        // Each value is short, and a mebibyte of them is not.
        let text = |times: usize| Node::scalar(Scalar::string("${A}".repeat(times)));
        assert_eq!(troubles(&text(1_024)), [""; 0]);
        assert_eq!(troubles(&text(1_025)), ["${A}"]);
        let mut all: Vec<Node> = (0..32).map(|_| text(1_024)).collect();
        assert_eq!(troubles(&Node::sequence(all.clone())), [""; 0]);
        all.push(Node::scalar(Scalar::string("${B}")));
        assert_eq!(troubles(&Node::sequence(all)), ["${B}"]);
    }

    #[test]
    fn in_a_template_only_the_releases_own_variables_are_substituted() {
        let own = BTreeMap::from([("K".to_owned(), "v1".to_owned())]);
        let bindings = bindings(&[("A", "a")]);
        let scope = SubstitutionScope {
            own: &own,
            bindings: &bindings,
            substitution: Substitution { extent: SubstitutionExtent::OwnOnly, ..Substitution::FULL },
        };
        assert_eq!(scope.text("${K} ${A} $${B} ${C:=${K}-${A}}"), "v1 ${A} $${B} ${C:=v1-${A}}");
    }
}
