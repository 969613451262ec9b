//! Paths of `replacements`: `spec.containers.[name=web].image`, `metadata.annotations.[a.io/b]`, `spec.0.*`.
//!
//! Two readings, as in kustomize: a source's path leads to one value, a target's to all that fit
//! (<https://github.com/kubernetes-sigs/kustomize/tree/master/kyaml/yaml>, `PathGetter` and `PathMatcher`).

use super::fields::split_path;
use crate::render::budget::{BudgetedRegex, RenderBudget};
use crate::render::error::RenderError;
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};

/// The parts of a path. Brackets hold a part together; those of `[a.b]` go, those of `[a=b]` stay.
pub(super) fn split(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut pieces = split_path(path, '.').into_iter();
    while let Some(piece) = pieces.next() {
        if !piece.starts_with('[') || piece.ends_with(']') {
            parts.push(piece);
            continue;
        }
        let mut whole = piece;
        for piece in pieces.by_ref() {
            whole = format!("{whole}.{piece}");
            if whole.ends_with(']') {
                break;
            }
        }
        parts.push(if whole.contains('=') { whole } else { whole.trim_matches(['[', ']']).to_owned() });
    }
    parts
}

/// `[name=web]` -> (`name`, `web`).
fn condition(part: &str) -> Option<Result<(&str, &str), String>> {
    let inside = part.strip_prefix('[')?.strip_suffix(']')?;
    Some(inside.split_once('=').ok_or_else(|| format!("`{part}` is not a condition: write `[name=value]`")))
}

/// The one value at the end of a path; `None` where nothing is.
pub(super) fn look_up<'a>(
    value: &'a PlacedValue,
    path: &[String],
) -> Result<Option<&'a PlacedValue>, String> {
    let mut value = value;
    for part in path.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        let next = if let Ok(index) = part.parse::<usize>() {
            list(value)?.get(index)
        } else if part == "-" {
            list(value)?.last()
        } else if part == "*" {
            return Err("`*` has no meaning in the path of a source: name one item".to_owned());
        } else if let Some(condition) = condition(part) {
            let (key, wanted) = condition?;
            list(value)?.iter().find(|item| match key {
                "" => item.written() == wanted,
                key => item.field(key).is_some_and(|field| field.written() == wanted),
            })
        } else {
            match &value.content {
                PlacedContent::Mapping(_) => value.field(part),
                _ if value.is_null() => None,
                _ => return Err(format!("there is no mapping for `{part}`")),
            }
        };
        match next {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn list(value: &PlacedValue) -> Result<&[PlacedValue], String> {
    match &value.content {
        PlacedContent::Sequence(items) => Ok(items),
        _ if value.is_null() => Ok(&[]),
        _ => Err("there is no list whose item could be taken".to_owned()),
    }
}

/// What is made at the end of a path where nothing is.
#[derive(Clone)]
pub(super) enum MissingPathPart {
    /// Nothing.
    Stays,
    /// This, and everything on the way.
    Made(PlacedContent),
}

/// How a path is followed.
#[derive(Clone, Copy)]
pub(super) struct PathWay<'a> {
    pub(super) missing: &'a MissingPathPart,
    /// Where that is written which is made.
    pub(super) place: &'a SourceOffset,
    pub(super) budget: &'a RenderBudget,
}

impl<'a> PathWay<'a> {
    /// The way along these parts, whose expressions are paid for here.
    pub(super) fn of(
        path: &[String],
        missing: &'a MissingPathPart,
        place: &'a SourceOffset,
        budget: &'a RenderBudget,
    ) -> Result<Self, RenderError> {
        let way = Self { missing, place, budget };
        for (_, pattern) in path.iter().filter_map(|part| condition(part)?.ok()) {
            let _said_where_it_is_followed = way.expression(pattern)?;
        }
        Ok(way)
    }

    pub(super) const fn written_at<'b>(&self, place: &'b SourceOffset) -> PathWay<'b>
    where
        'a: 'b,
    {
        PathWay { missing: self.missing, place, budget: self.budget }
    }

    fn expression(&self, pattern: &str) -> Result<Result<BudgetedRegex, String>, RenderError> {
        self.budget.expression(pattern, self.place)
    }
}

/// What becomes of each value that fits.
pub(super) type FieldChange<'f> = dyn FnMut(&mut PlacedValue) -> Result<(), String> + 'f;

/// Changes all values that fit a path, and tells how many there were.
pub(super) fn change(
    value: &mut PlacedValue,
    path: &[String],
    way: &PathWay<'_>,
    with: &mut FieldChange<'_>,
) -> Result<usize, String> {
    let Some((part, rest)) = path.split_first() else {
        with(value)?;
        return Ok(1);
    };
    if let Ok(index) = part.parse::<usize>() {
        return change_index(value, index, rest, way, with);
    }
    if let Some(condition) = condition(part) {
        let (key, pattern) = condition?;
        return change_items(value, (key, pattern), rest, way, with);
    }
    if part == "*" {
        let PlacedContent::Sequence(items) = &mut value.content else {
            return if value.is_null() {
                Ok(0)
            } else {
                Err("`*` means the items of a list, but this is not a list".to_owned())
            };
        };
        return items.iter_mut().try_fold(0, |sum, item| Ok(sum + change(item, rest, way, with)?));
    }
    change_field(value, part, rest, way, with)
}

fn change_field(
    value: &mut PlacedValue,
    part: &str,
    rest: &[String],
    way: &PathWay<'_>,
    with: &mut FieldChange<'_>,
) -> Result<usize, String> {
    if value.is_null() {
        return Ok(0);
    }
    if !value.is_mapping() {
        return Err(format!("there is no mapping for `{part}`"));
    }
    if value.field(part).is_none() {
        let MissingPathPart::Made(last) = way.missing else { return Ok(0) };
        value.set(part, blank(rest, last, way.place));
    }
    let Some(field) = value.field_mut(part) else { return Ok(0) };
    if !rest.is_empty() && matches!(field.content, PlacedContent::Scalar(_)) {
        // Kustomize reads YAML in a string here, and changes a copy of it.
        return Err(format!("`{part}` is a single value and has no fields"));
    }
    change(field, rest, way, with)
}

/// What is made before the rest of the path is followed.
fn blank(rest: &[String], last: &PlacedContent, place: &SourceOffset) -> PlacedValue {
    let content = match rest.first() {
        None => last.clone(),
        Some(part) if condition(part).is_some() || part.parse::<usize>().is_ok() => {
            PlacedContent::Sequence(Vec::new())
        }
        Some(_) => PlacedContent::Mapping(Vec::new()),
    };
    PlacedValue { place: place.clone(), content }
}

fn change_index(
    value: &mut PlacedValue,
    index: usize,
    rest: &[String],
    way: &PathWay<'_>,
    with: &mut FieldChange<'_>,
) -> Result<usize, String> {
    let count = list(value)?.len();
    let PlacedContent::Sequence(items) = &mut value.content else {
        return Err(format!("there is no item {index}, and no list"));
    };
    if let MissingPathPart::Made(last) = way.missing
        && count == index
    {
        items.push(blank(rest, last, way.place));
    }
    match items.get_mut(index) {
        Some(item) => change(item, rest, way, with),
        None => Err(format!("there is no item {index}: the list has {count}")),
    }
}

fn change_items(
    value: &mut PlacedValue,
    (key, pattern): (&str, &str),
    rest: &[String],
    way: &PathWay<'_>,
    with: &mut FieldChange<'_>,
) -> Result<usize, String> {
    let fits = way.expression(pattern).ok().and_then(Result::ok);
    let fits = fits.ok_or_else(|| format!("`{pattern}` is not a regular expression"))?.regex;
    let mut changed = 0;
    let mut seen = false;
    let PlacedContent::Sequence(items) = &mut value.content else {
        return if value.is_null() {
            Ok(0)
        } else {
            Err(format!("`[{key}={pattern}]` means items of a list, but this is not a list"))
        };
    };
    for item in items.iter_mut() {
        let text =
            if key.is_empty() { Some(item.written()) } else { item.field(key).map(PlacedValue::written) };
        if !text.is_some_and(|text| fits.is_match(&text)) {
            continue;
        }
        seen = true;
        // A condition on the item itself is the end of a path.
        let rest = if key.is_empty() { &[] } else { rest };
        changed += change(item, rest, way, with)?;
    }
    let MissingPathPart::Made(_) = way.missing else { return Ok(changed) };
    if seen && changed > 0 {
        return Ok(changed);
    }
    let place = way.place;
    let scalar = PlacedValue::open(pattern, place);
    let mut item = if key.is_empty() {
        scalar
    } else {
        PlacedValue { place: place.clone(), content: PlacedContent::Mapping(vec![(key.to_owned(), scalar)]) }
    };
    let changed = change(&mut item, if key.is_empty() { &[] } else { rest }, way, with)?;
    items.push(item);
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_hold_a_part_together() {
        let cases = [
            ("spec.replicas", vec!["spec", "replicas"]),
            ("metadata.annotations.[a.io/b]", vec!["metadata", "annotations", "a.io/b"]),
            ("spec.containers.[name=a.b].image", vec!["spec", "containers", "[name=a.b]", "image"]),
            (r"data.config\.yaml", vec!["data", "config.yaml"]),
            ("metadata.annotations.[plain]", vec!["metadata", "annotations", "[plain]"]),
        ];
        for (path, parts) in cases {
            assert_eq!(split(path), parts, "{path}");
        }
    }
}
