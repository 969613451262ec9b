//! Random manifests: a value, and a text that says it in one of the many ways that people do.

use serde_json::{Map, Value, json};

use capstan_test_support::random::Random;

const KEYS: [&str; 24] = [
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "labels",
    "spec",
    "template",
    "replicas",
    "version",
    "files",
    "content",
    "cluster.x-k8s.io/name",
    "a",
    "b",
    "c",
    "on",
    "y",
    "12",
    "1.5",
    "with space",
    "ünï",
    "colon: x",
    "#hash",
    "- dash",
];

const STRINGS: [&str; 34] = [
    "a",
    "v1.21.4",
    "1.21.4",
    "registry.k8s.io/pause:3.9",
    "10.0.0.0/16",
    "true",
    "no",
    "on",
    "y",
    "~",
    "null",
    "",
    "0644",
    "1.20",
    "1e3",
    "1:30",
    "2001-12-14",
    " lead",
    "trail ",
    "a: b",
    "a #b",
    "#c",
    "it's",
    "say \"x\"",
    "back\\slash",
    "${CLUSTER_NAME}",
    "${A:=b}",
    "[x]",
    "{x}",
    "x, y",
    "*x",
    "&x",
    "tab\there",
    "grüße",
];

/// How a document is laid out.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    indent: usize,
    dash: usize,
    width: usize,
    comments: usize,
}

/// A stream of documents and what it means.
pub(crate) struct Manifest {
    pub text: String,
    pub documents: Vec<Value>,
}

/// Makes a stream.
pub(crate) fn stream(random: &mut Random) -> Manifest {
    let count = 1 + random.below(3);
    let mut text = String::new();
    let mut documents = Vec::new();
    let mut block_end = 0;
    if random.percent(20) {
        text.push_str("# head of the file\n");
    }
    for index in 0..count {
        if index > 0 || random.percent(30) {
            if index > 0 && random.percent(10) {
                text.push_str("...\n");
            }
            let marker = random.pick::<&str>(&["---\n", "--- # next\n", "---\n# about it\n", "---\n\n"]);
            text.push_str(marker);
        }
        let style = style(random);
        let value = if index > 0 && random.percent(5) { Value::Null } else { mapping(random, 3, true) };
        if !value.is_null() {
            block_end = print(random, style, &mut text, &value);
        }
        documents.push(value);
        if random.percent(15) {
            text.push_str("# the end\n");
        }
    }
    // In a block scalar the last line feed is content.
    if random.percent(15) && text.len() > block_end {
        text = text.trim_end_matches('\n').to_owned();
    }
    if random.percent(10) {
        text = text.replace('\n', "\r\n");
    }
    if random.percent(5) {
        text.insert(0, '\u{feff}');
    }
    Manifest { text, documents }
}

fn style(random: &mut Random) -> Style {
    let indent = *random.pick(&[2, 2, 2, 4, 3]);
    let dash = if random.percent(50) { 0 } else { indent };
    let width = if random.percent(85) { 2 } else { 4 };
    let comments = *random.pick(&[0, 10, 30]);
    Style { indent, dash, width, comments }
}

/// A random value of any kind.
pub(crate) fn value(random: &mut Random, depth: usize, strings_of_yaml: bool) -> Value {
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0..=3 => Value::String(string(random, strings_of_yaml)),
        4 => scalar(random),
        5 => random.pick(&[json!({}), json!([]), json!(null)]).clone(),
        6 | 7 => mapping(random, depth - 1, strings_of_yaml),
        _ => Value::Array((0..=random.below(4)).map(|_| value(random, depth - 1, strings_of_yaml)).collect()),
    }
}

/// A mapping with at least one key.
pub(crate) fn mapping(random: &mut Random, depth: usize, strings_of_yaml: bool) -> Value {
    let mut map = Map::new();
    for _ in 0..=random.below(5) {
        map.insert((*random.pick(&KEYS)).to_owned(), value(random, depth, strings_of_yaml));
    }
    Value::Object(map)
}

pub(crate) fn key(random: &mut Random) -> String {
    if random.percent(50) { format!("new{}", random.below(9)) } else { (*random.pick(&KEYS)).to_owned() }
}

fn scalar(random: &mut Random) -> Value {
    match random.below(6) {
        0 => json!(null),
        1 => json!(true),
        2 => json!(false),
        3 => json!(0.25),
        4 => json!(-17),
        _ => json!(random.below(5000)),
    }
}

fn string(random: &mut Random, of_yaml: bool) -> String {
    match random.below(20) {
        0 => "one\ntwo\n".to_owned(),
        1 => "one\n\n  indented\nlast".to_owned(),
        2 => "#!/bin/sh\nset -e\n# comment\necho \"hi\"\n".to_owned(),
        3 => "several words that are folded sometimes and then again are not".to_owned(),
        4 => "ends with blank lines\n\n\n".to_owned(),
        5 | 6 if of_yaml => {
            let inner = mapping(random, 2, false);
            let mut text = String::new();
            let style = style(random);
            let block_end = print(random, style, &mut text, &inner);
            if random.percent(20) && text.len() > block_end {
                text.trim_end_matches('\n').to_owned()
            } else {
                text
            }
        }
        _ => (*random.pick(&STRINGS)).to_owned(),
    }
}

/// Adds a document's lines; returns where its last block scalar ends.
fn print(random: &mut Random, style: Style, text: &mut String, value: &Value) -> usize {
    let mut printer = Printer { random, style, text, block_end: 0 };
    printer.block(value, 0);
    printer.block_end
}

struct Printer<'a> {
    random: &'a mut Random,
    style: Style,
    text: &'a mut String,
    block_end: usize,
}

impl Printer<'_> {
    /// A non-empty collection as lines at a column; the first line's indentation is there already where
    /// the text does not end in a line feed.
    fn block(&mut self, value: &Value, column: usize) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    self.begin(column);
                    self.key(key);
                    self.text.push(':');
                    self.after_key(value, column);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.begin(column);
                    self.text.push('-');
                    self.after_dash(item, column);
                }
            }
            other => panic!("{other} is no collection"),
        }
    }

    fn pad(&mut self, columns: usize) {
        self.text.extend(std::iter::repeat_n(' ', columns));
    }

    fn begin(&mut self, column: usize) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            return;
        }
        if self.random.percent(self.style.comments / 2) {
            // Farther in, it would be a line of the block scalar above.
            let at = if self.text.len() == self.block_end || self.random.percent(80) {
                column
            } else {
                self.random.below(column + 3)
            };
            self.pad(at);
            self.text.push_str("# a comment: with - signs\n");
        }
        // A blank line behind a block that keeps its line feeds would be content.
        if self.random.percent(self.style.comments / 3) && !self.text.ends_with("\n\n") {
            let keeps = self.text.lines().rev().take(40).any(|line| line.ends_with("|+"));
            self.text.push_str(if keeps { "" } else { "\n" });
        }
        self.pad(column);
    }

    fn end(&mut self) {
        if self.random.percent(self.style.comments) {
            let comment = self.random.pick::<&str>(&[" # behind", "   # 'behind'", " #"]);
            self.text.push_str(comment);
        } else if self.random.percent(2) {
            self.text.push(' ');
        }
        self.text.push('\n');
    }

    fn key(&mut self, key: &str) {
        let plain = is_plain(key);
        let text = if plain && self.random.percent(90) { key.to_owned() } else { self.quoted(key) };
        self.text.push_str(&text);
    }

    fn after_key(&mut self, value: &Value, column: usize) {
        match value {
            Value::Object(map) if !map.is_empty() && !self.random.percent(12) => {
                self.end();
                self.block(value, column + self.style.indent);
            }
            Value::Array(items) if !items.is_empty() && !self.random.percent(20) => {
                self.end();
                self.block(value, column + self.style.dash);
            }
            Value::Null if self.random.percent(40) => self.end(),
            _ => {
                self.text.push(' ');
                self.inline(value, column + self.style.indent);
            }
        }
    }

    fn after_dash(&mut self, value: &Value, column: usize) {
        match value {
            Value::Object(map) if !map.is_empty() && !self.random.percent(12) => {
                self.pad(self.style.width - 1);
                self.block(value, column + self.style.width);
            }
            Value::Array(items) if !items.is_empty() && !self.random.percent(30) => {
                self.pad(self.style.width - 1);
                self.block(value, column + self.style.width);
            }
            Value::Null if self.random.percent(40) => self.end(),
            _ => {
                self.pad(self.style.width - 1);
                self.inline(value, column + self.style.width);
            }
        }
    }

    /// A scalar or flow collection and the line's end; block scalars are indented to `column`.
    fn inline(&mut self, value: &Value, column: usize) {
        if let Value::String(text) = value
            && self.block_scalar(text, column)
        {
            return;
        }
        let text = if matches!(value, Value::Object(_) | Value::Array(_)) && self.random.percent(25) {
            self.flow_lines(value, column)
        } else {
            self.flow(value, false)
        };
        self.text.push_str(&text);
        self.end();
    }

    fn block_scalar(&mut self, text: &str, column: usize) -> bool {
        let body = text.trim_end_matches('\n');
        let breaks = text.len() - body.len();
        let fits = !body.is_empty()
            && !body.starts_with([' ', '\n'])
            && body.split('\n').all(|line| line.is_empty() || !line.trim().is_empty())
            && !text.contains('\t');
        let lines = body.contains('\n');
        if !fits || !self.random.percent(if lines { 80 } else { 5 }) {
            return false;
        }
        let folded = !lines && self.random.percent(40);
        self.text.push(if folded { '>' } else { '|' });
        self.text.push_str(match breaks {
            0 => "-",
            1 => "",
            _ => "+",
        });
        if self.random.percent(self.style.comments / 3) {
            self.text.push_str(" # literally");
        }
        self.text.push('\n');
        let column = column.max(1);
        for line in body.split('\n') {
            if line.is_empty() {
                if breaks <= 1 && self.random.percent(10) {
                    self.pad(column - 1);
                }
            } else {
                self.pad(column);
                if folded && line.contains("several") {
                    let (first, rest) = line.split_once(" that ").unwrap();
                    self.text.push_str(first);
                    self.text.push('\n');
                    self.pad(column);
                    self.text.push_str("that ");
                    self.text.push_str(rest);
                } else {
                    self.text.push_str(line);
                }
            }
            self.text.push('\n');
        }
        self.text.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1)));
        self.block_end = self.text.len();
        true
    }

    /// On one line, as inside of brackets if `inside`.
    fn flow(&mut self, value: &Value, inside: bool) -> String {
        match value {
            Value::Object(map) => {
                let pairs: Vec<String> = map
                    .iter()
                    .map(|(key, value)| {
                        let key = if is_plain(key) && !key.contains(['[', '{', ',', '$']) {
                            key.clone()
                        } else {
                            self.quoted(key)
                        };
                        format!("{key}: {}", self.flow(value, true))
                    })
                    .collect();
                if self.random.percent(20) && !pairs.is_empty() {
                    format!("{{ {} }}", pairs.join(", "))
                } else {
                    format!("{{{}}}", pairs.join(", "))
                }
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.flow(item, true)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::String(text) => {
                let plain = is_plain(text) && !(inside && text.contains(['[', '{', ',', '$']));
                if plain && self.random.percent(70) { text.clone() } else { self.quoted(text) }
            }
            Value::Null => (*self.random.pick(&["null", "~", "Null"])).to_owned(),
            Value::Bool(true) => (*self.random.pick(&["true", "yes", "on", "True"])).to_owned(),
            Value::Bool(false) => (*self.random.pick(&["false", "no", "OFF", "n"])).to_owned(),
            Value::Number(number) => {
                let octal = number.as_u64().filter(|number| *number > 8 && self.random.percent(10));
                octal.map_or_else(|| number.to_string(), |number| format!("0{number:o}"))
            }
        }
    }

    /// In brackets over several lines.
    fn flow_lines(&mut self, value: &Value, column: usize) -> String {
        let (open, close, parts): (_, _, Vec<String>) = match value {
            Value::Object(map) if !map.is_empty() => {
                let parts = map.iter().map(|(key, value)| {
                    let key = self.quoted(key);
                    format!("{key}: {}", self.flow(value, true))
                });
                ("{", "}", parts.collect())
            }
            Value::Array(items) if !items.is_empty() => {
                ("[", "]", items.iter().map(|item| self.flow(item, true)).collect())
            }
            _ => return self.flow(value, false),
        };
        let mut text = format!("{open}\n");
        let last = parts.len() - 1;
        for (index, part) in parts.iter().enumerate() {
            text.push_str(&" ".repeat(column + 2));
            text.push_str(part);
            if index < last || self.random.percent(20) {
                text.push(',');
            }
            if self.random.percent(self.style.comments) {
                text.push_str(" # in brackets");
            }
            text.push('\n');
        }
        text.push_str(&" ".repeat(column));
        text.push_str(close);
        text
    }

    fn quoted(&mut self, text: &str) -> String {
        if text.contains(['\n', '\t']) || self.random.percent(60) {
            serde_json::to_string(text).unwrap()
        } else {
            format!("'{}'", text.replace('\'', "''"))
        }
    }
}

/// A deliberately narrow judgement of its own: letters, digits and some signs, nothing that a reader of
/// YAML 1.1 takes for anything but a string.
fn is_plain(text: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || "./-_:${}= ,\"'".contains(c);
    text.starts_with(|c: char| c.is_alphabetic() || c == '$')
        && text.chars().all(word)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !["y", "n", "on", "off", "yes", "no", "true", "false", "null"]
            .contains(&text.to_lowercase().as_str())
}
