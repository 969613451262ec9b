//! Secrets inside texts: settings that stand in a string, commands, URLs.

use std::borrow::Cow;

use super::names::names_secret;

/// What stands in place of a part of a text.
const HIDDEN: &str = "*redacted*";

/// Whether a text is a secret as a whole: a kubeconfig, a private key.
pub(super) fn is_secret(text: &str) -> bool {
    let is_kubeconfig = || ["clusters:", "users:", "contexts:"].iter().all(|mark| text.contains(mark));
    let is_json_kubeconfig =
        || ["\"clusters\"", "\"users\"", "\"contexts\""].iter().all(|mark| text.contains(mark));
    text.contains("PRIVATE KEY-----") || is_kubeconfig() || is_json_kubeconfig()
}

/// The text with what follows a secret's name hidden, and what stands before the host of a URL.
pub(super) fn without_secrets(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    // What of the text stands in `shown` already.
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
    let says_nothing = user.is_empty() || user == "git" || user.starts_with("${") && user.ends_with('}');
    (!says_nothing).then(|| (from, from + user.len()))
}

/// What follows a secret's name: `token: x`, `"token": "x"`, `TOKEN=x`, `--token x`.
fn value_after(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let name = &text[start..end];
    if !names_secret(name) {
        return None;
    }
    let after_quote = text[end..].strip_prefix(['"', '\'']).map_or(end, |_| end + 1);
    let blanks = |from: usize| from + text[from..].len() - text[from..].trim_start_matches([' ', '\t']).len();
    let separator = blanks(after_quote);
    let sign = text[separator..].chars().next();
    let from = match sign {
        Some(':' | '=') => blanks(separator + 1),
        _ if name.starts_with('-') && separator > end => separator,
        _ => return None,
    };
    let rest = &text[from..];
    let to = match rest.chars().next()? {
        '\n' | '\r' => return None,
        quote @ ('"' | '\'') => return Some((from + 1, from + 1 + quoted(&rest[1..], quote))),
        '|' | '>' if sign == Some(':') => return Some((from, from + block(text, start, from))),
        // A mapping, a list or a variable: what it holds has names of its own, or is no secret yet.
        '{' | '[' => return None,
        '$' if rest.starts_with("${") => return None,
        _ if sign == Some(':') => from + rest.find(['\n', '"', '\'', ',', '}']).unwrap_or(rest.len()),
        _ => from + rest.find([' ', '\t', '\n', '&', ';', '"', '\'']).unwrap_or(rest.len()),
    };
    (to > from).then_some((from, to))
}

/// How long a quoted text is.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            c if c == quote => return at,
            _ => {}
        }
    }
    rest.len()
}

/// How far a block scalar goes whose indicator stands at `from`: to the first line that is not deeper than that of
/// its name.
fn block(text: &str, start: usize, from: usize) -> usize {
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let own = indent(&text[line_start..start]);
    let mut length = 0;
    for (number, line) in text[from..].split_inclusive('\n').enumerate() {
        if number > 0 && !line.trim().is_empty() && indent(line) <= own {
            break;
        }
        length += line.len();
    }
    // The line end stays, so that what follows begins a line.
    if text[from..from + length].ends_with('\n') { length - 1 } else { length }
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
        ] {
            assert_eq!(without_secrets(text), shown);
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
