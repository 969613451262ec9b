//! A small change inside a string of several lines: only the bytes that it changes are written.
//!
//! Written again, a folded or quoted text would lose its line breaks. Literal blocks have a way of their own,
//! line by line ([`super::literal`]).

use super::file::YamlFile;
use super::node::{Node, Scalar, ScalarStyle};
use super::source::{Splice, TerminatedText};

/// The splice that turns a string's text into a new one within its lines; `None` where the change cannot
/// be found again in the source beyond doubt.
pub(super) fn touch(source: &TerminatedText, node: &Node, old: &Scalar, new: &Scalar) -> Option<Splice> {
    let raw = &source.text()[node.span.clone()];
    if old.style == ScalarStyle::Literal || old.style != new.style || !raw.contains('\n') {
        return None;
    }
    let (start, end) = changed(&old.text, &new.text)?;
    let tail = old.text.len() - end;
    let before = &old.text[start..end];
    let after = new.text.get(start..new.text.len() - tail)?;
    let is_plain = |text: &str| text.chars().all(stays_as_it_is);
    if before.is_empty() || !is_plain(before) || !is_plain(after) {
        return None;
    }
    // The text says which of several equal places is meant; the source must have as many.
    let places = |text: &str| text.match_indices(before).map(|(at, _)| at).collect::<Vec<_>>();
    let (in_text, in_source) = (places(&old.text), places(raw));
    let which = in_text.iter().position(|at| *at == start)?;
    let at = *in_source.get(which).filter(|_| in_text.len() == in_source.len())?;
    let touched = format!("{}{after}{}", &raw[..at], &raw[at + before.len()..]);
    (reads_as(raw, &old.text) && reads_as(&touched, &new.text)).then(|| {
        let at = node.span.start + at;
        Splice { range: at..at + before.len(), text: after.to_owned() }
    })
}

/// What differs between two texts, in the first of them, reaching to the ends of the words at its edges.
fn changed(old: &str, new: &str) -> Option<(usize, usize)> {
    let same = |(a, b): &(char, char)| a == b;
    let prefix: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (old.get(prefix..)?, new.get(prefix..)?);
    let suffix: usize =
        old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let word = |text: &mut dyn Iterator<Item = char>| -> usize {
        text.take_while(|c| stays_as_it_is(*c)).map(char::len_utf8).sum()
    };
    let start = prefix - word(&mut old[..prefix].chars().rev());
    let end = old.len() - suffix;
    Some((start, end + word(&mut old[end..].chars())))
}

/// A character that is written as itself in every style of string.
fn stays_as_it_is(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '/')
}

/// Whether a scalar's source, on its own, means a text.
fn reads_as(raw: &str, text: &str) -> bool {
    let file = YamlFile::read(&format!("{raw}\n"));
    let root = file.as_ref().ok().and_then(|file| Some(&file.documents().first()?.root));
    root.and_then(Node::as_scalar).is_some_and(|scalar| scalar.text == text)
}
