//! Arguments and the subcommands that work on a checkout, offline; `providers fetch` alone asks hosts.
//!
//! Every command reads through a [`capstan_ports::Workspace`], asks [`capstan_fleet::generator`], and prints. What is
//! printed and the exit codes are a contract: 0 done; 1 failed; 2 wrong usage, or something named that
//! does not exist; 3 done, but errors or blocking conflicts stand.
//!
//! Deliberately absent: decisions, and opening repositories (`main` passes a way to open one).

mod adopt;
mod agents;
mod arguments;
mod blank;
mod campaign;
mod clusters;
mod completions;
mod context;
mod crds;
mod create;
mod database;
mod demo;
mod diff;
mod examples;
mod explain;
mod failure;
mod harmless;
mod help;
mod init;
mod init_release;
mod init_text;
mod inventory;
mod migrate;
mod opening;
mod output;
mod overwriting;
mod path;
mod plan;
mod progress;
mod providers;
mod refusal;
mod releases;
mod render;
mod rules;
mod schema;
mod text;
mod typed;
mod typed_release;
mod upgrade;
mod validate;

use std::process::ExitCode;

pub use agents::run as run_agents;
pub use arguments::{
    Agents, AgentsCommand, AnyCommand, Arguments, ChangeFormat, CheckoutCommand, Crds, DatabaseArguments,
    DatabaseCommand, DatabasePlace, Format, ObjectFormat, Offline, PlanFormat, PlannerProcess, RulesFormat,
    ServiceCommand,
};
pub use crds::print_definitions;
pub use database::{database_failure, print_database_check, print_exported, print_imported};
pub use demo::start_demo;
pub use examples::{command, parse};
pub use failure::{CommandFailure, CommandOutcome};
pub use opening::{CliOutside, Connect, Open};

use context::Context;

/// Runs one offline command and prints its result.
pub fn run(arguments: &Offline, outside: CliOutside<'_>) -> ExitCode {
    progress::begin(arguments.command.doing());
    let done = dispatch(arguments, outside);
    progress::end();
    match done {
        Ok(outcome) => outcome.report(),
        Err(failure) => failure.report(),
    }
}

fn dispatch(arguments: &Offline, outside: CliOutside<'_>) -> Result<CommandOutcome, CommandFailure> {
    let context = Context { arguments, open: outside.open };
    match &arguments.command {
        CheckoutCommand::Plan(command) => plan::run(&context, command),
        CheckoutCommand::Upgrade(command) => upgrade::run(&context, command),
        CheckoutCommand::Migrate(command) => migrate::run(&context, command),
        CheckoutCommand::Render(command) => render::run(&context, command),
        CheckoutCommand::Validate(command) => validate::run(&context, command),
        CheckoutCommand::Diff(command) => diff::run(&context, command),
        CheckoutCommand::Releases(command) => releases::run(&context, command),
        CheckoutCommand::Clusters(command) => clusters::run(&context, command),
        CheckoutCommand::Adopt(command) => adopt::run(&context, command),
        CheckoutCommand::Init(command) => init::run(&context, command),
        CheckoutCommand::Create(command) => create::run(&context, command),
        CheckoutCommand::Schema(command) => schema::run(command),
        CheckoutCommand::Rules(command) => rules::run(command),
        CheckoutCommand::Providers(command) => providers::run(&context, outside.connect, command),
        CheckoutCommand::Inventory(command) => inventory::run(&context, command),
        CheckoutCommand::Campaign(command) => campaign::run(&context, command),
        CheckoutCommand::Completions(command) => completions::run(command),
        CheckoutCommand::Help(command) => help::run(command),
    }
}
