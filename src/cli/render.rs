//! `capstan render CLUSTER`

use capstan_domain::finding::{Finding, Severity};
use capstan_domain::policy::{self, AppliedBy, Facts, Occasion};
use capstan_domain::render::Rendered;
use serde_json::Value;

use super::arguments::Render;
use super::context::today;
use super::{Context, Failure, Format, Outcome, output, text};
use crate::app::generator::Fleet;

pub(super) fn run(context: &Context<'_>, command: &Render) -> Result<Outcome, Failure> {
    if !matches!(command.output, Format::Json | Format::Yaml) {
        return Err(output::unsupported("render", command.output, "yaml or json"));
    }
    let fleet = context.fleet()?;
    let cluster = context.cluster(&fleet, &command.cluster)?;
    let rendered = fleet.render(&cluster).map_err(|error| Failure::Failed(error.to_string()))?;
    let objects: Vec<&Value> = rendered.objects.iter().map(|object| &object.value).collect();
    if command.output == Format::Json {
        output::print_json(&Value::Array(objects.into_iter().cloned().collect()))?;
    } else {
        for object in objects {
            output::print("---\n")?;
            output::print_yaml(object)?;
        }
    }
    for note in &rendered.notes {
        anstream::eprintln!("note: {note}");
    }
    let lost = lost_patches(&fleet, cluster.as_str(), &rendered);
    for finding in &lost {
        anstream::eprintln!("{}", text::finding(finding));
    }
    Ok(if lost.iter().any(|finding| finding.severity == Severity::Error) {
        Outcome::ErrorsStand
    } else {
        Outcome::Done
    })
}

/// Patches that were left out because they find no target: what was printed lacks what they set.
fn lost_patches(fleet: &Fleet, cluster: &str, rendered: &Rendered) -> Vec<Finding> {
    let Some(folder) = fleet.layout().cluster(cluster) else { return Vec::new() };
    let facts = Facts {
        folders: &policy::folders_of(folder),
        before: rendered,
        after: rendered,
        applied_by: AppliedBy::Others,
        occasion: Occasion::Revision,
        release: None,
        today: today(),
    };
    let findings = policy::judge(&facts, &fleet.settings().severities());
    findings.into_iter().filter(|finding| finding.rule == "overlay-loses-target").collect()
}
