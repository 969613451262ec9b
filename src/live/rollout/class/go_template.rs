//! The part of Go's text/template that is computed here: text, fields, strings, `if`, `range`, `with`, and some
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
/// How many pieces of a template are run, rounds of `range` counted one by one.
const MOST_STEPS: usize = 20_000;
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
                Token::Field(path) | Token::RootField(path) if path.is_empty() => return Mentions::Anything,
                Token::Field(path) | Token::RootField(path) => fields.push(path.join(".")),
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
    let mut run = Run { pieces: &pieces, at: 0, steps: 0 };
    match run.block(&mut Some(&mut out), Scope { root: data, dot: data }, 0)? {
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

/// What names are of: `$` and `.`.
#[derive(Clone, Copy)]
struct Scope<'v> {
    root: &'v Value,
    /// `range` and `with` change it.
    dot: &'v Value,
}

/// The words of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// `.a.b`; a single `.` has no parts.
    Field(Vec<String>),
    /// `$.a.b`
    RootField(Vec<String>),
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
            '.' => {
                let (parts, length) = path(rest);
                (Token::Field(parts), length)
            }
            '$' if rest[1..].starts_with('.') => {
                let (parts, length) = path(&rest[1..]);
                (Token::RootField(parts), length + 1)
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
fn path(rest: &str) -> (Vec<String>, usize) {
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
    (parts, length)
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
    steps: usize,
}

impl<'t> Run<'_, 't> {
    /// Runs to the end of a block; without `out` it is only passed over.
    fn block(
        &mut self,
        out: &mut Option<&mut String>,
        scope: Scope<'_>,
        depth: usize,
    ) -> Computed<Ending<'t>> {
        if depth > DEEPEST {
            return Err(Uncomputed);
        }
        while let Some(piece) = self.pieces.get(self.at) {
            self.at += 1;
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(Uncomputed);
            }
            let action = match piece {
                Piece::Text(text) => {
                    write(out, text)?;
                    continue;
                }
                Piece::Action(action) => *action,
            };
            match keyword(action) {
                ("if", condition) => self.conditional(condition, out, scope, depth)?,
                ("range", list) => self.range(list, out, scope, depth)?,
                ("with", value) => self.with(value, out, scope, depth)?,
                ("end", "") => return Ok(Ending::End),
                ("else", "") => return Ok(Ending::Else(None)),
                ("else", rest) => match keyword(rest) {
                    ("if", condition) => return Ok(Ending::Else(Some(condition))),
                    _ => return Err(Uncomputed),
                },
                ("define" | "block" | "template" | "break" | "continue", _) => return Err(Uncomputed),
                _ if action.starts_with("/*") => {}
                _ if out.is_some() => write(out, &printed(&expression(action, scope)?)?)?,
                _ => {}
            }
        }
        Ok(Ending::Text)
    }

    fn conditional(
        &mut self,
        condition: &str,
        out: &mut Option<&mut String>,
        scope: Scope<'_>,
        depth: usize,
    ) -> Computed<()> {
        let mut condition = Some(condition);
        let mut done = out.is_none();
        loop {
            let holds = !done
                && match condition {
                    Some(condition) => is_true(&known(expression(condition, scope)?)?),
                    None => true,
                };
            let mut nowhere = None;
            let ending = self.block(if holds { out } else { &mut nowhere }, scope, depth + 1)?;
            done |= holds;
            match ending {
                Ending::End => return Ok(()),
                Ending::Else(next) if condition.is_some() => condition = next,
                _ => return Err(Uncomputed),
            }
        }
    }

    /// `{{ range .list }}…{{ else }}…{{ end }}`: the items of a list, or of a map by its keys' order.
    fn range(
        &mut self,
        list: &str,
        out: &mut Option<&mut String>,
        scope: Scope<'_>,
        depth: usize,
    ) -> Computed<()> {
        let items = match out {
            Some(_) => items(known(expression(list, scope)?)?)?,
            None => Vec::new(),
        };
        let begin = self.at;
        let mut ending = None;
        for item in &items {
            self.at = begin;
            ending = Some(self.block(out, Scope { dot: item, ..scope }, depth + 1)?);
        }
        let mut nowhere = None;
        let ending = match ending {
            Some(ending) => ending,
            None => self.block(&mut nowhere, scope, depth + 1)?,
        };
        self.otherwise(ending, if items.is_empty() { out } else { &mut nowhere }, scope, depth)
    }

    /// `{{ with .value }}…{{ else }}…{{ end }}`
    fn with(
        &mut self,
        value: &str,
        out: &mut Option<&mut String>,
        scope: Scope<'_>,
        depth: usize,
    ) -> Computed<()> {
        let value = match out {
            Some(_) => known(expression(value, scope)?)?,
            None => Value::Null,
        };
        let holds = is_true(&value);
        let mut nowhere = None;
        let inside = Scope { dot: &value, ..scope };
        let ending = self.block(if holds { out } else { &mut nowhere }, inside, depth + 1)?;
        self.otherwise(ending, if holds { &mut nowhere } else { out }, scope, depth)
    }

    /// What follows the body of `range` or `with`: its end, or a plain `else` and its end.
    fn otherwise(
        &mut self,
        ending: Ending<'t>,
        out: &mut Option<&mut String>,
        scope: Scope<'_>,
        depth: usize,
    ) -> Computed<()> {
        let ending = match ending {
            Ending::Else(None) => self.block(out, scope, depth + 1)?,
            ending => ending,
        };
        if ending == Ending::End { Ok(()) } else { Err(Uncomputed) }
    }
}

/// What `range` goes through. Nothing and an empty list have no items; numbers and texts, which newer versions of Go
/// go through too, are not computed.
fn items(value: Value) -> Computed<Vec<Value>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => Ok(items),
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            Ok(entries.into_iter().map(|(_, value)| value).collect())
        }
        _ => Err(Uncomputed),
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

fn expression(text: &str, scope: Scope<'_>) -> Computed<Value> {
    let tokens = tokens(text)?;
    let mut rest = tokens.as_slice();
    let value = pipeline(&mut rest, scope, 0)?;
    if rest.is_empty() { Ok(value) } else { Err(Uncomputed) }
}

/// `command | function …`
fn pipeline(tokens: &mut &[Token], scope: Scope<'_>, depth: usize) -> Computed<Value> {
    if depth > DEEPEST {
        return Err(Uncomputed);
    }
    let mut value = None;
    loop {
        value = Some(command(tokens, scope, value, depth)?);
        match tokens.split_first() {
            Some((Token::Pipe, rest)) => *tokens = rest,
            _ => return value.ok_or(Uncomputed),
        }
    }
}

fn command(tokens: &mut &[Token], scope: Scope<'_>, piped: Option<Value>, depth: usize) -> Computed<Value> {
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
            Token::Field(path) => field(scope.dot, path)?,
            Token::RootField(path) if !path.is_empty() => field(scope.root, path)?,
            Token::Text(text) => Value::String(text.clone()),
            Token::Word(word) if word == "true" || word == "false" => Value::Bool(word == "true"),
            Token::Open => {
                let value = pipeline(tokens, scope, depth + 1)?;
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
        ("printf", [Value::String(format), values @ ..]) => Value::String(formatted(format, values)?),
        ("quote", [Value::String(text)]) => Value::String(format!("\"{}\"", plain(text)?)),
        ("squote", [Value::String(text)]) => Value::String(format!("'{text}'")),
        ("upper", [Value::String(text)]) => Value::String(plain(text)?.to_ascii_uppercase()),
        ("lower", [Value::String(text)]) => Value::String(plain(text)?.to_ascii_lowercase()),
        ("contains", [Value::String(part), Value::String(text)]) => Value::Bool(text.contains(part.as_str())),
        ("hasPrefix", [Value::String(part), Value::String(text)]) => {
            Value::Bool(text.starts_with(part.as_str()))
        }
        ("hasSuffix", [Value::String(part), Value::String(text)]) => {
            Value::Bool(text.ends_with(part.as_str()))
        }
        ("trimPrefix", [Value::String(part), Value::String(text)]) => {
            Value::String(text.strip_prefix(part.as_str()).unwrap_or(text).to_owned())
        }
        ("trimSuffix", [Value::String(part), Value::String(text)]) => {
            Value::String(text.strip_suffix(part.as_str()).unwrap_or(text).to_owned())
        }
        ("semverCompare", [Value::String(constraint), Value::String(version)]) => {
            Value::Bool(semver_compare(constraint, version)?)
        }
        _ => return Err(Uncomputed),
    })
}

/// A format of Go with values in place of `%s`, of texts alone, and `%v`. Every other verb, and a number of values that
/// does not fit, is not computed.
fn formatted(format: &str, values: &[Value]) -> Computed<String> {
    let mut values = values.iter();
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        match (letters.next(), &mut values) {
            (Some('%'), _) => out.push('%'),
            (Some('s'), values) => match values.next() {
                Some(Value::String(text)) => out.push_str(text),
                _ => return Err(Uncomputed),
            },
            (Some('v'), values) => match values.next() {
                // `printf` writes what is missing otherwise than an action does.
                Some(value) if !value.is_null() => out.push_str(&printed(value)?),
                _ => return Err(Uncomputed),
            },
            _ => return Err(Uncomputed),
        }
    }
    if values.next().is_none() { Ok(out) } else { Err(Uncomputed) }
}

/// A text in which Go escapes nothing and changes no other letters' case.
fn plain(text: &str) -> Computed<&str> {
    let is_plain = |c: char| (c.is_ascii_graphic() || c == ' ') && !matches!(c, '"' | '\\');
    if text.chars().all(is_plain) { Ok(text) } else { Err(Uncomputed) }
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
            "zones": ["a"], "none": [], "files": [{"path": "/b", "tags": ["u", "v"]}, {"path": "/a", "tags": []}], "proxy": {"url": "http://p", "port": 3128},
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
            ("{{ range .zones }}[{{ . }}]{{ end }}", json!(["a"])),
            ("{{ range .none }}a{{ else }}b{{ end }}", json!("b")),
            ("{{ range .missing }}a{{ end }}", json!(null)),
            (
                "{{ range .files }}- {{ .path }}: {{ $.image }}\n{{ end }}",
                json!([{"/b": "base:1"}, {"/a": "base:1"}]),
            ),
            ("{{ range .files }}{{ range .tags }}{{ . }}{{ else }}-{{ end }}{{ end }}x", json!("uv-x")),
            ("{{ range .files }}{{ if .tags }}t{{ else }}f{{ end }}{{ end }}", json!("tf")),
            ("{{ range .proxy }}{{ . }};{{ end }}", json!("3128;http://p;")),
            ("{{ with .proxy }}{{ .url }}{{ end }}", json!("http://p")),
            ("{{ with .tag }}{{ . }}{{ else }}none of {{ .image }}{{ end }}", json!("none of base:1")),
            ("{{ with .none }}a{{ end }}", json!(null)),
            ("{{ printf \"%s/%v:%v%%\" .image .size .on }}", json!("base:1/4:true%")),
            ("{{ .image | quote }}", json!("base:1")),
            ("{{ if hasPrefix \"base\" .image }}{{ upper .image }}{{ end }}", json!("BASE:1")),
            ("{{ trimSuffix \":1\" .image | printf \"%s-%s\" \"x\" }}", json!("x-base")),
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
            "{{ range $at, $zone := .zones }}{{ $zone }}{{ end }}",
            "{{ range .zones }}{{ .deep }}{{ end }}",
            "{{ range .image }}a{{ end }}",
            "{{ range .size }}a{{ end }}",
            "{{ range .zones }}a",
            "{{ range .zones }}a{{ else if .on }}b{{ end }}",
            "{{ with .tag }}a{{ else with .on }}b{{ end }}",
            "{{ printf \"%d\" .size }}",
            "{{ printf \"%s\" .size }}",
            "{{ printf \"%s\" }}",
            "{{ printf \"a\" .image }}",
            "{{ printf \"%v\" .missing }}",
            "{{ toJson .proxy }}",
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
        let many = json!({"list": vec![1; 300]});
        let nested = "{{ range .list }}{{ range $.list }}{{ end }}{{ end }}";
        assert_eq!(evaluate(nested, &many), Err(Uncomputed), "many rounds");
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
