//! Where the data of generated ConfigMaps and Secrets comes from: env files, literals, files.

use std::collections::HashSet;

use crate::render::budget::RenderBudget;
use crate::render::error::RenderError;
use crate::render::placed::{PlacedValue, SourceOffset};

use super::file::PlacedText;

/// One key and its value.
pub(super) struct KeyValue {
    pub(super) key: String,
    pub(super) value: Vec<u8>,
    pub(super) place: SourceOffset,
}

/// Reads a file that a kustomization names.
pub(super) type ReadFile<'a> = dyn Fn(&PlacedText) -> Result<std::sync::Arc<[u8]>, RenderError> + 'a;

/// The pairs of one generator, in kustomize's order.
///
/// A file costs its bytes each time it is named: what becomes of it is about as long.
pub(super) fn pairs(
    entry: &PlacedValue,
    read: &ReadFile<'_>,
    budget: &RenderBudget,
) -> Result<Vec<KeyValue>, RenderError> {
    let mut all = Vec::new();
    let mut files = names(entry, "envs")?;
    files.extend(single(entry, "env")?);
    for file in &files {
        let bytes = read(file)?;
        budget.text(bytes.len(), &file.place)?;
        env_file(&bytes, file, &mut all)?;
    }
    for literal in names(entry, "literals")? {
        budget.text(literal.text.len(), &literal.place)?;
        all.push(literal_pair(&literal)?);
    }
    for file in names(entry, "files")? {
        let (key, path) = file_source(&file)?;
        let bytes = read(&path)?;
        budget.text(key.len() + bytes.len(), &file.place)?;
        all.push(KeyValue { key, value: bytes.to_vec(), place: file.place });
    }
    let mut seen = HashSet::with_capacity(all.len());
    for pair in &all {
        if !seen.insert(pair.key.as_str()) {
            return Err(RenderError::malformed(
                &pair.place,
                format!("the key `{}` comes from two sources: remove one", pair.key),
            ));
        }
    }
    Ok(all)
}

fn names(entry: &PlacedValue, field: &str) -> Result<Vec<PlacedText>, RenderError> {
    let items = entry.field(field).map(PlacedValue::items).unwrap_or_default();
    items.iter().map(named).collect()
}

fn single(entry: &PlacedValue, field: &str) -> Result<Option<PlacedText>, RenderError> {
    let value = entry.field(field).filter(|value| !value.is_null() && !value.written().is_empty());
    value.map(named).transpose()
}

fn named(item: &PlacedValue) -> Result<PlacedText, RenderError> {
    match item.as_str() {
        Some(text) => Ok(PlacedText { text: text.to_owned(), place: item.place.clone() }),
        None => Err(RenderError::malformed(&item.place, "this is not a text: quote it")),
    }
}

/// `KEY=value`, a line each; `KEY` alone is empty, `#` begins a comment.
fn env_file(bytes: &[u8], file: &PlacedText, all: &mut Vec<KeyValue>) -> Result<(), RenderError> {
    let text = std::str::from_utf8(bytes).map_err(|_| {
        RenderError::malformed(&file.place, format!("{} is not UTF-8: save it as UTF-8", file.text))
    })?;
    for line in text.strip_prefix('\u{feff}').unwrap_or(text).split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line).trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if !key.is_empty() {
            all.push(KeyValue {
                key: key.to_owned(),
                value: value.as_bytes().to_vec(),
                place: file.place.clone(),
            });
        }
    }
    Ok(())
}

fn literal_pair(literal: &PlacedText) -> Result<KeyValue, RenderError> {
    match literal.text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok(KeyValue {
            key: key.to_owned(),
            value: unquoted(value).as_bytes().to_vec(),
            place: literal.place.clone(),
        }),
        _ => Err(RenderError::malformed(&literal.place, "a literal is written `key=value`: add the `=`")),
    }
}

/// Kustomize takes one pair of quotes off a literal.
fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .filter(|_| value.len() >= 2)
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value)
}

/// `path`, whose last part is the key, or `key=path`.
fn file_source(file: &PlacedText) -> Result<(String, PlacedText), RenderError> {
    let wrong = || {
        RenderError::malformed(
            &file.place,
            format!("`{}` is neither a path nor `key=path`: write one of them", file.text),
        )
    };
    let path = |text: &str| PlacedText { text: text.to_owned(), place: file.place.clone() };
    match file.text.split_once('=') {
        None => {
            let name = file.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            Ok((name.to_owned(), path(&file.text)))
        }
        Some((key, rest)) if !key.is_empty() && !rest.is_empty() && !rest.contains('=') => {
            Ok((key.to_owned(), path(rest)))
        }
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_lose_one_pair_of_quotes() {
        let cases =
            [("\"a\"", "a"), ("'a b'", "a b"), ("\"a'", "\"a'"), ("\"", "\""), ("''", ""), ("a", "a")];
        for (written, value) in cases {
            assert_eq!(unquoted(written), value, "{written}");
        }
    }
}
