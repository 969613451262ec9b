//! `capstan render CLUSTER`

use serde_json::Value;

use super::arguments::Render;
use super::{Context, Failure, Format, Outcome, output};

pub(super) fn run(context: &Context<'_>, command: &Render) -> Result<Outcome, Failure> {
    let fleet = context.fleet()?;
    let cluster = context.cluster(&fleet, &command.cluster)?;
    let rendered = fleet.render(&cluster).map_err(|error| Failure::Failed(error.to_string()))?;
    let objects: Vec<&Value> = rendered.objects.iter().map(|object| &object.value).collect();
    match command.output {
        Format::Json => output::print_json(&Value::Array(objects.into_iter().cloned().collect()))?,
        Format::Yaml => {
            for object in objects {
                output::print("---\n")?;
                output::print_yaml(object)?;
            }
        }
        other => return Err(output::unsupported("render", other, "yaml or json")),
    }
    Ok(Outcome::Done)
}
