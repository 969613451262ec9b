//! What is read, what is refused, and that hostile texts cost little.

use std::fmt::Write as _;

use serde_json::json;

use crate::{Node, NodeKind, Position, YamlFile, same_meaning, write};
use capstan_model::object::FieldPath;

fn read(text: &str) -> YamlFile {
    YamlFile::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn error(text: &str) -> String {
    YamlFile::read(text).expect_err(text).to_string()
}

/// The source of the value at a path of the first document.
fn source<'a>(file: &'a YamlFile, path: &str) -> &'a str {
    let node = file.documents()[0].root.at(&FieldPath::parse(path).unwrap()).unwrap();
    &file.text()[node.span.clone()]
}

#[test]
fn spans_are_the_bytes_of_the_values_alone() {
    let file = read(
        "a: 1  # c\nb:\nc: \"x\n  y\"\nd: |  # c\n  text\n\ne: >-\n  folded\n# c\nf: {a: 1, b}\ng:\n- x\n- - p\n  - q # c\n-\nh: one\n  two # c\ni:\n  j: 1\n",
    );
    let rows = [
        ("/a", "1"),
        ("/b", ""),
        ("/c", "\"x\n  y\""),
        ("/d", "|  # c\n  text"),
        ("/e", ">-\n  folded"),
        ("/f", "{a: 1, b}"),
        ("/f/b", ""),
        ("/g", "- x\n- - p\n  - q # c\n-"),
        ("/g/1", "- p\n  - q"),
        ("/g/1/1", "q"),
        ("/g/2", ""),
        ("/h", "one\n  two"),
        ("/i", "j: 1"),
    ];
    for (path, expected) in rows {
        assert_eq!(source(&file, path), expected, "{path}");
    }
}

#[test]
fn documents_follow_one_another_without_a_gap() {
    let text = "# head\na: 1\n# between\n---\n# two\nb: 1\n...\n--- # three\n---\nd: 1";
    let file = read(text);
    let parts: Vec<&str> = file.documents().iter().map(|document| &text[document.span.clone()]).collect();
    assert_eq!(parts, ["# head\na: 1\n# between\n", "---\n# two\nb: 1\n...\n", "--- # three\n", "---\nd: 1"]);
    let values: Vec<_> = file.documents().iter().map(|document| document.root.value()).collect();
    assert_eq!(values, [json!({"a": 1}), json!({"b": 1}), json!(null), json!({"d": 1})]);
}

#[test]
fn a_text_of_comments_has_no_document() {
    assert_eq!(read("").documents().len(), 0);
    assert_eq!(read("# nothing\n").documents().len(), 0);
    assert_eq!(read("---\n").documents().len(), 1);
}

#[test]
fn positions_count_lines_and_characters_from_one() {
    let file = YamlFile::read_bytes("\u{feff}ä: ö\nb: [ü, x]\n".as_bytes()).unwrap();
    let at = |text: &str| file.position(file.text().find(text).unwrap());
    assert_eq!(at("ä"), Position { line: 1, column: 1 });
    assert_eq!(at("ö"), Position { line: 1, column: 4 });
    assert_eq!(at("x"), Position { line: 2, column: 8 });
    assert_eq!(file.position(10_000), Position { line: 3, column: 1 });
}

#[test]
fn an_unfinished_merge_is_called_that() {
    let said = "a conflict marker of Git: a merge was not finished; keep one side and remove the markers";
    let nested = "spec:\n  a: 1\n<<<<<<< HEAD\n  b: 1\n=======\n  b: 2\n>>>>>>> other\n";
    assert!(error(nested).contains(said), "{}", error(nested));
    let top = "a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n";
    assert!(error(top).contains(said), "{}", error(top));
}

#[test]
fn errors_say_where() {
    assert!(error("a: 1\n\tb: 2\n").contains("tab"));
    assert!(error("a: [1\nb: 2\n").starts_with("line 2, column"));
    assert!(error("a: x\n b: y\n").starts_with("line 2, column 3"));
    assert!(error("a: *x\n").starts_with("line 1, column 4"));
    let bytes = b"a: 1\nb: \xff\n";
    let error = YamlFile::read_bytes(bytes).unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 4: byte 8 is not UTF-8: save the file as UTF-8");
}

#[test]
fn the_last_of_two_equal_keys_counts_and_is_reported() {
    let file = read("a: 1\nb: 2\na: 3\n---\nc: 1\n");
    assert_eq!(file.documents()[0].root.value(), json!({"b": 2, "a": 3}));
    let twice = |file: &YamlFile| {
        let twice = file.documents()[0].duplicate_key.clone().unwrap();
        (twice.key, file.position(twice.offset))
    };
    assert_eq!(twice(&file), ("a".to_owned(), Position { line: 3, column: 1 }));
    assert_eq!(file.documents()[1].duplicate_key, None);
    let many: String = (0..40).map(|key| format!("k{key}: {key}\n")).collect();
    let file = read(&format!("{many}k7: again\n"));
    assert_eq!(twice(&file), ("k7".to_owned(), Position { line: 41, column: 1 }));
}

#[test]
fn aliases_and_merge_keys_are_expanded_and_marked() {
    let file =
        read("a: &x {b: 1, c: 2}\nd: *x\ne:\n  <<: *x\n  c: 3\nf:\n  c: 4\n  <<: [*x, {g: 5, b: 6}]\n");
    let root = &file.documents()[0].root;
    assert_eq!(
        root.value(),
        json!({"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 2}, "e": {"b": 1, "c": 3}, "f": {"g": 5, "b": 1, "c": 2}})
    );
    let shared = |path: &str| root.at(&FieldPath::parse(path).unwrap()).unwrap().shared;
    assert!(shared("/a") && shared("/d") && shared("/d/b") && shared("/e/b"));
    assert!(!shared("/e") && !shared("/e/c"));
}

#[test]
fn meaning_is_compared_after_reading_and_without_order() {
    let same = |a: &str, b: &str| same_meaning(&read(a).documents()[0].root, &read(b).documents()[0].root);
    assert!(same("{a: 1, b: [x, yes]}", "b:\n- x\n- true\na: 0x1\n"));
    assert!(same("1.0", "1"));
    assert!(same("~", "null"));
    assert!(!same("'1'", "1"));
    assert!(!same("[1, 2]", "[2, 1]"));
    assert!(!same("{a: 1}", "{a: 1, b: null}"));
    assert!(!same("1.0", "'1.0'"));
    let many = |keys: &mut dyn Iterator<Item = usize>| {
        keys.map(|key| format!("k{key}: {key}\n")).collect::<String>()
    };
    assert!(same(&many(&mut (0..100)), &many(&mut (0..100).rev())));
    assert!(!same(&many(&mut (0..100)), &many(&mut (1..101).rev())));
}

#[test]
fn a_written_value_reads_the_same() {
    let value = json!({
        "a": {"b": [1, "2", {"c": null, "d": []}, [["x"], "y"]], "e": {}},
        "text": "one\ntwo\n", "stripped": "one\ntwo", "blank": "\n", "on": "off", "f": 0.5,
    });
    let written = write(&Node::from_value(&value));
    assert_eq!(
        written,
        "a:\n  b:\n  - 1\n  - \"2\"\n  - c: null\n    d: []\n  - - - x\n    - \"y\"\n  e: {}\ntext: |\n  one\n  two\nstripped: |-\n  one\n  two\nblank: \"\\n\"\n\"on\": \"off\"\nf: 0.5\n"
    );
    assert_eq!(read(&written).documents()[0].root.value(), value);
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..20 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    assert!(error(&bomb).contains("values, aliases expanded"));
    let mut deep = String::from("a0: &a0 [x]\n");
    for level in 1..300 {
        writeln!(deep, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
    }
    assert!(error(&deep).contains("nested deeper"));
    assert!(error("a: &a [*a]\n").contains("alias inside of the value"));
}

#[test]
fn deep_nesting_is_refused_without_a_deep_stack() {
    assert!(YamlFile::read(&"[".repeat(10_000)).is_err());
    assert!(YamlFile::read(&format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))).is_err());
    assert!(YamlFile::read(&"{a: ".repeat(10_000)).is_err());
    assert!(YamlFile::read(&"- ".repeat(10_000)).is_err());
    let mut block = String::new();
    for level in 0..10_000 {
        writeln!(block, "{}a:", " ".repeat(level % 5_000)).unwrap();
        if block.len() > 4_000_000 {
            break;
        }
    }
    assert!(YamlFile::read(&block).is_err());
}

#[test]
fn a_text_is_read_at_each_bound_and_refused_beyond() {
    let lists = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let blocks = |levels: usize| format!("{}1\n", "- ".repeat(levels));
    // A list of so many values, itself included.
    let values = |values: usize| "-\n".repeat(values - 1);
    let documents = |documents: usize| "---\n".repeat(documents);
    // A comment.
    let bytes = |bytes: usize| format!("#{}", "x".repeat(bytes - 1));
    // 65,536 bytes, again and again.
    let repeated = |times: usize| format!("- &a {}\n{}", "x".repeat(65_536), "- *a\n".repeat(times - 1));
    for (what, at, beyond, told) in [
        ("levels", lists(200), lists(201), "nested deeper than 200 levels"),
        ("levels of blocks", blocks(200), blocks(201), "nested deeper than 200 levels"),
        ("values", values(1_000_000), values(1_000_001), "more than 1000000 values"),
        ("documents", documents(20_000), documents(20_001), "more than 20000 documents"),
        (
            "bytes",
            bytes(33_554_432),
            bytes(33_554_433),
            "33554433 bytes are more than the 33554432 that are read",
        ),
        ("repeated bytes", repeated(512), repeated(513), "repeat more than 33554432 bytes"),
    ] {
        assert!(YamlFile::read(&at).is_ok(), "{what}");
        let error = error(&beyond);
        assert!(error.contains(told), "{what}: {error}");
    }
}

#[test]
fn huge_texts_are_bounded() {
    let mut keys = String::new();
    for key in 0..50_000 {
        writeln!(keys, "k{key}: 1").unwrap();
    }
    assert_eq!(read(&keys).documents()[0].root.as_mapping().map(<[_]>::len), Some(50_000));
    let scalar = format!("a: \"{}\"\n", "x".repeat(1 << 20));
    let file = read(&scalar);
    assert!(
        matches!(&file.documents()[0].root.get("a").unwrap().kind, NodeKind::Scalar(scalar) if scalar.text.len() == 1 << 20)
    );
}

#[test]
fn odd_bytes_never_panic() {
    let texts = [
        "\u{feff}",
        "\u{feff}---",
        "---",
        "...",
        "- ",
        "-",
        ":",
        "? ",
        "? a",
        "!",
        "!!",
        "!<",
        "&",
        "&a",
        "*",
        "|",
        ">",
        "|9",
        ">+-",
        "a: |9\n x",
        "'",
        "\"",
        "\"\\",
        "\"\\x",
        "\"\\ud800\"",
        "{",
        "}",
        "[",
        "]",
        "[,]",
        "{,}",
        "a: &a",
        "a: !!str",
        "- - -",
        "a:\n-\n-",
        "%",
        "%YAML",
        "%YAML 1.1\n---\n",
        "%TAG ! x\n--- !y z",
        "\0",
        "a: \u{85}b",
        "a: \u{2028}",
        "@",
        "`",
        "a: `",
        "<<: 1",
        "<<: [1]",
        "<<: {a: 1}",
        "<<:",
        "? [a]\n: 1",
        "a: |\r\n  x\r\n",
        "a: |+\n\n\n",
        "a: >\n\n  x\n\n\n   y\n",
        "--- |\n",
        "--- >+\n\n",
        "--- a\n--- b",
        "{a, b: , c}",
        "[a: 1, ? b]",
        "{? a : b}",
        "{\"a\":1}",
        "- &a\n- *a",
        "a: &b !!str\nc: *b",
    ];
    for text in texts {
        if let Ok(file) = YamlFile::read(text) {
            for document in file.documents() {
                let written = write(&document.root);
                assert!(
                    same_meaning(&read(&written).documents()[0].root, &document.root),
                    "{text:?} {written:?}"
                );
            }
        }
    }
}

#[test]
fn carriage_returns_alone_are_not_line_ends() {
    let error = YamlFile::read("a: 1\r\nb: 2\rc: 3\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2, column 5: a line ends with a carriage return alone: save the file with LF or CRLF line ends"
    );
}
