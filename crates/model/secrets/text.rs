//! Secrets inside texts: settings in a string, commands, URLs.
//!
//! What a text is written in is not known, and it may be no whole of anything (a template, a script with JSON in it).
//! So it is read word by word. Where two readings are possible, the one that hides more counts.

use std::borrow::Cow;

use super::names::names_secret;

/// The replacement of a part of a text.
const HIDDEN: &str = "*redacted*";

/// How far before and behind a place its context is read: a text may be long, and have many names.
const NEAR: usize = 2_048;

/// Whether a text is a secret as a whole: a kubeconfig, a private key.
pub fn is_secret(text: &str) -> bool {
    let is_kubeconfig = || ["clusters:", "users:", "contexts:"].iter().all(|mark| text.contains(mark));
    let is_json_kubeconfig =
        || ["\"clusters\"", "\"users\"", "\"contexts\""].iter().all(|mark| text.contains(mark));
    text.contains("PRIVATE KEY-----") || is_kubeconfig() || is_json_kubeconfig()
}

/// The text without the values of secrets' names, and without user and password of URLs.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    // How much of the text is in `shown` already.
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = next_name(text, at) {
        let (start, end) = found;
        at = end;
        let hidden = user_info(text, end).or_else(|| value_after(text, start, end));
        if let Some((from, to)) = hidden {
            shown.push_str(&text[done..from]);
            shown.push_str(HIDDEN);
            (done, at) = (to, to);
        }
    }
    if done == 0 && shown.is_empty() {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[done..]);
    Cow::Owned(shown)
}

/// The next word that may be a name, from `at` on.
fn next_name(text: &str, at: usize) -> Option<(usize, usize)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let start = at + text[at..].find(is_part)?;
    let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
    Some((start, end))
}

/// User and password of a URL whose scheme ends here.
fn user_info(text: &str, end: usize) -> Option<(usize, usize)> {
    let from = end + "://".len();
    let rest = text[end..].strip_prefix("://")?;
    let authority = rest.find(['/', '?', '#', ' ', '"', '\'', '\n']).map_or(rest, |length| &rest[..length]);
    let (user, _) = authority.rsplit_once('@')?;
    // Everybody logs in as `git` over ssh.
    let says_nothing = user.is_empty() || user == "git" || is_variable(user);
    (!says_nothing).then(|| (from, from + user.len()))
}

/// A variable, whose value is elsewhere: `${NAME}`. An expression such as `${NAME:-hunter2}` has a value of its own.
pub fn is_variable(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(is_part))
}

/// How a name and its value are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PairSyntax {
    /// `token: x`, `"token": "x"`
    Colon,
    /// `TOKEN=x`
    Equals,
    /// `token = x`
    SpacedEquals,
    /// `--token x`
    Flag,
}

/// What follows a secret's name.
fn value_after(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let name = &text[start..end];
    let is_value = name == "value";
    if !is_value && !names_secret(name) {
        return None;
    }
    let (written, from) = value_begins(text, start, end)?;
    if is_value && (written == PairSyntax::Flag || !is_beside_secret(text, start)) {
        return None;
    }
    let (from, to) = value_span(text, start, from, written)?;
    (to > from && !is_variable(text[from..to].trim_end())).then_some((from, to))
}

/// How a value is put to the name that ends there, and where it begins.
fn value_begins(text: &str, start: usize, end: usize) -> Option<(PairSyntax, usize)> {
    // The quote behind a name may be escaped itself: `{\"token\":\"x\"}`.
    let unescaped = end + run(&text[end..], '\\');
    let after_quote = match text[unescaped..].chars().next() {
        Some('"' | '\'') => unescaped + 1,
        _ => end,
    };
    let separator = skip_blanks(text, after_quote);
    let written = match text[separator..].chars().next() {
        Some(':') => PairSyntax::Colon,
        Some('=') if separator > after_quote || text[separator + 1..].starts_with([' ', '\t']) => {
            PairSyntax::SpacedEquals
        }
        Some('=') => PairSyntax::Equals,
        _ if text[start..].starts_with('-') && separator > end => return Some((PairSyntax::Flag, separator)),
        _ => return None,
    };
    Some((written, skip_blanks(text, separator + 1)))
}

fn skip_blanks(text: &str, from: usize) -> usize {
    from + text[from..].len() - text[from..].trim_start_matches([' ', '\t']).len()
}

/// How many of a character follow one another at the beginning.
fn run(text: &str, of: char) -> usize {
    text.len() - text.trim_start_matches(of).len()
}

/// From where to where a value goes that begins at `from`; its name begins at `start`.
fn value_span(text: &str, start: usize, from: usize, written: PairSyntax) -> Option<(usize, usize)> {
    let before = line_before(text, start);
    let rest = &text[from..];
    let escapes = run(rest, '\\');
    let quote = rest[escapes..].chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let within = from + escapes + 1;
        let ends = within + quoted(&text[within..], quote, escapes);
        let closed = (ends + escapes + 1).min(text.len());
        // In a shell the word continues: `'a'"b"`.
        let more =
            if written == PairSyntax::Colon { 0 } else { shell_word(&text[closed..], enclosing(before)) };
        return Some((within, if more > 0 { closed + more } else { ends }));
    }
    let outer = enclosing(before);
    let within_quotes = |span: &str| {
        let to = outer.and_then(|(quote, escapes)| {
            let length = quoted(span, quote, escapes);
            (length < span.len()).then_some(length)
        });
        to.unwrap_or(span.len())
    };
    let line = rest.find('\n').map_or(rest, |length| &rest[..length]);
    let length = match (rest.chars().next(), written) {
        (None, _) => return None,
        (Some('\n' | '\r'), PairSyntax::Colon) => return lines_below(text, start, from),
        (Some('\n' | '\r'), _) => return None,
        (_, PairSyntax::Equals | PairSyntax::Flag) => shell_word(rest, outer),
        (_, PairSyntax::SpacedEquals) => within_quotes(line),
        // What a mapping holds has names of its own.
        (Some('{'), _) if is_mapping(rest) => return None,
        (Some('['), _) if is_list_of_mappings(rest) => return None,
        _ if outer.is_some() => within_quotes(line),
        (Some('['), _) => rest.find(']').map_or(rest.len(), |at| at + 1),
        _ if is_in_flow(before) => line.find([',', '}', ']']).unwrap_or(line.len()),
        // A block, or a plain text that continues in deeper lines.
        _ => block(text, start, from),
    };
    Some((from, from + length))
}

/// The text before a place in its line; empty where that is too long to read, and then more is hidden.
fn line_before(text: &str, start: usize) -> &str {
    let near = &text[text.floor_char_boundary(start.saturating_sub(NEAR))..start];
    match near.rfind('\n') {
        Some(at) => &near[at + 1..],
        None if near.len() == start => near,
        None => "",
    }
}

/// How long a quoted text is whose opening quote has so many backslashes before it: as many as the text itself is
/// escaped by, 1, 3 or 7. A quote inside has more.
fn quoted(rest: &str, quote: char, escapes: usize) -> usize {
    let mut backslashes = 0;
    let mut skip = false;
    for (at, c) in rest.char_indices() {
        if skip {
            skip = false;
            continue;
        }
        if c == '\\' {
            backslashes += 1;
            continue;
        }
        if c == quote {
            let doubled = quote == '\'' && rest[at + 1..].starts_with('\'');
            if doubled && escapes == 0 {
                skip = true;
            } else if quote == '\'' && escapes == 0 || backslashes % (2 * (escapes + 1)) == escapes {
                return at - escapes;
            }
        }
        backslashes = 0;
    }
    rest.len()
}

/// The quote that is open at the end of a piece of a line, with the backslashes before it.
fn enclosing(before: &str) -> Option<(char, usize)> {
    let mut open: Option<(char, usize)> = None;
    let mut backslashes = 0;
    for c in before.chars() {
        match (c, open) {
            ('\\', _) => {
                backslashes += 1;
                continue;
            }
            ('"' | '\'', None) => open = Some((c, backslashes)),
            (_, Some((quote, escapes)))
                if c == quote && (quote == '\'' || backslashes % (2 * (escapes + 1)) == escapes) =>
            {
                open = None;
            }
            _ => {}
        }
        backslashes = 0;
    }
    open
}

/// How long a word of a shell, or of a URL's query, is; `outer` is the quote around it.
fn shell_word(rest: &str, outer: Option<(char, usize)>) -> usize {
    let mut at = 0;
    while let Some(c) = rest[at..].chars().next() {
        match c {
            ' ' | '\t' | '\r' | '\n' | '&' | ';' | '|' | ')' => break,
            '\\' => {
                let escapes = run(&rest[at..], '\\');
                let next = rest[at + escapes..].chars().next();
                if outer.is_some_and(|(quote, own)| next == Some(quote) && own == escapes) {
                    break;
                }
                at += escapes + next.filter(|c| *c != '\n').map_or(0, char::len_utf8);
            }
            '"' | '\'' if outer.is_some_and(|(quote, _)| quote == c) => break,
            '"' | '\'' => {
                let length = quoted(&rest[at + 1..], c, 0);
                at = (at + 1 + length + 1).min(rest.len());
            }
            _ => at += c.len_utf8(),
        }
    }
    at
}

/// Whether what begins with `{` is a mapping, or a template; `{SSHA}x` is a password.
fn is_mapping(rest: &str) -> bool {
    let inside = &rest[1..];
    let first = inside.split(['}', '\n']).next().unwrap_or(inside);
    inside.starts_with(['{', '}', '\n', '%']) || first.contains(':')
}

fn is_list_of_mappings(rest: &str) -> bool {
    let first = rest.split(']').next().unwrap_or(rest);
    first.contains('{') || first.contains(": ")
}

/// Whether a mapping or a list in one line is open at the end of its beginning.
fn is_in_flow(before: &str) -> bool {
    let depth = before.chars().fold(0_i32, |depth, c| match c {
        '{' | '[' => depth + 1,
        '}' | ']' => (depth - 1).max(0),
        _ => depth,
    });
    depth > 0
}

/// How deep a line is, the dashes of lists before it included.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '-']).len()
}

/// How far a value goes that begins at `from`: to the first line that is not deeper than that of its name.
fn block(text: &str, start: usize, from: usize) -> usize {
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let own = indent(&text[line_start..start]);
    let mut length = 0;
    for (number, line) in text[from..].split_inclusive('\n').enumerate() {
        if number > 0 && !line.trim().is_empty() && indent(line) <= own {
            break;
        }
        length += line.len();
    }
    // The line end stays, so that what follows begins a line.
    text[from..from + length].trim_end_matches(['\r', '\n']).len()
}

/// The lines below a name: a text, or a list of texts. What a mapping holds has names of its own.
fn lines_below(text: &str, start: usize, from: usize) -> Option<(usize, usize)> {
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[line_start..start];
    let own = before.trim_start_matches([' ', '-']).is_empty().then_some(before.len())?;
    let begins = from + text[from..].find('\n')? + 1;
    let mut to = begins;
    for line in text[begins..].split_inclusive('\n') {
        let content = line.trim();
        let is_item = content.starts_with("- ") && line.len() - line.trim_start().len() >= own;
        if !content.is_empty() && !is_item && indent(line) <= own {
            break;
        }
        if is_entry(content.trim_start_matches("- ")) {
            return None;
        }
        to += line.len();
    }
    let first = begins + text[begins..to].len() - text[begins..to].trim_start().len();
    let to = begins + text[begins..to].trim_end().len();
    (first < to).then_some((first, to))
}

/// Whether a line is an entry of a mapping, a template's control line or a comment.
fn is_entry(content: &str) -> bool {
    content.starts_with(['{', '[', '#'])
        || content.ends_with(':')
        || next_name(content, 0).is_some_and(|(start, end)| {
            start <= 1 && content[end..].trim_start_matches(['"', '\'']).starts_with(": ")
        })
}

/// Whether a `name` or `key` that names a secret is beside the `value` that begins at `start`.
fn is_beside_secret(text: &str, start: usize) -> bool {
    let (item, own) = item_around(text, start);
    let mut at = 0;
    while let Some((from, to)) = next_name(item, at) {
        at = to;
        let word = &item[from..to];
        let is_beside = || match own {
            None => true,
            Some(column) => {
                let line_start = item[..from].rfind('\n').map_or(0, |at| at + 1);
                let before = &item[line_start..from];
                before.trim_end_matches(['"', '\'']).len() == column
                    && before.trim_matches([' ', '-', '"', '\'']).is_empty()
            }
        };
        if matches!(word, "name" | "key")
            && is_beside()
            && let Some((PairSyntax::Colon, begins)) = value_begins(item, from, to)
            && let Some((from, to)) = next_name(item, begins)
            && item[begins..from].chars().all(|c| matches!(c, '"' | '\'' | '\\'))
            && names_secret(&item[from..to])
        {
            return true;
        }
    }
    false
}

/// The mapping around the field that begins at `start`, and the column of its fields where it is written in lines.
fn item_around(text: &str, start: usize) -> (&str, Option<usize>) {
    let from = text.floor_char_boundary(start.saturating_sub(NEAR));
    let text = &text[from..text.ceil_char_boundary((start + NEAR).min(text.len()))];
    let start = start - from;
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[line_start..start];
    let is_line_of_its_own = before.trim_matches([' ', '-', '"', '\'']).is_empty();
    if let Some(braces) = braces_around(text, start) {
        return (braces, None);
    }
    if !is_line_of_its_own {
        return ("", None);
    }
    let column = before.trim_end_matches(['"', '\'']).len();
    let begins_item = |line: &str| indent(line) == column && line.trim_start().starts_with('-');
    let mut begins = line_start;
    let mut is_first = begins_item(&text[line_start..]);
    while !is_first && begins > 0 {
        let previous = text[..begins - 1].rfind('\n').map_or(0, |at| at + 1);
        let line = &text[previous..begins - 1];
        if !line.trim().is_empty() && indent(line) < column {
            break;
        }
        is_first = begins_item(line);
        begins = previous;
    }
    let mut ends = line_start;
    for (number, line) in text[line_start..].split_inclusive('\n').enumerate() {
        if number > 0 && !line.trim().is_empty() && (indent(line) < column || begins_item(line)) {
            break;
        }
        ends += line.len();
    }
    (&text[begins..ends], Some(column))
}

/// The text between the innermost braces around a place.
fn braces_around(text: &str, at: usize) -> Option<&str> {
    let mut depth = 0;
    let open = text[..at].char_indices().rev().find_map(|(at, c)| match c {
        '}' => {
            depth += 1;
            None
        }
        '{' if depth > 0 => {
            depth -= 1;
            None
        }
        '{' => Some(at + 1),
        _ => None,
    })?;
    depth = 0;
    let close = text[at..].char_indices().find_map(|(place, c)| match c {
        '{' => {
            depth += 1;
            None
        }
        '}' if depth > 0 => {
            depth -= 1;
            None
        }
        '}' => Some(at + place),
        _ => None,
    });
    Some(&text[open..close.unwrap_or(text.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_secrets_name_is_hidden() {
        for (text, shown) in [
            (
                "replicas: 3\npassword: hunter2 and more\nname: x\n",
                "replicas: 3\npassword: *redacted*\nname: x\n",
            ),
            ("a:\n  token: \"s3\\\"cret\" # why\n", "a:\n  token: \"*redacted*\" # why\n"),
            (r#"{"user":"ada","password":"hunter2"}"#, r#"{"user":"ada","password":"*redacted*"}"#),
            ("{user: ada, password: hunter2}", "{user: ada, password: *redacted*}"),
            ("export API_TOKEN=s3cret\nrun", "export API_TOKEN=*redacted*\nrun"),
            ("kubeadm join 10.0.0.1 --token abc.def --v=5", "kubeadm join 10.0.0.1 --token *redacted* --v=5"),
            (
                "curl -H \"Authorization: Bearer s3cret\" https://x",
                "curl -H \"Authorization: *redacted*\" https://x",
            ),
            ("https://ada:hunter2@git.example.com/a.git", "https://*redacted*@git.example.com/a.git"),
            ("see https://s3cret@git.example.com and x", "see https://*redacted*@git.example.com and x"),
            ("a:\n  password: |\n    one\n    two\n  b: c\n", "a:\n  password: *redacted*\n  b: c\n"),
            // A plain text of a block ends with its line, or continues in deeper ones.
            ("password: hun'ter, \"2\"} 3\nb: c", "password: *redacted*\nb: c"),
            ("a:\n  password: one\n    two\n  b: c\n", "a:\n  password: *redacted*\n  b: c\n"),
            ("a:\n  password:\n    hunter2\n  b: c\n", "a:\n  password:\n    *redacted*\n  b: c\n"),
            ("tokens:\n- one\n- two\nb: c\n", "tokens:\n*redacted*\nb: c\n"),
            ("tokens: [one, two]\nb: c", "tokens: *redacted*\nb: c"),
            ("password: 'it''s, 2'\nb: c", "password: '*redacted*'\nb: c"),
            ("password: {SSHA}abc\nb: c", "password: *redacted*\nb: c"),
            ("password: ${A}hunter2", "password: *redacted*"),
            ("password: ${A}", "password: ${A}"),
            ("password: ${A:-hunter2}", "password: *redacted*"),
            ("https://${A:=hunter2}@git.example.com", "https://*redacted*@git.example.com"),
            ("db.password = correct horse, \"x\"\nb=c", "db.password = *redacted*\nb=c"),
            // JSON in a text, and in a text of that.
            (
                r#"{"a":"{\"user\":\"ada\",\"password\":\"hun\\\"ter,2\",\"b\":1}"}"#,
                r#"{"a":"{\"user\":\"ada\",\"password\":\"*redacted*\",\"b\":1}"}"#,
            ),
            (
                r#"x: "{\\\"token\\\":\\\"s3cret\\\",\\\"b\\\":1}""#,
                r#"x: "{\\\"token\\\":\\\"*redacted*\\\",\\\"b\\\":1}""#,
            ),
            // Words of a shell.
            ("run --token='s3'\"cret x\" --v=5", "run --token='*redacted* --v=5"),
            ("TOKEN=a\"b c\"d run", "TOKEN=*redacted* run"),
            (r#"["--token=s3cret", "--v=5"]"#, r#"["--token=*redacted*", "--v=5"]"#),
            // The name is beside the value.
            (
                "env:\n- name: DB_PASSWORD\n  value: hunter2\n- name: A\n  value: b\n",
                "env:\n- name: DB_PASSWORD\n  value: *redacted*\n- name: A\n  value: b\n",
            ),
            (
                "env:\n  - value: \"hunter2\"\n    name: DB_PASSWORD\n  - name: A\n    value: b\n",
                "env:\n  - value: \"*redacted*\"\n    name: DB_PASSWORD\n  - name: A\n    value: b\n",
            ),
            (
                "env: [{name: DB_PASSWORD, value: hunter2}, {name: A, value: b}]",
                "env: [{name: DB_PASSWORD, value: *redacted*}, {name: A, value: b}]",
            ),
            (
                "[\n  {\n    \"name\": \"API_TOKEN\",\n    \"value\": \"x\"\n  }\n]",
                "[\n  {\n    \"name\": \"API_TOKEN\",\n    \"value\": \"*redacted*\"\n  }\n]",
            ),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }

    #[test]
    fn a_text_made_to_be_slow_is_read_at_once() {
        for unit in [
            "value: x\n",
            "{value: x, ",
            "\"value\":1,",
            "{\"name\":\"token\",\"value\":",
            "- name: a\n  value: x\n",
            "token: x, ",
            "{token: x, ",
            "token: '",
            "token: \"",
            "token:\n- x\n",
            "--token \\",
            "token={",
            "token: [",
            "\\\"token\\\":\\\"",
        ] {
            let text = unit.repeat(50_000 / unit.len());
            assert!(without_secrets(&text).len() <= 4 * text.len());
        }
    }

    #[test]
    fn what_tells_nothing_stays_as_it_is() {
        for text in [
            "",
            "v1.31.4",
            "token",
            "password:",
            "password:\n  secretName: x\n",
            "token: ${TOKEN}",
            "ssh://git@git.example.com/a.git",
            "https://git.example.com/a@b",
            "key: node-role.kubernetes.io/control-plane",
            "größe: ü",
            "env:\n- name: PASSWORD_FILE\n  value: /etc/x\n",
            "- name: a-password\n- value: b\n",
            "password:\n  # none\n",
            "password: {{ .Values.password }}",
        ] {
            assert!(matches!(without_secrets(text), Cow::Borrowed(_)), "{text}: {}", without_secrets(text));
        }
    }

    #[test]
    fn kubeconfigs_and_private_keys_are_secret_as_a_whole() {
        assert!(is_secret("apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers:\n- name: a\n"));
        assert!(is_secret("-----BEGIN RSA PRIVATE KEY-----\nMII"));
        assert!(!is_secret("users: [ada]\n"));
    }
}
