//! What texts come to: rows of the tools' own tests, and what their sources say beyond them.

use std::collections::BTreeMap;

use capstan_envsubst::{
    Dialect, EvaluationError, Evaluator, FunctionError, Substituted, TextBounds, TextBudget, Value, tokens,
};

use super::fuzzed::computed;

type Row = (&'static str, &'static str, Option<&'static str>);

/// The value of `V`, an expression, what it comes to.
const FUNCTIONS: &[Row] = &[
    ("abcdEFGH28ij", "${V,}", Some("abcdEFGH28ij")),
    ("ABCD", "${V,}", Some("aBCD")),
    ("ABCD", "${V,,}", Some("abcd")),
    ("abcd", "${V^}", Some("Abcd")),
    ("abcd", "${V^^}", Some("ABCD")),
    ("", "${V^}", Some("")),
    ("straße", "${V^^}", Some("STRAßE")),
    ("ﬁ ᾀ", "${V^^}", Some("ﬁ ᾈ")),
    ("İ", "${V,,}", Some("i")),
    ("abcdEFGH28ij", "${#V}", Some("12")),
    ("/home/bozo/ideas/thoughts", "${V:11}", Some("ideas/thoughts")),
    ("/home/bozo/ideas/thoughts", "${V:11:5}", Some("ideas")),
    ("abcdef", "${V:3:99}", Some("def")),
    ("abcdef", "${V:9}", Some("")),
    ("abcdef", "${V:9:1}", Some("")),
    ("abcdef", "${V:9:-9}", None),
    ("abcdef", "${V:x}", Some("abcdef")),
    ("abcdef", "${V:ä}", None),
    ("abcdef", "${V:xä}", Some("abcdef")),
    ("abcdef", "${V:1:++3}", Some("abcdef")),
    ("abcdef", "${V:+3}", None),
    ("abcdef", "${V:1::2}", Some("bc")),
    ("ä", "${V:1}", None),
    ("abcABC123ABCabc", "${V/abc/xyz}", Some("xyzABC123ABCabc")),
    ("abcABC123ABCabc", "${V//abc/xyz}", Some("xyzABC123ABCxyz")),
    ("abcABC123ABCabc", "${V/#abc/XYZ}", Some("XYZABC123ABCabc")),
    ("abcABC123ABCabc", "${V/%abc/XYZ}", Some("abcABC123ABCXYZ")),
    ("abcABC123ABCabc", "${V/#abc/}", Some("abcABC123ABCabc")),
    ("abcABC123ABCabc", "${V/%abc/}", Some("abcABC123ABCabc")),
    ("abcABC123ABCabc", "${V/abc/}", Some("ABC123ABCabc")),
    ("abcABC123ABCabc", "${V/abc//x}", Some("xABC123ABCabc")),
    ("abcABC123ABCabc", "${V/abc//}", Some("ABC123ABCabc")),
    ("somevalue", "${V/#/prefix-}", None),
    ("somevalue", "${V/%/-suffix}", None),
    ("foo/bar/baz", "${V//\\//-}", Some("foo-bar-baz")),
    ("foo.bar", "${V/./}", Some("foobar")),
    ("v1.29.4", "${V/v/}", Some("1.29.4")),
    ("bash.string.txt", "${V#*.}", Some("string.txt")),
    ("path/to/file", "${V#*/}", Some("to/file")),
    ("/path/to/file", "${V##*/}", Some("file")),
    ("bash.string.txt", "${V##*.}", Some("txt")),
    ("bash.string.txt", "${V%.*}", Some("bash.string")),
    ("bash.string.txt", "${V%%.*}", Some("bash")),
    ("v1.29.4", "${V#v}", Some("1.29.4")),
    ("v1.29.4", "${V%x}", Some("v1.29.4")),
    ("äb", "${V#?}", None),
    ("äb", "${V#*}", None),
    ("äb", "${V##*}", Some("")),
];

#[test]
fn functions_are_those_of_envsubst() {
    for (value, text, expected) in FUNCTIONS {
        let values = BTreeMap::from([("V".to_owned(), (*value).to_owned())]);
        for dialect in [Dialect::SCALARS, Dialect::FLUX] {
            assert_eq!(computed(text, &dialect, &values).as_deref(), *expected, "{value} {text}");
        }
    }
}

/// Why a text has no value, in scalars.
fn refused<'t>(text: &'t str, values: &dyn Fn(&str) -> Value<'static>) -> Option<EvaluationError<'t>> {
    let tokens = tokens(text, &Dialect::SCALARS);
    let budget = TextBudget::of(&Dialect::SCALARS);
    let evaluator = Evaluator::new(&Dialect::SCALARS, values, &budget);
    evaluator.tokens(&tokens, &mut Substituted::default()).err()
}

#[test]
fn a_missing_value_differs_from_one_that_is_not_computed() {
    let values = |name: &str| match name {
        "SET" => Value::Set("x"),
        "SECRET" => Value::Secret,
        _ => Value::Unset,
    };
    let not_computed = |name, raw, why| Some(EvaluationError::NotComputed { name, raw, why });
    for (text, expected) in [
        ("${SET} ${UNSET:=${SET}}", None),
        ("a ${UNSET}", Some(EvaluationError::Unset("UNSET"))),
        ("${#UNSET}", Some(EvaluationError::Unset("UNSET"))),
        ("${UNSET:=${OTHER}}", Some(EvaluationError::Unset("OTHER"))),
        ("${SET:=${OTHER}}", None),
        // A default never takes the place of a value that nobody reads.
        ("${SECRET:=x}", Some(EvaluationError::Secret("SECRET"))),
        ("${SECRET^}", Some(EvaluationError::Secret("SECRET"))),
        ("${UNSET:=a ${SET:+y}}", not_computed("SET", "${SET:+y}", FunctionError::Strange)),
        ("${SET:5:-9}", not_computed("SET", "${SET:5:-9}", FunctionError::NoPart)),
        // Needed or not, the tools crash on it.
        ("${SET:=${SET:5:-9}}", not_computed("SET", "${SET:5:-9}", FunctionError::NoPart)),
        ("${SET-x}", not_computed("", "${SET-x}", FunctionError::Malformed)),
    ] {
        assert_eq!(refused(text, &values), expected, "{text}");
    }
}

/// One pattern is soon tried, and a text may hold thousands.
#[test]
fn patterns_of_all_texts_together_take_only_so_many_steps() {
    let long = "a".repeat(200);
    let values = |_: &str| Value::Set(long.as_str());
    let bounds = TextBounds { steps: 1 << 20, ..Dialect::SCALARS.bounds };
    let dialect = Dialect { bounds, ..Dialect::SCALARS };
    let budget = TextBudget::of(&dialect);
    let said = |text: &str| {
        let tokens = tokens(text, &dialect);
        let evaluator = Evaluator::new(&dialect, &values, &budget);
        evaluator.tokens(&tokens, &mut Substituted::default()).err().map(|refused| refused.to_string())
    };
    let said: Vec<_> = (0..4).map(|_| said("${A#*aaaaaaaaaaaaaaaaaaaab}")).collect();
    let refused = said.iter().flatten().collect::<Vec<_>>();
    assert_eq!(said.first(), Some(&None));
    assert!(!refused.is_empty());
    assert!(
        refused.iter().all(|said| said.contains("more than 1048576 steps, with the variable `A`")),
        "{refused:?}"
    );
    // A pattern is read once for every place.
    let value = |_: &str| Value::Set("abc");
    let pattern = format!("${{A#{}}}", "b".repeat(1 << 19));
    let tokens = tokens(&pattern, &dialect);
    let budget = TextBudget::of(&dialect);
    let evaluator = Evaluator::new(&dialect, &value, &budget);
    assert!(evaluator.tokens(&tokens, &mut Substituted::default()).is_err());
}

#[test]
fn a_text_is_made_at_its_bound_and_refused_beyond() {
    let (half, rest) = ("a".repeat(524_288), "a".repeat(524_289));
    let values = |name: &str| Value::Set(if name == "HALF" { half.as_str() } else { rest.as_str() });
    let dialect = Dialect::SCALARS;
    let made = |text: &str| {
        let budget = TextBudget::of(&dialect);
        let mut made = Substituted::default();
        let done = Evaluator::new(&dialect, &values, &budget).tokens(&tokens(text, &dialect), &mut made);
        done.map(|()| made.text.len()).map_err(|refused| refused.to_string())
    };
    assert_eq!(made("${HALF}${HALF}"), Ok(1_048_576));
    let told = made("${HALF}${REST}").unwrap_err();
    assert!(told.contains("1048576"), "{told}");
}

#[test]
fn all_texts_of_a_document_share_a_bound() {
    let budget = TextBudget::of(&Dialect::FLUX);
    assert!((0..32).all(|_| budget.takes_bytes(1_048_576)));
    assert!(!budget.takes_bytes(1));
}
