//! Where the dialects differ, by hand, and random texts that come to the same in all.

use std::collections::BTreeMap;

use capstan_envsubst::Dialect;
use capstan_test_support::random::{Random, seed};

use super::fuzzed::{compare, computed};

const VALUES: &[(&str, &str)] = &[
    ("A", "abcABC123ABCabc"),
    ("PATH", "/usr/local/bin.d"),
    ("EMPTY", ""),
    ("N", "2"),
    ("UMLAUT", "äßaİᾀ"),
    ("GLOB", "*a"),
    ("V_1", "x-y-x"),
];

/// Names; the last has no value.
const NAMES: &[&str] = &["A", "PATH", "EMPTY", "N", "UMLAUT", "GLOB", "V_1", "UNSET"];

/// What texts are made of besides expressions.
const PIECES: &[&str] = &[
    "", "a", "ab", "b", "x", "/", "//", "-", ":", "::", "}", "{", "$", "$$", "$${", "\\/", "\\\\", "\\", "*",
    "?", "*/", "[a-c]", "[^a]", "[", "1", "-2", "+3", "++3", "0", " ", "\n", "ä", ".", "=", ",", "^", "#",
    "%", "_",
];

/// The text between a name and its arguments.
const OPERATORS: &[&str] = &[
    "", ":=", ":-", "=", ":?", ":+", "-", "+", ",", ",,", "^", "^^", ",^", "^^^", ":", "/", "//", "/#", "/%",
    "#", "##", "%", "%%", "@", "!",
];

pub(crate) fn values() -> BTreeMap<String, String> {
    VALUES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A text, what scalars come to, what Flux' scalars come to, what clusterctl makes of it.
type Row = (&'static str, Option<&'static str>, Option<&'static str>, Option<&'static str>);

/// Where they differ by right.
pub(crate) const BY_RIGHT: &[Row] = &[
    // A shell reads these otherwise than the tools: no value is guessed.
    ("${EMPTY:+x}", None, None, Some("x")),
    ("${EMPTY:?x}", None, None, Some("x")),
    ("${A,^}", None, None, Some("abcABC123ABCabc")),
    ("${A/${N}/x}", None, None, Some("abcABC1x3ABCabc")),
    ("${A#[a-c]}", None, None, Some("bcABC123ABCabc")),
    // Nothing replaces an expression without a value. clusterctl requires values outside of arguments before
    // it computes, so only these remain.
    ("${EMPTY:=${UNSET}}", None, None, Some("")),
    ("${UNSET/a/b}", None, None, Some("")),
    // White space is clusterctl's alone, which takes it from its whole text.
    ("${ A }", Some("abcABC123ABCabc"), None, Some("abcABC123ABCabc")),
    ("$${ A }", Some("${ A }"), Some("${ A }"), Some("${A}")),
    (
        "${A/b/$${ A }}",
        Some("a${ A cABC123ABCabc}"),
        Some("a${ A cABC123ABCabc}"),
        Some("a${AcABC123ABCabc}"),
    ),
    // Deeper than any template needs.
    (
        "${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=${EMPTY:=x}}}}}}}}}}}}}}}}}}",
        None,
        None,
        Some("x"),
    ),
];

#[test]
fn dialects_differ_where_they_do_by_right() {
    let values = values();
    for (text, scalars, flux, clusterctl) in BY_RIGHT {
        let of = |dialect: Dialect| computed(text, &dialect, &values);
        let all = [of(Dialect::SCALARS), of(Dialect::FLUX), of(Dialect::CLUSTERCTL)];
        let expected = [scalars, flux, clusterctl].map(|text| text.map(str::to_owned));
        assert_eq!(all, expected, "{text}");
        // What the fuzz target takes for a difference by right has a row here.
        compare(text, &values);
    }
}

#[test]
fn random_texts_come_to_the_same_in_all_dialects() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let (mut random, values) = (Random::new(seed), values());
    let mut count = 0;
    for _ in 0..40_000 {
        let text = text(&mut random, 2);
        compare(&text, &values);
        count += usize::from(text.contains("${") && computed(&text, &Dialect::FLUX, &values).is_some());
    }
    assert!(count > 5_000, "{count} texts with expressions come to a value");
}

/// A text with up to three expressions, most of them well formed.
pub(crate) fn text(random: &mut Random, depth: usize) -> String {
    let mut out = String::new();
    for _ in 0..=random.below(3) {
        if random.percent(40) {
            let piece = *random.pick(PIECES);
            out.push_str(piece);
        } else {
            out.push_str(&expression(random, depth));
        }
    }
    out
}

fn expression(random: &mut Random, depth: usize) -> String {
    let name = *random.pick(NAMES);
    match random.below(12) {
        0 => return format!("${{#{name}}}"),
        1 => {
            let blanks = ["", " ", "\t ", "\n", "\u{c}"];
            return format!("${{{}{name}{}}}", random.pick(&blanks), random.pick(&blanks));
        }
        _ => {}
    }
    let operator = *random.pick(OPERATORS);
    let argument = |random: &mut Random| {
        if depth > 0 && random.percent(30) {
            text(random, depth - 1)
        } else {
            (*random.pick(PIECES)).to_owned()
        }
    };
    let takes_none = matches!(operator, "" | "," | ",," | "^" | "^^" | ",^" | "^^^");
    let one = if takes_none && random.percent(90) { String::new() } else { argument(random) };
    let two = match operator {
        "/" | "//" | "/#" | "/%" => format!("/{}", argument(random)),
        ":" if random.percent(50) => format!(":{}", argument(random)),
        _ => String::new(),
    };
    let close = if random.percent(95) { "}" } else { "" };
    format!("${{{name}{operator}{one}{two}{close}")
}
