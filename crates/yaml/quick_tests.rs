//! The quick reader against the general one: the same documents, byte for byte, or none of its business.

use crate::{quick, read};
use capstan_model::tree::Tree;
use capstan_test_support::Files;

/// What the quick reader gives must be what the general one gives. Whether it gave anything.
fn agrees(text: &str) -> bool {
    let Some(documents) = quick::read(text) else { return false };
    match read::read(text) {
        Ok(expected) => assert_eq!(documents, expected, "\n{text}"),
        Err(error) => panic!("{error}, but it was read:\n{text}"),
    }
    true
}

const EVERYDAY: &str = r#"# The cluster.
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster # not a class
metadata:
  name: peu01
  labels: {cni: cilium, "tier": gold}
  annotations:
    a.b/c: ''
    note: 'single, with: colon # and hash'
spec:

  paused: no
  empty:
  pods: {cidrBlocks: ["10.244.0.0/16", 'b', c]}
  none: []
  nothing: {}
  list:
  - a
  - name: x
    value: ${X}
    more:
      - deep: 1
        mode: 0644
  # between
  - "quoted"
  script: |
    #!/bin/sh

      indented
    last: line

  next: |-
    stripped
---
# two
kind: ConfigMap
data:
  1: one
  on: "true"
  z: plain text with blanks   # and a comment
"#;

#[test]
fn an_everyday_manifest_is_read_quickly() {
    let quoted_key = EVERYDAY.replace("\"tier\"", "tier");
    assert!(agrees(&quoted_key));
    assert!(!agrees(EVERYDAY), "a quoted key is left to the general reader");
}

#[test]
fn what_is_not_plain_is_left_to_the_general_reader() {
    let texts = [
        "",
        "# nothing\n",
        "---\n",
        "a: 1\r\n",
        "a:\t1\n",
        "a: ä\n",
        "scalar\n",
        "a: &x 1\n",
        "a: *x\n",
        "a: !!str 1\n",
        "a: 1\na: 2\n",
        "1: a\n01: b\n",
        "null: a\n",
        "<<: {a: 1}\n",
        "a: b: c\n",
        "a: one\n  two\n",
        "a: \"x\\n\"\n",
        "a: 'it''s'\n",
        "a: \"x\n  y\"\n",
        "a: >\n  folded\n",
        "a: |+\n  kept\n\n",
        "a: |2\n   x\n",
        "a: |\n\n  x\n",
        "a: |\nb: 1\n",
        "a: 1\n  b: 2\n",
        "a:\n  - 1\n b: 2\n",
        "- - 1\n",
        "-\n  a: 1\n",
        "-\n",
        "? a\n: b\n",
        "\"a\": 1\n",
        "a: [1,\n  2]\n",
        "a: [1, 2\n",
        "a: {b}\n",
        "a: {b:1}\n",
        "a: [1]x\n",
        "a: [1]#x\n",
        "a: \"x\"#y\n",
        "a: @x\n",
        "%YAML 1.2\n---\na: 1\n",
        "a: 1\n...\n",
        "--- {a: 1}\n",
        "a: |\n  x",
        "---\n---\na: 1\n",
    ];
    for text in texts {
        assert!(!agrees(text), "{text}");
    }
}

#[test]
fn files_that_end_abruptly_or_hold_nothing_in_between_are_read_quickly() {
    let texts = [
        "a: 1",
        "a: 1 # why",
        "a: 'x'",
        "a:",
        "- a\n- b",
        "a: 1\n---\n",
        "a: 1\n---\n# nothing\n",
        "a: 1\n---",
        "a: 1\n---\n---\nb: 1\n",
        "a: [b=c, d+e, f@g.h]\n",
    ];
    for text in texts {
        assert!(agrees(text), "{text}");
    }
}

/// Most real files, so that the way is worth having; every one of them alike.
#[test]
fn real_files_mean_the_same_to_both() {
    let Some(files) = capstan_test_support::shared_data::files("") else { return };
    let (mut all, mut quickly) = (0, 0);
    let tree = Files::from_bytes(files);
    for entry in tree.entries().iter().filter(|entry| capstan_model::tree::is_manifest(&entry.path)) {
        let bytes = tree.read(entry).unwrap();
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        all += 1;
        quickly += usize::from(agrees(text));
        // Strings that contain YAML are read too.
        for part in text.split("\n---\n") {
            agrees(&format!("{part}\n"));
        }
    }
    println!("{quickly} of {all} real files are read quickly");
    assert!(quickly * 2 > all, "{quickly} of {all}");
}

/// A generator of numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

#[test]
fn mutilated_manifests_mean_the_same_to_both() {
    const SEED: u64 = 0x5eed_0001;
    let mut random = Random(SEED);
    let everyday = EVERYDAY.replace("\"tier\"", "tier");
    let noise = [
        " ", "  ", "\n", ":", ": ", "- ", "-", "#", " #", "\"", "'", "[", "]", "{", "}", ",", "|", ">", "&a",
        "*a", "!t", "?", "? ", "%", "@", "`", "---", "...", "\\", "<<: ", "~", "0x1f", "\t", "|-\n", "null",
        "$", "=",
    ];
    let mut read_quickly = 0;
    for round in 0..20_000 {
        let mut text = everyday.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            match random.below(4) {
                0 => text.insert_str(at, random.pick(&noise)),
                1 => drop(text.remove(at)),
                2 => {
                    let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
                    text.replace_range(at..end, "");
                }
                _ => {
                    let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
                    let line = text[at..end].to_owned();
                    let start = text[..random.below(text.len())].rfind('\n').map_or(0, |feed| feed + 1);
                    text.insert_str(start, &line);
                }
            }
            if text.is_empty() {
                break;
            }
        }
        read_quickly += usize::from(agrees(&text));
        assert!(round < 19_999 || read_quickly > 2_000, "seed {SEED:#x}: {read_quickly} of {round}");
    }
}

#[test]
fn lines_thrown_together_mean_the_same_to_both() {
    const SEED: u64 = 0x5eed_0002;
    let mut random = Random(SEED);
    let indents = ["", "", "", "  ", "  ", "    ", " ", "      "];
    let heads = ["", "a:", "b:", "c: ", "k: ", "- ", "- a: ", "- b:", "-", "1:", "on: ", "- - "];
    let values = [
        "",
        "",
        "x",
        "3",
        "two words",
        "\"q\"",
        "'s'",
        "|",
        "|-",
        ">",
        "[]",
        "{}",
        "[a, 'b']",
        "{x: y}",
        "{x: [1]}",
        "~",
        "-1",
        "- 1",
        "a: b",
        "$V",
        "${V}",
        "#no",
        "x #c",
        "[a,b]",
        "{ x: y }",
        "[ a ]",
        "[a, b",
        "...",
        "---",
        "x:",
        "=",
        "<",
        "^a",
        "\"\"",
        "''",
        "(x)",
        "a,b",
        "a]b",
        "%x",
        "-x",
        ".5",
        "[-1]",
        "{a: -1}",
        "[a b]",
        "\\n",
    ];
    let endings =
        ["\n", "\n", "\n", "\n", " \n", " # c\n", "\n\n", "\n# c\n", "\n  # c\n", "\n    \n", "\n---\n"];
    let mut read_quickly = 0;
    for _ in 0..200_000 {
        let mut text = String::new();
        for _ in 0..=random.below(6) {
            text.push_str(random.pick(&indents));
            text.push_str(random.pick(&heads));
            text.push_str(random.pick(&values));
            text.push_str(random.pick(&endings));
        }
        read_quickly += usize::from(agrees(&text));
    }
    assert!(read_quickly > 3_000, "seed {SEED:#x}: {read_quickly}");
}
