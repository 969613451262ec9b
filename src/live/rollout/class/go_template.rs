//! The small part of Go's text/template that is computed here: text, fields, strings, `if`, and a handful of
//! functions. Everything else, and whatever Go would refuse, is not computed.

use super::semver_compare::semver_compare;
use super::value::{holds_uncomputed, holds_variable};
use capstan_yaml::{Value, YamlFile};

/// Longer templates are not computed.
const LONGEST: usize = 16 << 10;
/// Nor are what they come to, beyond this.
const LONGEST_RESULT: usize = 256 << 10;
/// Nor deeper ones.
const DEEPEST: usize = 32;
/// Whole numbers from here on Go writes with an exponent.
const EXPONENT_FROM: u64 = 1_000_000;

/// Not computed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uncomputed;

type Computed<T> = Result<T, Uncomputed>;

/// What a template reads of the variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mentions {
    /// These fields, by their paths: `workers.size`.
    Fields(Vec<String>),
    /// Perhaps anything.
    Anything,
}

/// The value that a template comes to: the YAML that it writes.
pub(super) fn evaluate(template: &str, data: &Value) -> Computed<Value> {
    let text = render(template, data)?;
    let file = YamlFile::read(&text).map_err(|_| Uncomputed)?;
    match file.documents() {
        [] => Ok(Value::Null),
        [only] => Ok(only.root.value()),
        _ => Err(Uncomputed),
    }
}

/// The fields that a template names, whether or not it can be computed. Within `range` and `with` names are of
/// something else; they are counted all the same, and what they are of is named too.
pub(super) fn mentions(template: &str) -> Mentions {
    let Ok(pieces) = pieces(template) else { return Mentions::Anything };
    let mut fields = Vec::new();
    for piece in pieces {
        let Piece::Action(action) = piece else { continue };
        let Ok(tokens) = tokens(action) else { return Mentions::Anything };
        for token in tokens {
            match token {
                Token::Field(path) if path.is_empty() => return Mentions::Anything,
                Token::Field(path) => fields.push(path.join(".")),
                Token::Root => return Mentions::Anything,
                _ => {}
            }
        }
    }
    fields.sort();
    fields.dedup();
    Mentions::Fields(fields)
}

fn render(template: &str, data: &Value) -> Computed<String> {
    if template.len() > LONGEST {
        return Err(Uncomputed);
    }
    let pieces = pieces(template)?;
    let mut out = String::new();
    let mut run = Run { pieces: &pieces, at: 0, data };
    match run.block(&mut Some(&mut out), 0)? {
        Ending::Text => Ok(out),
        _ => Err(Uncomputed),
    }
}

/// Text, and what stands between `{{` and `}}`.
#[derive(Debug)]
enum Piece<'t> {
    Text(&'t str),
    Action(&'t str),
}

fn pieces(template: &str) -> Computed<Vec<Piece<'_>>> {
    let mut found = Vec::new();
    let mut rest = template;
    let mut trims = false;
    loop {
        let begin = rest.find("{{");
        let text = begin.map_or(rest, |begin| &rest[..begin]);
        let text = if trims { text.trim_start_matches(SPACES) } else { text };
        let Some(begin) = begin else {
            found.push(Piece::Text(text));
            return Ok(found);
        };
        let inside = &rest[begin + 2..];
        let end = end_of_action(inside).ok_or(Uncomputed)?;
        let mut action = &inside[..end];
        let trims_before = action.strip_prefix('-').filter(|rest| rest.starts_with(SPACES));
        found.push(Piece::Text(match trims_before {
            Some(_) => text.trim_end_matches(SPACES),
            None => text,
        }));
        action = trims_before.unwrap_or(action);
        let trims_after = action.strip_suffix('-').filter(|rest| rest.ends_with(SPACES));
        trims = trims_after.is_some();
        found.push(Piece::Action(trims_after.unwrap_or(action).trim()));
        rest = &inside[end + 2..];
    }
}

/// What Go trims.
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// Where `}}` ends an action: not within a string.
fn end_of_action(inside: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in inside.char_indices() {
        match quote {
            Some('"' | '\'') if escaped => escaped = false,
            Some('"' | '\'') if letter == '\\' => escaped = true,
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '`' | '\'') => quote = Some(letter),
            None if inside[at..].starts_with("}}") => return Some(at),
            None => {}
        }
    }
    None
}

/// The words of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// `.a.b`, or `$.a.b`; a single `.` has no parts.
    Field(Vec<String>),
    /// `$`
    Root,
    /// `"text"`
    Text(String),
    Word(String),
    Open,
    Close,
    Pipe,
    /// Everything else.
    Other,
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn tokens(action: &str) -> Computed<Vec<Token>> {
    let mut found = Vec::new();
    if action.starts_with("/*") {
        return Ok(found);
    }
    let mut rest = action;
    let mut glued = false;
    while let Some(letter) = rest.chars().next() {
        // A field of what stands before, `(index .a 0).b` or `$local.b`, names nothing by itself.
        let of_another = glued && matches!(found.last(), Some(Token::Close | Token::Other));
        glued = !SPACES.contains(&letter);
        if !glued {
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let (token, length) = match letter {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '|' => (Token::Pipe, 1),
            '"' | '`' | '\'' => text(rest)?,
            '.' if of_another => (Token::Other, path(rest).1),
            '.' => path(rest),
            '$' if rest[1..].starts_with('.') => {
                let (field, length) = path(&rest[1..]);
                (field, length + 1)
            }
            '$' if rest[1..].starts_with(is_word) => (Token::Other, 1 + word(&rest[1..])),
            '$' => (Token::Root, 1),
            letter if letter.is_ascii_digit() => {
                (Token::Other, rest.find(|c| !is_word(c) && c != '.').unwrap_or(rest.len()))
            }
            letter if is_word(letter) => (Token::Word(rest[..word(rest)].to_owned()), word(rest)),
            letter => (Token::Other, letter.len_utf8()),
        };
        found.push(token);
        rest = &rest[length..];
    }
    Ok(found)
}

fn word(rest: &str) -> usize {
    rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
}

/// `.a.b` and its length.
fn path(rest: &str) -> (Token, usize) {
    let mut parts = Vec::new();
    let mut length = 0;
    while let Some(below) = rest[length..].strip_prefix('.') {
        let part = word(below);
        length += 1 + part;
        if part == 0 {
            break;
        }
        parts.push(below[..part].to_owned());
    }
    (Token::Field(parts), length)
}

/// A quoted string and its length. Escapes are not read.
fn text(rest: &str) -> Computed<(Token, usize)> {
    let quote = rest.chars().next().unwrap_or('"');
    let end = rest[1..].find(quote).ok_or(Uncomputed)?;
    let inside = &rest[1..=end];
    if quote != '`' && inside.contains('\\') {
        // Where it ends is not sure: no field is read out of what may be text.
        return Err(Uncomputed);
    }
    Ok((if quote == '\'' { Token::Other } else { Token::Text(inside.to_owned()) }, end + 2))
}

/// What ends a block.
#[derive(Debug, PartialEq, Eq)]
enum Ending<'t> {
    /// The template's own end.
    Text,
    End,
    /// `else`, with a condition after `else if`.
    Else(Option<&'t str>),
}

/// A template being run.
struct Run<'r, 't> {
    pieces: &'r [Piece<'t>],
    at: usize,
    data: &'r Value,
}

impl<'t> Run<'_, 't> {
    /// Runs to the end of a block; without `out` it is only passed over.
    fn block(&mut self, out: &mut Option<&mut String>, depth: usize) -> Computed<Ending<'t>> {
        if depth > DEEPEST {
            return Err(Uncomputed);
        }
        while let Some(piece) = self.pieces.get(self.at) {
            self.at += 1;
            let action = match piece {
                Piece::Text(text) => {
                    write(out, text)?;
                    continue;
                }
                Piece::Action(action) => *action,
            };
            match keyword(action) {
                ("if", condition) => self.conditional(condition, out, depth)?,
                ("end", "") => return Ok(Ending::End),
                ("else", "") => return Ok(Ending::Else(None)),
                ("else", rest) => match keyword(rest) {
                    ("if", condition) => return Ok(Ending::Else(Some(condition))),
                    _ => return Err(Uncomputed),
                },
                ("range" | "with" | "define" | "block" | "template" | "break" | "continue", _) => {
                    return Err(Uncomputed);
                }
                _ if action.starts_with("/*") => {}
                _ if out.is_some() => write(out, &printed(&expression(action, self.data)?)?)?,
                _ => {}
            }
        }
        Ok(Ending::Text)
    }

    fn conditional(&mut self, condition: &str, out: &mut Option<&mut String>, depth: usize) -> Computed<()> {
        let mut condition = Some(condition);
        let mut done = out.is_none();
        loop {
            let holds = !done
                && match condition {
                    Some(condition) => is_true(&known(expression(condition, self.data)?)?),
                    None => true,
                };
            let mut nowhere = None;
            let ending = self.block(if holds { out } else { &mut nowhere }, depth + 1)?;
            done |= holds;
            match ending {
                Ending::End => return Ok(()),
                Ending::Else(next) if condition.is_some() => condition = next,
                _ => return Err(Uncomputed),
            }
        }
    }
}

fn write(out: &mut Option<&mut String>, text: &str) -> Computed<()> {
    let Some(out) = out else { return Ok(()) };
    if out.len() + text.len() > LONGEST_RESULT {
        return Err(Uncomputed);
    }
    out.push_str(text);
    Ok(())
}

/// The first word, and what follows.
fn keyword(action: &str) -> (&str, &str) {
    let (first, rest) = action.split_at(word(action));
    (first, rest.trim())
}

fn expression(text: &str, data: &Value) -> Computed<Value> {
    let tokens = tokens(text)?;
    let mut rest = tokens.as_slice();
    let value = pipeline(&mut rest, data, 0)?;
    if rest.is_empty() { Ok(value) } else { Err(Uncomputed) }
}

/// `command | function …`
fn pipeline(tokens: &mut &[Token], data: &Value, depth: usize) -> Computed<Value> {
    if depth > DEEPEST {
        return Err(Uncomputed);
    }
    let mut value = None;
    loop {
        value = Some(command(tokens, data, value, depth)?);
        match tokens.split_first() {
            Some((Token::Pipe, rest)) => *tokens = rest,
            _ => return value.ok_or(Uncomputed),
        }
    }
}

fn command(tokens: &mut &[Token], data: &Value, piped: Option<Value>, depth: usize) -> Computed<Value> {
    let function = match tokens.split_first() {
        Some((Token::Word(word), rest)) if !["true", "false"].contains(&word.as_str()) => {
            *tokens = rest;
            Some(word.as_str())
        }
        _ => None,
    };
    let mut arguments = Vec::new();
    while let Some((token, rest)) = tokens.split_first() {
        if matches!(token, Token::Pipe | Token::Close) {
            break;
        }
        *tokens = rest;
        arguments.push(match token {
            Token::Field(path) if !path.is_empty() => field(data, path)?,
            Token::Text(text) => Value::String(text.clone()),
            Token::Word(word) if word == "true" || word == "false" => Value::Bool(word == "true"),
            Token::Open => {
                let value = pipeline(tokens, data, depth + 1)?;
                let Some((Token::Close, rest)) = tokens.split_first() else { return Err(Uncomputed) };
                *tokens = rest;
                value
            }
            _ => return Err(Uncomputed),
        });
    }
    match (function, piped) {
        (Some(function), piped) => {
            arguments.extend(piped);
            call(function, &arguments)
        }
        (None, None) if arguments.len() == 1 => arguments.pop().ok_or(Uncomputed),
        _ => Err(Uncomputed),
    }
}

/// A field of the variables; what is missing is null. What is live alone, or holds anything that is, is not
/// computed, nor is a field of something that has none: Go refuses that.
fn field(data: &Value, path: &[String]) -> Computed<Value> {
    let mut value = data;
    for (at, part) in path.iter().enumerate() {
        let below = value.as_object().ok_or(Uncomputed)?.get(part);
        match below {
            Some(below) => value = below,
            None if at + 1 == path.len() && path[0] != "builtin" => return Ok(Value::Null),
            None => return Err(Uncomputed),
        }
    }
    if holds_uncomputed(value) { Err(Uncomputed) } else { Ok(value.clone()) }
}

/// A value that decides something: what is substituted later may come to anything.
fn known(value: Value) -> Computed<Value> {
    if holds_variable(&value) { Err(Uncomputed) } else { Ok(value) }
}

/// Functions of Go and of sprig, where they are sure of their arguments.
fn call(function: &str, arguments: &[Value]) -> Computed<Value> {
    if arguments.iter().any(holds_variable) {
        return Err(Uncomputed);
    }
    Ok(match (function, arguments) {
        ("eq", [one, others @ ..]) if !others.is_empty() => {
            let equal = others.iter().map(|other| equals(one, other));
            Value::Bool(equal.collect::<Computed<Vec<bool>>>()?.into_iter().any(|equal| equal))
        }
        ("ne", [one, other]) => Value::Bool(!equals(one, other)?),
        ("not", [value]) => Value::Bool(!is_true(value)),
        ("and", [.., last]) => {
            let decides = arguments.iter().find(|argument| !is_true(argument));
            decides.unwrap_or(last).clone()
        }
        ("or", [.., last]) => {
            let decides = arguments.iter().find(|argument| is_true(argument));
            decides.unwrap_or(last).clone()
        }
        ("empty", [value]) => Value::Bool(!is_true(value)),
        ("default", [default, value]) => if is_true(value) { value } else { default }.clone(),
        ("replace", [Value::String(old), Value::String(new), Value::String(text)]) if !old.is_empty() => {
            Value::String(text.replace(old.as_str(), new))
        }
        ("semverCompare", [Value::String(constraint), Value::String(version)]) => {
            Value::Bool(semver_compare(constraint, version)?)
        }
        _ => return Err(Uncomputed),
    })
}

/// Go compares what is of one basic kind, and refuses the rest.
fn equals(one: &Value, other: &Value) -> Computed<bool> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Ok(one == other),
        (Value::Bool(one), Value::Bool(other)) => Ok(one == other),
        (Value::Number(one), Value::Number(other)) => Ok(one.as_f64() == other.as_f64()),
        _ => Err(Uncomputed),
    }
}

/// What Go calls true: anything but false, zero, nothing, and what is empty.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// How Go writes a value into text.
fn printed(value: &Value) -> Computed<String> {
    match value {
        Value::Null => Ok("<no value>".to_owned()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if whole.unsigned_abs() < EXPONENT_FROM => Ok(whole.to_string()),
            _ => Err(Uncomputed),
        },
        Value::Array(_) | Value::Object(_) => Err(Uncomputed),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What Go's text/template and sprig make of each, written by hand.
    #[test]
    fn templates_come_to_what_go_makes_of_them() {
        let data = json!({
            "image": "base:1", "tag": "", "size": 4, "huge": 1_000_000, "on": true, "off": false,
            "zones": ["a"], "none": [], "proxy": {"url": "http://p", "port": 3128},
            "builtin": {"machineDeployment": {"version": "v1.30.2+x", "name": super::super::value::only_live("n")}},
        });
        for (template, expected) in [
            ("plain", json!("plain")),
            ("", json!(null)),
            ("{{ .image }}", json!("base:1")),
            ("{{.size}}", json!(4)),
            ("\"{{ .size }}\"", json!("4")),
            ("node:{{ .builtin.machineDeployment.version | replace \"+\" \"_\" }}", json!("node:v1.30.2_x")),
            ("{{ .missing }}", json!("<no value>")),
            ("{{ ne .tag \"\" }}", json!(false)),
            ("{{ eq .image \"a\" `base:1` }}", json!(true)),
            ("{{ if .zones }}true{{ end }}", json!(true)),
            ("{{ if .none }}true{{ end }}", json!(null)),
            ("{{ if and .on (not .off) }}yes{{ else }}no{{ end }}", json!(true)),
            ("{{ if .tag }}a{{ else if .off }}b{{ else if .on }}c{{ else }}d{{ end }}", json!("c")),
            ("{{ or .tag \"fallback\" }}", json!("fallback")),
            ("{{ .tag | default \"latest\" }}", json!("latest")),
            ("{{ empty .none }}", json!(true)),
            ("{{ semverCompare \">= v1.24.0\" .builtin.machineDeployment.version }}", json!(true)),
            ("url: {{ .proxy.url }}\nport: {{ .proxy.port }}\n", json!({"url": "http://p", "port": 3128})),
            ("a\n{{- /* said */ -}}\nb", json!("ab")),
            ("a {{- .image -}} b", json!("abase:1b")),
            ("{{ if .off }}{{ if .missing.deep }}x{{ end }}{{ else }}y{{ end }}", json!(true)),
        ] {
            assert_eq!(evaluate(template, &data), Ok(expected), "{template}");
        }
        for template in [
            "{{ .huge }}",
            "{{ .zones }}",
            "{{ .missing.deep }}",
            "{{ .image.deep }}",
            "{{ eq .size 4 }}",
            "{{ eq .missing \"a\" }}",
            "{{ range .zones }}{{ . }}{{ end }}",
            "{{ hasPrefix \"v1\" .builtin.machineDeployment.version }}",
            "{{ .builtin.machineDeployment.name }}",
            "{{ .builtin.cluster.uid }}",
            "{{ . }}",
            "{{ if .on }}never closed",
            "{{ end }}",
            "{{ else }}",
            "{{ if .on }}a{{ else }}b{{ else }}c{{ end }}",
            "{{ \"\\\"\" }}",
            "a: [",
        ] {
            assert_eq!(evaluate(template, &data), Err(Uncomputed), "{template}");
        }
        let deep = format!("{}x{}", "{{ if .on }}".repeat(40), "{{ end }}".repeat(40));
        assert_eq!(evaluate(&deep, &data), Err(Uncomputed));
        assert_eq!(evaluate(&"{{ .image }}".repeat(2_000), &data), Err(Uncomputed), "long");
    }

    #[test]
    fn a_template_tells_which_variables_it_reads_whether_or_not_it_is_computed() {
        let fields = |paths: &[&str]| Mentions::Fields(paths.iter().map(|path| (*path).to_owned()).collect());
        for (template, expected) in [
            ("plain .text", fields(&[])),
            ("{{ .a }}{{ .b.c }}{{ .a }}", fields(&["a", "b.c"])),
            (
                "{{ semverCompare \">= 1.2 .x\" .builtin.cluster.topology.version }}",
                fields(&["builtin.cluster.topology.version"]),
            ),
            ("{{ range .files }}{{ .path }}{{ end }}", fields(&["files", "path"])),
            (
                "{{ (index .sizes .builtin.machineDeployment.class).cpu }}",
                fields(&["builtin.machineDeployment.class", "sizes"]),
            ),
            ("{{ $v := semver .version }}{{ $v.Major }}", fields(&["version"])),
            ("{{ $.a.b }}", fields(&["a.b"])),
            ("{{ gt 1.5 .a }}", fields(&["a"])),
            ("{{ eq (.a) .b }}", fields(&["a", "b"])),
            ("{{ eq 1 .b }}", fields(&["b"])),
            ("{{/* .said */}}", fields(&[])),
            ("{{ range .files }}{{ . }}{{ end }}", Mentions::Anything),
            ("{{ toJson . }}", Mentions::Anything),
            ("{{ get $ \"a\" }}", Mentions::Anything),
            ("{{ \"a\\\" .b\" }}", Mentions::Anything),
            ("{{ .a", Mentions::Anything),
        ] {
            assert_eq!(mentions(template), expected, "{template}");
        }
    }
}
