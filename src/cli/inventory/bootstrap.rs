//! `capstan inventory bootstrap`: what makes an empty API server a management cluster.

use capstan_fleet::generator::bootstrap;
use capstan_inventory::bootstrap::Bootstrap;
use capstan_inventory::origin::LevelKind;
use capstan_report::Refusal;

use super::super::{CommandFailure, CommandOutcome, output};
use super::opened::{OpenedInventory, named};
use super::printed::complain;
use crate::cli::progress::say;

pub(super) fn run(opened: OpenedInventory<'_>, name: &str) -> Result<CommandOutcome, CommandFailure> {
    let (member, values) = named(opened, name)?;
    if member.definition.level.kind != LevelKind::ManagementClusterDefinition {
        return Err(CommandFailure::Usage(
            Refusal::NotFound,
            format!(
                "`{name}` is a cluster that Cluster API makes: a ManagementClusterDefinition defines a management cluster"
            ),
        ));
    }
    let outcome = complain(&values);
    let objects = bootstrap(opened.fleet, member.name()).map_err(|why| {
        CommandFailure::Failed(Refusal::Unreadable, format!("this cluster is refused:\n{why}"))
    })?;
    let bootstrap = Bootstrap::of(objects);
    for object in &bootstrap.objects {
        output::print("---\n")?;
        output::print_yaml(object)?;
    }
    for id in &bootstrap.left_out {
        say!("{id} is left out: Capstan does not print its values. Create it by hand, or with a VaultSecret");
    }
    Ok(outcome)
}
