//! Any text may hold expressions, any text may be a value: the dialects beside one another.

use std::collections::BTreeMap;

use capstan_envsubst::{
    Dialect, Evaluator, Substituted, TextBudget, TextToken, Value, VariableOperation, read, tokens,
};

/// What a text comes to where every variable without a value is given none.
pub(crate) fn computed(text: &str, dialect: &Dialect, values: &BTreeMap<String, String>) -> Option<String> {
    let value = |name: &str| values.get(name).map_or(Value::Unset, |value| Value::Set(value));
    let budget = TextBudget::of(dialect);
    let mut out = Substituted::default();
    let tokens = read(text, dialect).ok()?;
    Evaluator::new(dialect, &value, &budget).tokens(&tokens, &mut out).ok()?;
    assert!(out.text.len() <= dialect.bounds.text, "{} bytes", out.text.len());
    for (range, name) in &out.values {
        assert!(out.text.get(range.clone()).is_some_and(|part| !part.is_empty()), "{name} {range:?}");
    }
    Some(out.text)
}

/// Whether a text holds what only some dialects compute: [`super::dialects::BY_RIGHT`] has an example of each.
pub(crate) fn may_differ(text: &str, values: &BTreeMap<String, String>) -> bool {
    fn differs(token: &TextToken<'_>, values: &BTreeMap<String, String>) -> bool {
        let TextToken::Variable(variable) = token else { return false };
        match &variable.operation {
            VariableOperation::Unsupported => true,
            VariableOperation::Default { tokens, .. } => tokens.iter().any(|token| differs(token, values)),
            VariableOperation::Value | VariableOperation::Function(_) => !values.contains_key(variable.name),
        }
    }
    let is_too_deep =
        || read(text, &Dialect::SCALARS).is_err_and(|broken| broken.message.contains("too deeply"));
    text.contains("$${")
        || tokens(text, &Dialect::SCALARS).iter().any(|token| differs(token, values))
        || is_too_deep()
}

/// Parts between NUL bytes: the text, then the values of `A`, `B`, `NAME` and so on.
pub(crate) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split('\0');
    let template = parts.next().unwrap_or_default();
    let names = ["A", "B", "NAME", "a_b", "CLUSTER_NAME"];
    let values: BTreeMap<String, String> =
        names.iter().zip(parts).map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect();
    compare(template, &values);
}

/// Nothing of a text is lost, and what two dialects compute is the same.
pub(crate) fn compare(template: &str, values: &BTreeMap<String, String>) {
    for dialect in [Dialect::SCALARS, Dialect::FLUX] {
        let parts = tokens(template, &dialect);
        let written: String = parts.iter().map(as_written).collect();
        assert_eq!(written, template);
        let is_whole = !parts.iter().any(|token| matches!(token, TextToken::Malformed(_)));
        assert_eq!(read(template, &dialect).is_ok(), is_whole, "{template}");
    }
    let scalars = computed(template, &Dialect::SCALARS, values);
    let flux = computed(template, &Dialect::FLUX, values);
    assert!(flux.is_none() || flux == scalars, "{template:?}: {flux:?}, {scalars:?}");
    let clusterctl = computed(template, &Dialect::CLUSTERCTL, values);
    if scalars != clusterctl {
        assert!(may_differ(template, values), "{template:?}: {scalars:?}, {clusterctl:?}");
        let is_computed_by_both = scalars.is_some() && clusterctl.is_some();
        assert!(
            !is_computed_by_both || template.contains("$${"),
            "{template:?}: {scalars:?}, {clusterctl:?}"
        );
    }
}

fn as_written<'t>(token: &TextToken<'t>) -> &'t str {
    match token {
        TextToken::Text(text) | TextToken::Malformed(text) => text,
        TextToken::Escaped(_) => "$$",
        TextToken::Variable(variable) => variable.raw,
    }
}

/// What `fuzz/` found, through the same check.
#[test]
fn what_fuzzing_once_found_stays_mended() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/envsubst");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        check(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0, "at least one example");
}
