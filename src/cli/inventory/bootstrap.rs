//! `capstan inventory bootstrap`: what makes an empty API server a management cluster.

use capstan_inventory::bootstrap::Bootstrap;
use capstan_inventory::origin::LevelKind;
use capstan_report::Refusal;

use super::super::{Failure, Outcome, output};
use super::{complain, named, open_in};
use capstan_fleet::generator::Fleet;

pub(super) fn run(fleet: &Fleet, name: &str) -> Result<Outcome, Failure> {
    let survey = open_in(fleet)?;
    let (member, values) = named(&survey, name)?;
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
    let objects = fleet
        .bootstrap(member.name())
        .map_err(|why| Failure::Failed(Refusal::Unreadable, format!("this cluster is refused:\n{why}")))?;
    let bootstrap = Bootstrap::of(objects);
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
