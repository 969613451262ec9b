//! `capstan diff CLUSTER --from REV [--to REV]`

use capstan_kustomize::render::{self, Rendered};
use capstan_plan::upgrade::redact;
use serde_json::{Value, json};

use super::arguments::Diff;
use super::{Context, Failure, Format, Outcome, output, text};
use crate::app::generator::Fleet;

pub(super) fn run(context: &Context<'_>, command: &Diff) -> Result<Outcome, Failure> {
    let workspace = context.workspace()?;
    let before = context.fleet_at(workspace.as_ref(), Some(&command.from))?;
    let after = context.fleet_at(workspace.as_ref(), command.to.as_deref())?;
    // A cluster that came or went has nothing on one side; one that is in neither is a mistake.
    let known = [&before, &after].iter().any(|fleet| fleet.layout().cluster(&command.cluster).is_some());
    if !known {
        return Err(context.no_such_cluster(&after, &command.cluster));
    }
    let (before, after) = (rendered(&before, &command.cluster)?, rendered(&after, &command.cluster)?);
    let differences = render::diff(&before.objects, &after.objects);
    match command.output {
        Format::Text => {
            for difference in &differences {
                let value = |value: Option<&Value>| text::shown(&difference.object, &difference.path, value);
                let path =
                    if difference.path.is_root() { String::new() } else { format!("  {}", difference.path) };
                let (old, new) = (value(difference.old.as_ref()), value(difference.new.as_ref()));
                output::print(&format!("{}{path}\n  {old} -> {new}\n", difference.object))?;
            }
        }
        Format::Json | Format::Yaml => {
            let value: Value = differences
                .iter()
                .map(|difference| {
                    json!({
                        "object": difference.object,
                        "path": difference.path,
                        "old": redact(&difference.object, &difference.path, difference.old.as_ref()),
                        "new": redact(&difference.object, &difference.path, difference.new.as_ref()),
                    })
                })
                .collect();
            if command.output == Format::Json {
                output::print_json(&value)?
            } else {
                output::print_yaml(&value)?
            }
        }
        other => return Err(output::unsupported("diff", other, "text, json or yaml")),
    }
    Ok(Outcome::Done)
}

fn rendered(fleet: &Fleet, cluster: &str) -> Result<Rendered, Failure> {
    match fleet.layout().cluster(cluster) {
        Some(folder) => fleet.render(&folder.id).map_err(|error| Failure::Failed(error.to_string())),
        None => Ok(Rendered::default()),
    }
}
