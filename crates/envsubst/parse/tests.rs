use super::*;

const DIALECT: Dialect = Dialect::SCALARS;

fn of(text: &str) -> Vec<Token<'_>> {
    tokens(text, &DIALECT)
}

fn value<'t>(name: &'t str, raw: &'t str) -> Token<'t> {
    Token::Variable(Variable { name, operation: Operation::Value, raw })
}

fn with_default<'t>(name: &'t str, operator: &'t str, tokens: Vec<Token<'t>>, raw: &'t str) -> Token<'t> {
    Token::Variable(Variable { name, operation: Operation::Default { operator, tokens }, raw })
}

#[test]
fn a_scalar_is_read_into_literals_and_variables() {
    assert_eq!(
        of("${CLUSTER}-md-${N:=0}"),
        [
            value("CLUSTER", "${CLUSTER}"),
            Token::Text("-md-"),
            with_default("N", ":=", vec![Token::Text("0")], "${N:=0}"),
        ]
    );
    assert_eq!(of("${A:-x y}"), [with_default("A", ":-", vec![Token::Text("x y")], "${A:-x y}")]);
    assert_eq!(of("${A=x}"), [with_default("A", "=", vec![Token::Text("x")], "${A=x}")]);
    assert_eq!(of("${A:=}"), [with_default("A", ":=", vec![], "${A:=}")]);
    assert_eq!(of("$A costs $"), [Token::Text("$A costs $")]);
    assert_eq!(of("${ A }${1}"), [value("A", "${ A }"), value("1", "${1}")]);
}

#[test]
fn two_dollars_are_one_wherever_they_stand() {
    assert_eq!(of("a $${B} c"), [Token::Text("a "), Token::Escaped("$"), Token::Text("{B} c")]);
    assert_eq!(of("$$${B}"), [Token::Escaped("$"), value("B", "${B}")]);
    assert_eq!(of("pid $$"), [Token::Text("pid "), Token::Escaped("$")]);
}

#[test]
fn defaults_nest() {
    let inner = with_default("B", ":=", vec![Token::Text("x")], "${B:=x}");
    assert_eq!(
        of("${A:=pre-${B:=x}-post}"),
        [with_default(
            "A",
            ":=",
            vec![Token::Text("pre-"), inner, Token::Text("-post")],
            "${A:=pre-${B:=x}-post}"
        )]
    );
    // No escape in a default: a dollar, and the value of B.
    assert_eq!(
        of("${A:=$${B}}"),
        [with_default("A", ":=", vec![Token::Text("$"), value("B", "${B}")], "${A:=$${B}}")]
    );
}

#[test]
fn what_the_tools_refuse_is_malformed_and_the_text_goes_on_behind_its_brace() {
    assert_eq!(of("${A-x} b"), [Token::Malformed("${A-x}"), Token::Text(" b")]);
    assert_eq!(of("${}"), [Token::Malformed("${}")]);
    assert_eq!(of("${arr[@]} ${B}"), [Token::Malformed("${arr[@]}"), Token::Text(" "), value("B", "${B}")]);
    assert_eq!(of("${A"), [Token::Malformed("${A")]);
    assert_eq!(of("${A:=${B"), [Token::Malformed("${A:=${B")]);
    assert_eq!(of("${!A}"), [Token::Malformed("${!A}")]);
    // Nothing to look for, and white space that clusterctl does not know of.
    for text in ["${A/#/x}", "${A///x}", "${A#}", "${A:}", "${A:1:}", "${ ä }", "${ A:=x }"] {
        assert_eq!(of(text), [Token::Malformed(text)]);
    }
}

#[test]
fn what_a_shell_reads_otherwise_than_the_tools_is_not_guessed() {
    for text in ["${A:+x}", "${A:?x}", "${A/${B}/x}", "${A#[ab]}", "${A,^}"] {
        let read = of(text);
        let [Token::Variable(variable)] = read.as_slice() else { panic!("{text}: {read:?}") };
        assert_eq!((variable.name, &variable.operation), ("A", &Operation::Unsupported), "{text}");
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
                Token::Variable(Variable { operation: Operation::Unsupported, raw, .. })
                | Token::Malformed(raw) => {
                    refused.insert(raw.to_owned());
                }
                Token::Variable(_) => read += 1,
                Token::Text(_) | Token::Escaped(_) => {}
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
    assert!(matches!(of(&closed)[0], Token::Malformed(_)));
    assert_eq!(of(&"$".repeat(100_001)).len(), 50_001);
}
