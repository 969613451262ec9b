use super::*;

const DIALECT: Dialect = Dialect::SCALARS;

fn of(text: &str) -> Vec<TextToken<'_>> {
    tokens(text, &DIALECT)
}

fn value<'t>(name: &'t str, raw: &'t str) -> TextToken<'t> {
    TextToken::Variable(Variable { name, operation: VariableOperation::Value, raw })
}

fn with_default<'t>(
    name: &'t str,
    operator: &'t str,
    tokens: Vec<TextToken<'t>>,
    raw: &'t str,
) -> TextToken<'t> {
    TextToken::Variable(Variable { name, operation: VariableOperation::Default { operator, tokens }, raw })
}

#[test]
fn a_scalar_is_read_into_literals_and_variables() {
    assert_eq!(
        of("${CLUSTER}-md-${N:=0}"),
        [
            value("CLUSTER", "${CLUSTER}"),
            TextToken::Text("-md-"),
            with_default("N", ":=", vec![TextToken::Text("0")], "${N:=0}"),
        ]
    );
    assert_eq!(of("${A:-x y}"), [with_default("A", ":-", vec![TextToken::Text("x y")], "${A:-x y}")]);
    assert_eq!(of("${A=x}"), [with_default("A", "=", vec![TextToken::Text("x")], "${A=x}")]);
    assert_eq!(of("${A:=}"), [with_default("A", ":=", vec![], "${A:=}")]);
    assert_eq!(of("$A costs $"), [TextToken::Text("$A costs $")]);
    assert_eq!(of("${ A }${1}"), [value("A", "${ A }"), value("1", "${1}")]);
}

#[test]
fn two_dollars_are_one_wherever_they_stand() {
    assert_eq!(of("a $${B} c"), [TextToken::Text("a "), TextToken::Escaped("$"), TextToken::Text("{B} c")]);
    assert_eq!(of("$$${B}"), [TextToken::Escaped("$"), value("B", "${B}")]);
    assert_eq!(of("pid $$"), [TextToken::Text("pid "), TextToken::Escaped("$")]);
}

#[test]
fn defaults_nest() {
    let inner = with_default("B", ":=", vec![TextToken::Text("x")], "${B:=x}");
    assert_eq!(
        of("${A:=pre-${B:=x}-post}"),
        [with_default(
            "A",
            ":=",
            vec![TextToken::Text("pre-"), inner, TextToken::Text("-post")],
            "${A:=pre-${B:=x}-post}"
        )]
    );
    // No escape in a default: a dollar, and the value of B.
    assert_eq!(
        of("${A:=$${B}}"),
        [with_default("A", ":=", vec![TextToken::Text("$"), value("B", "${B}")], "${A:=$${B}}")]
    );
}

#[test]
fn what_the_tools_refuse_is_malformed_and_the_text_continues_after_its_brace() {
    assert_eq!(of("${A-x} b"), [TextToken::Malformed("${A-x}"), TextToken::Text(" b")]);
    assert_eq!(of("${}"), [TextToken::Malformed("${}")]);
    assert_eq!(
        of("${arr[@]} ${B}"),
        [TextToken::Malformed("${arr[@]}"), TextToken::Text(" "), value("B", "${B}")]
    );
    assert_eq!(of("${A"), [TextToken::Malformed("${A")]);
    assert_eq!(of("${A:=${B"), [TextToken::Malformed("${A:=${B")]);
    assert_eq!(of("${!A}"), [TextToken::Malformed("${!A}")]);
    // Nothing to look for, and white space that clusterctl does not know of.
    for text in ["${A/#/x}", "${A///x}", "${A#}", "${A:}", "${A:1:}", "${ ä }", "${ A:=x }"] {
        assert_eq!(of(text), [TextToken::Malformed(text)]);
    }
}

#[test]
fn what_a_shell_reads_otherwise_than_the_tools_is_not_guessed() {
    for text in ["${A:+x}", "${A:?x}", "${A/${B}/x}", "${A#[ab]}", "${A,^}"] {
        let read = of(text);
        let [TextToken::Variable(variable)] = read.as_slice() else { panic!("{text}: {read:?}") };
        assert_eq!((variable.name, &variable.operation), ("A", &VariableOperation::Unsupported), "{text}");
    }
}

/// What real templates write is understood, but for scripts of a shell that is not meant to be
/// substituted in.
#[test]
fn expressions_of_real_cluster_templates_are_understood() {
    let Some(files) = capstan_test_support::shared_data::files("manifests") else { return };
    let (mut read, mut refused) = (0, std::collections::BTreeSet::new());
    for (path, bytes) in &files {
        let name = path.rsplit('/').next().unwrap();
        if !name.starts_with("cluster-template") || !name.ends_with(".yaml") {
            continue;
        }
        for token in of(std::str::from_utf8(bytes).unwrap()) {
            match token {
                TextToken::Variable(Variable { operation: VariableOperation::Unsupported, raw, .. })
                | TextToken::Malformed(raw) => {
                    refused.insert(raw.to_owned());
                }
                TextToken::Variable(_) => read += 1,
                TextToken::Text(_) | TextToken::Escaped(_) => {}
            }
        }
    }
    println!("{read} expressions");
    assert!(read > 100, "{read}");
    assert_eq!(refused.into_iter().collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn hostile_nesting_ends() {
    let deep = "${a:=".repeat(100_000);
    assert_eq!(of(&deep).len(), 1);
    let closed = format!("{}{}", "${a:=".repeat(1_000), "}".repeat(1_000));
    assert!(matches!(of(&closed)[0], TextToken::Malformed(_)));
    assert_eq!(of(&"$".repeat(100_001)).len(), 50_001);
}
