//! What Kubernetes reads: every row was confirmed with `sigs.k8s.io/yaml` v1.6.0 (`YAMLToJSON`).

use serde_json::{Value, json};

use crate::{Node, Scalar, ScalarStyle, YamlFile, same_meaning, write};

fn value_of(text: &str) -> Value {
    let file = YamlFile::read(&format!("a: {text}\n")).unwrap_or_else(|error| panic!("{text}: {error}"));
    file.documents()[0].root.get("a").unwrap().value()
}

#[test]
fn scalars_are_read_as_kubernetes_reads_them() {
    let rows: &[(&str, Value)] = &[
        ("y", json!(true)),
        ("Y", json!(true)),
        ("yes", json!(true)),
        ("Yes", json!(true)),
        ("YES", json!(true)),
        ("yEs", json!("yEs")),
        ("n", json!(false)),
        ("N", json!(false)),
        ("no", json!(false)),
        ("NO", json!(false)),
        ("on", json!(true)),
        ("On", json!(true)),
        ("OFF", json!(false)),
        ("true", json!(true)),
        ("True", json!(true)),
        ("tRUE", json!("tRUE")),
        ("FALSE", json!(false)),
        ("null", json!(null)),
        ("Null", json!(null)),
        ("nULL", json!("nULL")),
        ("~", json!(null)),
        ("~x", json!("~x")),
        ("", json!(null)),
        ("0", json!(0)),
        ("-0", json!(0)),
        ("+0", json!(0)),
        ("00", json!(0)),
        ("007", json!(7)),
        ("0644", json!(420)),
        ("-0644", json!(-420)),
        ("08", json!(8)),
        ("09", json!(9)),
        ("00.5", json!(0.5)),
        ("0o17", json!(15)),
        ("0O17", json!(15)),
        ("0o8", json!("0o8")),
        ("0x1F", json!(31)),
        ("0X1f", json!(31)),
        ("-0x1F", json!(-31)),
        ("+0x1F", json!(31)),
        ("0xG", json!("0xG")),
        ("0x", json!("0x")),
        ("0b101", json!(5)),
        ("0B101", json!(5)),
        ("-0b11", json!(-3)),
        ("0b102", json!("0b102")),
        ("0b", json!("0b")),
        ("1_000", json!(1000)),
        ("1__0", json!(10)),
        ("1_", json!(1)),
        ("-_1", json!(-1)),
        ("_1", json!("_1")),
        ("0x_1F", json!(31)),
        ("1_000.5", json!(1000.5)),
        ("9223372036854775807", json!(9_223_372_036_854_775_807_i64)),
        ("9223372036854775808", json!(9_223_372_036_854_775_808_u64)),
        ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
        ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ("-9223372036854775808", json!(-9_223_372_036_854_775_808_i64)),
        ("-9223372036854775809", json!(-9_223_372_036_854_775_809.0)),
        ("0xffffffffffffffff", json!(18_446_744_073_709_551_615_u64)),
        ("0x1ffffffffffffffff", json!("0x1ffffffffffffffff")),
        ("4611686018427387904.0", json!(4_611_686_018_427_388_000_i64)),
        ("1.0", json!(1)),
        ("1.", json!(1)),
        (".5", json!(0.5)),
        ("-.5", json!(-0.5)),
        ("+.5", json!(0.5)),
        (".5_0", json!(0.5)),
        ("._5", json!("._5")),
        ("1.20", json!(1.2)),
        ("1e3", json!(1000)),
        ("1E3", json!(1000)),
        ("1e+3", json!(1000)),
        ("1e-3", json!(0.001)),
        ("1.e3", json!(1000)),
        (".5e3", json!(500)),
        ("1e400", json!("1e400")),
        ("1e", json!("1e")),
        ("e3", json!("e3")),
        (".", json!(".")),
        ("+.", json!("+.")),
        ("+", json!("+")),
        ("--1", json!("--1")),
        ("1.21.4", json!("1.21.4")),
        ("v1.2", json!("v1.2")),
        ("1:30", json!("1:30")),
        ("190:20:30.15", json!("190:20:30.15")),
        ("2001-12-14", json!("2001-12-14")),
        ("2001-12-14t21:59:43.10-05:00", json!("2001-12-14t21:59:43.10-05:00")),
        ("2001-12-14 21:59:43.10 -5", json!("2001-12-14 21:59:43.10 -5")),
        ("Infinity", json!("Infinity")),
        ("inf", json!("inf")),
        ("NaN", json!("NaN")),
        (".iNF", json!(".iNF")),
        ("+.nan", json!("+.nan")),
        ("\"1\"", json!("1")),
        ("'yes'", json!("yes")),
        ("\"\"", json!("")),
        ("!!str 5", json!("5")),
        ("!!str yes", json!("yes")),
        ("!!int \"5\"", json!(5)),
        ("!!int 0x10", json!(16)),
        ("!!float 1", json!(1)),
        ("!!float \"2\"", json!(2)),
        ("!!bool yes", json!(true)),
        ("!!bool \"on\"", json!(true)),
        ("!!null \"\"", json!(null)),
        ("!!timestamp 2001-12-14", json!("2001-12-14")),
        ("!custom 5", json!("5")),
        ("<<", json!("<<")),
        ("=", json!("=")),
        ("1e21", json!(1e21)),
        ("1e20", json!(1e20)),
        ("1Gi", json!("1Gi")),
        ("100m", json!("100m")),
        ("0.1", json!(0.1)),
        ("1/2", json!("1/2")),
        ("1,000", json!("1,000")),
        ("0.5.", json!("0.5.")),
        ("0x1p-2", json!("0x1p-2")),
        ("٣", json!("٣")),
    ];
    for (text, expected) in rows {
        assert_eq!(value_of(text), *expected, "{text}");
    }
}

#[test]
fn what_json_cannot_hold_is_its_own_text() {
    assert_eq!(value_of(".inf"), json!(".inf"));
    assert_eq!(value_of("-.INF"), json!("-.inf"));
    assert_eq!(value_of(".NaN"), json!(".nan"));
    let float = YamlFile::read("a: .inf\n").unwrap();
    let string = YamlFile::read("a: '.inf'\n").unwrap();
    assert!(!same_meaning(&float.documents()[0].root, &string.documents()[0].root));
}

#[test]
fn keys_become_strings_as_json_has_them() {
    let rows = [
        ("a", "a"),
        ("'1'", "1"),
        ("1", "1"),
        ("0x10", "16"),
        ("0644", "420"),
        ("yes", "true"),
        ("off", "false"),
        ("1.20", "1.2"),
        ("1.0", "1"),
        ("100000.0", "100000"),
        ("1e6", "1e+06"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("16777217.0", "1.6777216e+07"),
        ("2001-12-14", "2001-12-14"),
    ];
    for (text, expected) in rows {
        let file = YamlFile::read(&format!("? {text}\n: 1\n")).unwrap();
        assert_eq!(file.documents()[0].root.as_mapping().unwrap()[0].key, expected, "{text}");
    }
    for text in ["~", "null", "[a]", "18446744073709551615"] {
        assert!(YamlFile::read(&format!("? {text}\n: 1\n")).is_err(), "{text}");
    }
}

#[test]
fn tags_that_do_not_fit_are_errors() {
    for text in ["!!int x", "!!int 1.5", "!!float x", "!!bool 1", "!!null x", "!!binary aGk="] {
        assert!(YamlFile::read(&format!("a: {text}\n")).is_err(), "{text}");
    }
}

#[test]
fn a_string_is_written_so_that_every_reader_takes_it_for_the_string() {
    let rows = [
        ("v1.21.4", "v1.21.4"),
        ("1.21.4", "1.21.4"),
        ("1.21", "\"1.21\""),
        ("0644", "\"0644\""),
        ("08", "\"08\""),
        ("0o17", "\"0o17\""),
        ("1_000", "\"1_000\""),
        ("1e3", "\"1e3\""),
        ("1:30", "\"1:30\""),
        ("2001-12-14", "\"2001-12-14\""),
        ("yes", "\"yes\""),
        ("No", "\"No\""),
        ("y", "\"y\""),
        ("~", "\"~\""),
        ("null", "\"null\""),
        (".inf", "\".inf\""),
        ("=", "\"=\""),
        ("<<", "\"<<\""),
        ("", "\"\""),
        (" a", "\" a\""),
        ("a ", "\"a \""),
        ("a: b", "\"a: b\""),
        ("a:", "\"a:\""),
        ("a #b", "\"a #b\""),
        ("a#b", "a#b"),
        ("-a", "-a"),
        ("- a", "\"- a\""),
        ("---", "\"---\""),
        ("...", "\"...\""),
        ("*a", "\"*a\""),
        ("&a", "\"&a\""),
        ("!a", "\"!a\""),
        ("%a", "\"%a\""),
        ("@a", "\"@a\""),
        ("`a", "\"`a\""),
        ("{a}", "\"{a}\""),
        ("a, b", "a, b"),
        ("a: \"b\"", "'a: \"b\"'"),
        ("say \"x\"", "say \"x\""),
        ("\"", "'\"'"),
        ("C:\\x", "C:\\x"),
        ("${VERSION}", "${VERSION}"),
        ("it's", "it's"),
        ("'x", "\"'x\""),
        ("tab\there", "\"tab\\there\""),
        ("bell\u{7}", "\"bell\\x07\""),
        ("line\u{2028}", "\"line\\u2028\""),
        ("grüße", "grüße"),
        ("10.0.0.0/16", "10.0.0.0/16"),
        ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"),
    ];
    for (text, expected) in rows {
        let written = write(&Node::string(text));
        assert_eq!(written, format!("{expected}\n"));
        assert_eq!(YamlFile::read(&written).unwrap().documents()[0].root.as_str(), Some(text));
    }
}

#[test]
fn styles_are_kept_where_they_can_hold_the_text() {
    let scalar = |style, text: &str| Node::scalar(Scalar { text: text.to_owned(), style });
    let rows = [
        (ScalarStyle::SingleQuoted, "a", "'a'\n"),
        (ScalarStyle::SingleQuoted, "a\nb", "\"a\\nb\"\n"),
        (ScalarStyle::DoubleQuoted, "a", "\"a\"\n"),
        (ScalarStyle::Plain, "3", "3\n"),
        (ScalarStyle::Plain, "a: b", "\"a: b\"\n"),
    ];
    for (style, text, expected) in rows {
        assert_eq!(write(&scalar(style, text)), expected);
    }
}
