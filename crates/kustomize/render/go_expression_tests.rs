//! What Go's engine itself says of each expression, between `^(?:` and `)$` as kustomize has it.

use regex::Regex;

use super::spelled;

const TEXTS: [&str; 22] = [
    "a", "b", "ab", "aa", "A", "x", "aab", "[", "]", "{", "&", "-", "_", "^", "\n", "5", "\u{663}", "é",
    "a{", "a.b", "crew[b]", "a&&x",
];

/// An expression, and which of the texts it fits; `None` where Go refuses it.
const EXPRESSIONS: &[(&str, Option<&[&str]>)] = &[
    ("crew[[]b]", Some(&["crew[b]"])),
    ("[^[]", Some(&["a", "b", "A", "x", "]", "{", "&", "-", "_", "^", "\n", "5", "\u{663}", "é"])),
    (r"\Qa.b\E", Some(&["a.b"])),
    (r"\Qa.b", None),
    (r"\055", Some(&["-"])),
    ("[&&x]", Some(&["x", "&"])),
    ("a**", None),
    ("a{1001}", None),
    ("a{1000}", Some(&[])),
    ("(a{100}){11}", None),
    ("(a{100}){10}", Some(&[])),
    ("(?x)a b", None),
    (r"\u0078", None),
    ("a*?", Some(&["a", "aa"])),
    ("a++", None),
    ("a?+", None),
    ("a{2}{2}", None),
    ("*a", None),
    ("(*)", None),
    ("a|*", None),
    ("^*a", Some(&["a"])),
    ("(?i)A", Some(&["a", "A"])),
    ("a(?i)*", Some(&["a", "aa"])),
    ("a(?i:B)", Some(&["ab"])),
    ("(?P<n>a)", Some(&["a"])),
    ("(?<n>a)", Some(&["a"])),
    ("(?<1>a)", Some(&["a"])),
    ("(?P<>a)", None),
    ("(?P=n)a", None),
    ("(?=a)", None),
    ("(?!a)", None),
    ("(?<=a)b", None),
    ("(?#c)a", None),
    ("(?-)a", None),
    ("(?i-s)a", Some(&["a", "A"])),
    ("(?i--s)a", None),
    ("(?R)a", None),
    ("(?u)a", None),
    ("(?)a", Some(&["a"])),
    ("(?:a|b)", Some(&["a", "b"])),
    ("a{", Some(&["a{"])),
    ("a{,2}", Some(&[])),
    ("a{2,", Some(&[])),
    ("a{02}", Some(&[])),
    ("a{2,1}", None),
    ("a{1,2}", Some(&["a", "aa"])),
    ("a{1,}", Some(&["a", "aa"])),
    ("a{0}", Some(&[])),
    ("{", Some(&["{"])),
    ("}", Some(&[])),
    ("]", Some(&["]"])),
    ("a]", Some(&[])),
    ("[]]", Some(&["]"])),
    ("[]a]", Some(&["a", "]"])),
    ("[^]a]", Some(&["b", "A", "x", "[", "{", "&", "-", "_", "^", "\n", "5", "\u{663}", "é"])),
    ("[a", None),
    ("[", None),
    ("[]", None),
    ("[a-]", Some(&["a", "-"])),
    ("[-a]", Some(&["a", "-"])),
    ("[b-a]", None),
    ("[a-b-]", Some(&["a", "b", "-"])),
    ("[a--]", None),
    ("[--a]", Some(&["a", "A", "[", "]", "-", "_", "^", "5"])),
    ("[a~~b]", Some(&["a", "b"])),
    ("[[:alpha:]]", Some(&["a", "b", "A", "x"])),
    ("[[:^alpha:]]", Some(&["[", "]", "{", "&", "-", "_", "^", "\n", "5", "\u{663}", "é"])),
    ("[[:word:]]", Some(&["a", "b", "A", "x", "_", "5"])),
    ("[[:foo:]]", None),
    ("[[:alpha:]", None),
    ("[:alpha:]", Some(&["a"])),
    ("[[a]]", Some(&[])),
    (r"[\d]", Some(&["5"])),
    (r"[\D]", Some(&["a", "b", "A", "x", "[", "]", "{", "&", "-", "_", "^", "\n", "\u{663}", "é"])),
    (r"[^\d]", Some(&["a", "b", "A", "x", "[", "]", "{", "&", "-", "_", "^", "\n", "\u{663}", "é"])),
    (r"\d", Some(&["5"])),
    (r"\D", Some(&["a", "b", "A", "x", "[", "]", "{", "&", "-", "_", "^", "\n", "\u{663}", "é"])),
    (r"\w+", Some(&["a", "b", "ab", "aa", "A", "x", "aab", "_", "5"])),
    (r"\W", Some(&["[", "]", "{", "&", "-", "^", "\n", "\u{663}", "é"])),
    (r"\s", Some(&["\n"])),
    (r"[\s]", Some(&["\n"])),
    (r"\bab\b", Some(&["ab"])),
    (r"\pL", Some(&["a", "b", "A", "x", "é"])),
    (r"\PL", Some(&["[", "]", "{", "&", "-", "_", "^", "\n", "5", "\u{663}"])),
    (r"\p{^L}", Some(&["[", "]", "{", "&", "-", "_", "^", "\n", "5", "\u{663}"])),
    (r"\p{Greek}", Some(&[])),
    (r"\p{Foo}", None),
    (r"\p{}", None),
    (r"\p", None),
    (r"[\pL]", Some(&["a", "b", "A", "x", "é"])),
    (r"\x61", Some(&["a"])),
    (r"\x{61}", Some(&["a"])),
    (r"\x{}", None),
    (r"\x{110000}", None),
    (r"\x6", None),
    (r"\x", None),
    (r"\0", Some(&[])),
    (r"\1", None),
    (r"\12", Some(&["\n"])),
    (r"\141", Some(&["a"])),
    (r"\8", None),
    (r"\a", Some(&[])),
    (r"\e", None),
    (r"\_", Some(&["_"])),
    (r"\-", Some(&["-"])),
    (r"\E", None),
    (r"\C", None),
    (r"\z", Some(&[])),
    (r"\Z", None),
    (r"\Aa", Some(&["a"])),
    (r"\", None),
    (r"[\", None),
    (r"[\b]", None),
    (r"[\Q]", None),
    (r"[\_]", Some(&["_"])),
    ("a)|(b", Some(&["a", "b", "ab", "aa", "aab", "a{", "a.b", "a&&x"])),
    ("a)", None),
    ("(a", None),
    ("()", Some(&[])),
    ("(?:)", Some(&[])),
    ("(|a)", Some(&["a"])),
    ("a||b", Some(&["a", "b"])),
    (
        ".*",
        Some(&[
            "a", "b", "ab", "aa", "A", "x", "aab", "[", "]", "{", "&", "-", "_", "^", "5", "\u{663}", "é",
            "a{", "a.b", "crew[b]", "a&&x",
        ]),
    ),
    ("a.b", Some(&["aab", "a.b"])),
    (".", Some(&["a", "b", "A", "x", "[", "]", "{", "&", "-", "_", "^", "5", "\u{663}", "é"])),
    ("(?s).", Some(&["a", "b", "A", "x", "[", "]", "{", "&", "-", "_", "^", "\n", "5", "\u{663}", "é"])),
    ("(?s:.)", Some(&["a", "b", "A", "x", "[", "]", "{", "&", "-", "_", "^", "\n", "5", "\u{663}", "é"])),
    ("(?U)a+", Some(&["a", "aa"])),
    ("(?m)^a$", Some(&["a"])),
    ("$a", Some(&[])),
    ("é", Some(&["é"])),
    (r"\é", None),
    ("[é]", Some(&["é"])),
    ("(?i)[a]", Some(&["a", "A"])),
    (r"(?i)\x41", Some(&["a", "A"])),
    ("a#b", Some(&[])),
    ("a b", Some(&[])),
    ("a&&x", Some(&["a&&x"])),
    ("[a&&b]", Some(&["a", "b", "&"])),
    ("[[a&&b]]", Some(&[])),
    ("[a-a--b]", Some(&["a", "b", "A", "[", "]", "-", "_", "^", "5"])),
    ("(a*)*", Some(&["a", "aa"])),
    ("(a*)+", Some(&["a", "aa"])),
    ("(?i)a**", None),
    ("a(?:)*", Some(&["a"])),
    (r"m-\d{1,2}", Some(&[])),
    ("a{1}{1}", None),
    ("(?P<n>a)(?P<n>b)", Some(&["ab"])),
    ("a{100000000000}", None),
    ("a{99999999999,}", None),
    ("((a{10}){10}){10}", Some(&[])),
    ("((a{10}){10}){11}", None),
    ("(a{0}){1000}", Some(&[])),
    ("(a{0,0}b{500}){3}", None),
    ("(a*){1000}", Some(&["a", "aa"])),
    ("x*(?i)*", Some(&["x"])),
    ("a(?i)(?s)*", Some(&["a", "aa"])),
];

#[test]
fn expressions_fit_what_they_fit_in_go() {
    let mut wrong = Vec::new();
    for (text, expected) in EXPRESSIONS {
        let compiled = spelled(&format!("^(?:{text})$")).and_then(|text| {
            let regex = regex::RegexBuilder::new(&text).size_limit(16 << 20).build();
            regex.map_err(|error: regex::Error| error.to_string())
        });
        let fitting =
            |regex: &Regex| TEXTS.into_iter().filter(|text| regex.is_match(text)).collect::<Vec<_>>();
        let found = compiled.as_ref().ok().map(fitting);
        if found.as_deref() != *expected {
            wrong.push(format!("{text}: {found:?}, in Go {expected:?} ({compiled:?})"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_refusal_says_what_go_takes_offence_at() {
    let cases = [
        ("a**", "a repetition cannot be repeated at `*`"),
        ("*a", "there is nothing to repeat at `*a`"),
        ("a{1001}", "the repetition counts too far, or backwards at `{1001}`"),
        (r"\u0078", r"Go does not know the escape `\u`"),
        ("(?=a)", "Go does not know the group `(?=a)`"),
        ("[b-a]", "a range goes backwards, from `b` to `a`"),
        ("[a", "a bracket is not closed"),
        ("(a", "a parenthesis is not closed"),
        ("a)", "a closing parenthesis closes nothing"),
    ];
    for (text, expected) in cases {
        assert_eq!(spelled(text).unwrap_err(), expected, "{text}");
    }
    assert!(spelled(&"(".repeat(100_000)).is_err());
}
