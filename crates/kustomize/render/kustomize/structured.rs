//! JSON in a string, as the target of a replacement.

use super::field_path::{MissingPathPart, PathWay, change, look_up};
use super::hash::{write_go_json, write_go_text};
use crate::render::budget::ValueSize;
use crate::render::dialect::Dialect;
use crate::render::error::RenderError;
use crate::render::load::read_if_yaml;
use crate::render::placed::{PlacedContent, PlacedValue};

/// Sets a value inside a string that holds JSON; `false` where the path leads through no such string.
pub(super) fn put(
    object: &mut PlacedValue,
    path: &[String],
    value: &PlacedValue,
    way: &PathWay<'_>,
) -> Result<bool, RenderError> {
    let PathWay { place, budget, .. } = *way;
    let is_text = |end: &usize| {
        let found = path.get(..*end).and_then(|path| look_up(object, path).ok().flatten());
        found.is_some_and(|found| matches!(found.content, PlacedContent::Scalar(_)))
    };
    let Some(end) = (1..path.len()).find(is_text) else { return Ok(false) };
    let (outside, inside) = path.split_at(end);
    let Ok(Some(text)) = look_up(object, outside) else { return Ok(false) };
    let text = text.written().into_owned();
    let documents = read_if_yaml(&text, place, Dialect::Kustomize, budget)?;
    let Some(documents) = documents else { return Ok(false) };
    let Some(mut document) = documents.into_iter().next() else { return Ok(false) };
    let mut misfits = false;
    let mut exceeded = None;
    let size = ValueSize::of(value);
    let set = &mut |field: &mut PlacedValue| {
        if let Err(error) = budget.size(size, place) {
            exceeded = Some(error);
            return Err(String::new());
        }
        match &field.content {
            PlacedContent::Scalar(old) => match old.with_text(&value.written()) {
                Ok(new) => field.content = PlacedContent::Scalar(new),
                Err(_) => misfits = true,
            },
            PlacedContent::Mapping(_) | PlacedContent::Sequence(_) => *field = value.clone(),
        }
        Ok(())
    };
    let changed = change(&mut document, inside, way, set);
    if let Some(error) = exceeded {
        return Err(error);
    }
    match changed {
        // Kustomize then changes a copy and leaves the string as it is.
        Ok(found) if found > 0 && misfits => return Ok(true),
        Ok(found) if found > 0 => {}
        _ => return Ok(false),
    }
    if !text.trim_start().starts_with(['{', '[']) {
        return Err(RenderError::unsupported(
            place,
            format!(
                "Capstan does not render `replacements` into YAML inside a string (`{}`): kustomize rewrites that YAML. Make it JSON, or give the value its own field",
                outside.join(".")
            ),
        ));
    }
    let mut json = String::new();
    if text.contains('\n') && text.contains("  ") {
        write_indented(&document.to_value(), 0, &mut json);
    } else {
        write_go_json(&document.to_value(), &mut json);
    }
    budget.text(json.len(), place)?;
    let new = PlacedValue::text(&json, &value.place);
    let set = &mut |field: &mut PlacedValue| {
        field.replace_scalar(new.clone());
        Ok(())
    };
    change(object, outside, &PathWay { missing: &MissingPathPart::Stays, ..*way }, set)
        .map_err(|why| RenderError::malformed(place, format!("the string cannot be set: {why}")))?;
    Ok(true)
}

/// As Go's `MarshalIndent` with two blanks.
fn write_indented(value: &serde_json::Value, depth: usize, out: &mut String) {
    use serde_json::Value;
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (at, (key, field)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                line(depth + 1, out);
                write_go_text(key, out);
                out.push_str(": ");
                write_indented(field, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                line(depth + 1, out);
                write_indented(item, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        other => write_go_json(other, out),
    }
}
