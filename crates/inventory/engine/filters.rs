//! Filters that Ansible's and Helm's templates use, and `indent` over what they make (T4).

use minijinja::value::{Kwargs, Rest, from_args};
use minijinja::{Environment, Error, ErrorKind, State};

use super::convert::{to_json, weight};
use super::count::RenderValue;
use super::structured::{Format, Structured};

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'static>, given: RenderValue) {
    let yaml = move |state: &State<'_, '_>, value: &minijinja::Value, _: Rest<minijinja::Value>| {
        structured(state, given, value, Format::Yaml)
    };
    environment.add_filter("to_yaml", yaml);
    environment.add_filter("to_nice_yaml", yaml);
    environment.add_filter("toyaml", yaml);
    let json =
        move |state: &State<'_, '_>, value: &minijinja::Value, indent: Option<usize>, kwargs: Kwargs| {
            let indent = indent.or(kwargs.get::<Option<usize>>("indent")?).filter(|columns| *columns > 0);
            structured(
                state,
                given,
                value,
                indent.map_or(Format::Json, |columns| Format::IndentedJson(columns.min(16))),
            )
        };
    environment.add_filter("tojson", json);
    environment.add_filter("to_json", json);
    environment.add_filter("to_nice_json", move |state: &State<'_, '_>, value: &minijinja::Value| {
        structured(state, given, value, Format::IndentedJson(4))
    });
    environment.add_filter("indent", indent);
}

fn structured(
    state: &State<'_, '_>,
    given: RenderValue,
    value: &minijinja::Value,
    format: Format,
) -> Result<minijinja::Value, Error> {
    let value = to_json(value, &given.json)?;
    let made = Structured { value, format };
    state.consume_fuel((weight(&made.value) + made.written()) / 16)?;
    Ok(minijinja::Value::from_object(made))
}

/// `indent` of text as Jinja has it; of a structure nothing, since it is placed and not pasted.
fn indent(
    state: &State<'_, '_>,
    value: &minijinja::Value,
    arguments: Rest<minijinja::Value>,
) -> Result<minijinja::Value, Error> {
    type Arguments = (Option<usize>, Option<bool>, Option<bool>, Kwargs);
    let (width, first, blank, kwargs): Arguments = from_args(&arguments)?;
    let width = width.or(kwargs.get("width")?).unwrap_or(4);
    let first = first.or(kwargs.get("first")?).unwrap_or(false);
    let blank = blank.or(kwargs.get("blank")?).unwrap_or(false);
    kwargs.assert_all_used()?;
    if value.downcast_object_ref::<Structured>().is_some() {
        return Ok(value.clone());
    }
    let text = value.as_str().ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidOperation,
            "`indent` works on texts and on the results of `to_yaml` and `tojson`",
        )
    })?;
    let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    state.consume_fuel((width.saturating_mul(lines).saturating_add(text.len()) / 64) as u64)?;
    let pad = " ".repeat(width);
    let mut out = String::with_capacity(text.len() + width * lines);
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if if at == 0 { first } else { blank || !line.is_empty() } {
            out.push_str(&pad);
        }
        out.push_str(line);
    }
    Ok(minijinja::Value::from(out))
}
