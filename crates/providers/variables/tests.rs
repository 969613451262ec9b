use super::{Substituted, VariableError, VariableValues, substitute};

const VALUES: &[(&str, &str)] = &[
    ("V", "abcABC123ABCabc"),
    ("EMPTY", ""),
    ("FILE", "bash.string.txt"),
    ("PATH", "/path/to/file"),
    ("ARN", "arn:aws:iam::123:role/x"),
    ("SLASHES", "foo/bar/baz"),
    ("UMLAUT", "äb"),
];

fn values() -> VariableValues {
    let mut values = VariableValues::default();
    VALUES.iter().for_each(|(name, value)| values.insert(*name, *value));
    values
}

fn text(written: &str) -> String {
    match substitute(written, &values()) {
        Ok(out) => out.text,
        Err(VariableError::Missing(names)) => format!("! missing {}", names.join(", ")),
        Err(VariableError::Refused(refusal)) => format!("! {refusal}"),
    }
}

/// The values are those of envsubst's and clusterctl's own tests, and what the sources say beyond them.
#[test]
fn expressions_come_to_what_clusterctl_makes_of_them() {
    for (written, expected) in [
        // Names, blanks, escapes.
        ("plain $V ${V} $", "plain $V abcABC123ABCabc $"),
        ("${ V }|${V }|${\tV}|${V\n}", "abcABC123ABCabc|abcABC123ABCabc|abcABC123ABCabc|abcABC123ABCabc"),
        ("$${V} $$${V} $$", "${V} $abcABC123ABCabc $"),
        ("some ${V}$${X$${V}$V${V}", "some abcABC123ABCabc${X${V}$VabcABC123ABCabc"),
        ("\\\\x ${UNSET=${FILE}}", "\\\\x bash.string.txt"),
        // Defaults.
        ("${UNSET:=d} ${UNSET=d} ${UNSET:-d} ${UNSET:?d} ${UNSET:+d}", "d d d d d"),
        ("${V:=d} ${EMPTY:=d} ${EMPTY=d} ${EMPTY:-d}", "abcABC123ABCabc d d d"),
        ("${UNSET:=pre-${FILE}-post}", "pre-bash.string.txt-post"),
        ("${UNSET:=${NESTED}}|", "|"),
        ("${UNSET:=a:b=c$d{e}", "a:b=c$d{e"),
        ("${EMPTY}|${EMPTY:=}|", "||"),
        // Letters.
        ("${V^} ${V^^} ${V,} ${V,,}", "AbcABC123ABCabc ABCABC123ABCABC abcABC123ABCabc abcabc123abcabc"),
        ("${UMLAUT^} ${UMLAUT^^}", "Äb ÄB"),
        // Lengths and parts, in bytes.
        ("${#V} ${#UMLAUT}", "15 3"),
        ("${V:3} ${V:3:2} ${V:-x}", "ABC123ABCabc AB abcABC123ABCabc"),
        ("${V:99}|${V:3:99}|${V:x}|${V:3:x}", "|ABC123ABCabc|abcABC123ABCabc|abcABC123ABCabc"),
        // Replacements.
        ("${V/abc/xyz} ${V//abc/xyz}", "xyzABC123ABCabc xyzABC123ABCxyz"),
        ("${V/#abc/XYZ} ${V/%abc/XYZ}", "XYZABC123ABCabc abcABC123ABCXYZ"),
        ("${V/#ABC/XYZ} ${V/abc/}", "abcABC123ABCabc ABC123ABCabc"),
        ("${SLASHES/\\//-} ${SLASHES//\\//-}", "foo-bar/baz foo-bar-baz"),
        (
            "${ARN/#arn/eks.amazonaws.com/role-arn: arn}",
            "eks.amazonaws.com/role-arn: arn:aws:iam::123:role/x",
        ),
        // Cutting.
        ("${FILE#*.} ${FILE##*.} ${FILE%.*} ${FILE%%.*}", "string.txt txt bash.string bash"),
        ("${PATH#*/} ${PATH##*/}", "path/to/file file"),
        ("${V#[a-c]} ${V#[^a-c]} ${V#?b}", "bcABC123ABCabc abcABC123ABCabc cABC123ABCabc"),
        ("${V#x} ${V#[a} ${V%x*}", "abcABC123ABCabc abcABC123ABCabc abcABC123ABCabc"),
        // Comments are text like any other.
        ("# ${V:0:3}\n", "# abc\n"),
    ] {
        assert_eq!(text(written), expected, "{written}");
    }
}

#[test]
fn an_invalid_expression_is_refused_with_its_line() {
    for (written, said) in [
        ("a\nb ${V-d}\n", "line 2 has an expression"),
        ("${V+d}", "line 1 has an expression"),
        ("${}", "no name follows `${`"),
        ("${#}", "no name follows `${#`"),
        ("${V", "its closing brace is missing"),
        ("${V:}", "an argument is missing"),
        ("${V:=d", "an argument is missing"),
        ("${V/a}", "line 1 has an expression"),
        ("${arr[@]}", "its closing brace is missing"),
        // One word or one expression, no more.
        ("${V/%abc/-${#FILE}}", "its closing brace is missing"),
        ("${V^^^}", "its closing brace is missing"),
        ("${UMLAUT:1}", "cuts a character in two"),
        ("${V:5:-2}", "ends before it begins"),
        ("a\n\0", "line 2 has a NUL"),
    ] {
        let refused = text(written);
        assert!(refused.starts_with("! ") && refused.contains(said), "{written}: {refused}");
    }
    let deep = format!("{}x{}", "${A:=".repeat(100), "}".repeat(100));
    assert!(text(&deep).contains("nested too deeply"), "{}", text(&deep));
}

/// A variable is required if it has no value, and no default at its first use.
#[test]
fn missing_variables_are_reported_together() {
    for (written, said) in [
        ("${B} ${A} ${V} ${A:=x}", "! missing A, B"),
        ("${A:=x} ${A}", "x "),
        ("${A:=}", "! missing A"),
        ("${A:=${B}}|", "|"),
        ("${#A}", "! missing A"),
        // Any argument counts as a default.
        ("${A/x/y}|${A:3}|", "||"),
        ("${v}", "! missing v"),
        ("$${A}", "${A}"),
    ] {
        assert_eq!(text(written), said, "{written}");
    }
}

/// `«…»` round what came from a value.
fn marked(written: &str) -> String {
    let Substituted { text, values } = substitute(written, &values()).ok().unwrap();
    let mut out = text;
    for (range, _) in values.iter().rev() {
        out.insert(range.end, '»');
        out.insert(range.start, '«');
    }
    out
}

#[test]
fn every_byte_knows_whether_it_came_from_a_value() {
    for (written, expected) in [
        ("a: ${FILE}", "a: «bash.string.txt»"),
        ("a: ${UNSET:=b: ${FILE^}!}", "a: b: «Bash.string.txt»!"),
        ("${ARN/#arn/key: arn}", "key: arn«:aws:iam::123:role/x»"),
        ("${V//ABC/-}", "«abc»-«123»-«abc»"),
        ("${V/%abc/${#FILE}}", "«abcABC123ABC»«15»"),
        ("${EMPTY}$${V}", "${V}"),
    ] {
        assert_eq!(marked(written), expected, "{written}");
    }
}

#[test]
fn values_are_never_printed() {
    let mut values = VariableValues::default();
    values.insert("TOKEN", "s3cret");
    assert_eq!(format!("{values:?}"), r#"{"TOKEN"}"#);
}

#[test]
fn what_grows_beyond_all_bounds_is_refused() {
    let mut values = VariableValues::default();
    values.insert("A", "a".repeat(1 << 20));
    let refused = |written: &str| match substitute(written, &values) {
        Err(VariableError::Refused(refusal)) => refusal.to_string(),
        _ => panic!("{written} is not refused"),
    };
    assert!(refused(&"${A}".repeat(40)).contains("more than 33554432 bytes"));
    assert!(refused("${A//a/0123456789012345678901234567890123456789}").contains("more than 33554432 bytes"));
    assert!(refused("${A#*b}").contains("more than 1024 bytes"));
}
