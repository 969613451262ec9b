//! `capstan inventory bootstrap`: what makes an empty API server a management cluster.

use capstan_inventory::bootstrap::Bootstrap;
use capstan_inventory::origin::LevelKind;
use capstan_inventory::survey::Survey;
use capstan_model::finding::Severity;
use capstan_report::Refusal;

use super::super::{Failure, Outcome, output};
use super::{complain, named, refused};

pub(super) fn run(survey: &Survey, name: &str) -> Result<Outcome, Failure> {
    let (member, values) = named(survey, name)?;
    if member.definition.level.kind != LevelKind::ManagementClusterDefinition {
        return Err(Failure::Usage(
            Refusal::NotFound,
            format!(
                "`{name}` is a cluster that Cluster API makes: a management cluster is what a \
                 ManagementClusterDefinition defines"
            ),
        ));
    }
    let outcome = complain(&values);
    let rendered = survey.render(&member, &values).map_err(|findings| {
        let errors: Vec<_> =
            findings.into_iter().filter(|finding| finding.severity() == Severity::Error).collect();
        refused(&errors)
    })?;
    let bootstrap = Bootstrap::of(rendered.files.iter().map(|file| file.text.as_str())).map_err(|error| {
        Failure::Failed(Refusal::Unreadable, format!("what templates make is no YAML: {error}"))
    })?;
    for object in &bootstrap.objects {
        output::print("---\n")?;
        output::print_yaml(object)?;
    }
    for id in &bootstrap.left_out {
        anstream::eprintln!(
            "{id} is left out: it holds values, which are not printed. Make it by hand, or let a VaultSecret bring it"
        );
    }
    Ok(outcome)
}
