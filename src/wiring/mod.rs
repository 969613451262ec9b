//! How the rooms are put together; part of the program, not of the library.

mod agents;
mod database;
mod database_place;
mod reconciler;
mod setup;

use std::path::Path;
use std::process::ExitCode;

use capstan::cli::{self, CommandFailure, ServiceCommand};
use capstan::config::{
    self, ConfigError, ReconcileOptions, ReconcilerConfig, ServeOptions, SetupConfig, traces_of,
};
use capstan_git::Checkout;
use capstan_k8s::crd;
use capstan_planner_process::STACK;
use capstan_ports::{AllowedHosts, ComponentSource, FetchError, FetchLimits, Workspace, WorkspaceError};
use capstan_registries::Fetcher;
use capstan_report::Refusal;
use capstan_serve::{Config, shutdown_asked};
use capstan_server::SetUp;
use capstan_telemetry as telemetry;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

/// Opens the checkout around a directory.
pub(crate) fn open_checkout(directory: Option<&Path>) -> Result<Box<dyn Workspace>, WorkspaceError> {
    Ok(Box::new(Checkout::open(directory)?))
}

/// Prepares to fetch components from these hosts.
pub(crate) fn connect_to_sources(hosts: AllowedHosts) -> Result<Box<dyn ComponentSource>, FetchError> {
    Ok(Box::new(Fetcher::new(hosts, FetchLimits::default())?))
}

/// Runs a service until the process is asked to stop.
pub(crate) fn run(service: &ServiceCommand) -> ExitCode {
    let ended = match service {
        ServiceCommand::Serve(options) => serve(options),
        ServiceCommand::Reconcile(options) => reconcile(options),
        ServiceCommand::Crds(arguments) => print_definitions(arguments),
        ServiceCommand::Agents(arguments) => agents::run(arguments),
        ServiceCommand::Database(arguments) => return database::run(arguments),
        ServiceCommand::PlannerProcess(process) => {
            capstan_serve::plan_on_standard_input(process.memory, process.stack).map_err(failed)
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn serve(options: &ServeOptions) -> Result<(), CommandFailure> {
    let environment = |name: &str| std::env::var(name).ok();
    let setup = SetupConfig::needed(options, &environment).map_err(wrong)?;
    // Where an App is made first, it is not known before.
    let config = match setup {
        Some(_) => None,
        None => Some(config::load(options, &environment).map_err(wrong)?),
    };
    let traces = traces_of(options, &environment).map_err(wrong)?;
    let stop = CancellationToken::new();
    runtime()?.block_on(async {
        let traces = traces.as_ref().map(|to| (&to.endpoint, to.headers.as_slice()));
        let traces = telemetry::start_telling(&environment, "info", traces).map_err(failed)?;
        let served = set_up_and_serve(options, setup, config, stop).await;
        if let Some(traces) = traces {
            traces.end().await;
        }
        served
    })
}

async fn set_up_and_serve(
    options: &ServeOptions,
    setup: Option<SetupConfig>,
    config: Option<Config>,
    stop: CancellationToken,
) -> Result<(), CommandFailure> {
    tokio::spawn({
        let stop = stop.clone();
        async move {
            shutdown_asked().await;
            stop.cancel();
        }
    });
    if let Some(setup) = setup
        && setup::run(setup, stop.clone()).await? == SetUp::Stopped
    {
        return Ok(());
    }
    let config = match config {
        Some(config) => config,
        None => config::load(options, &|name| std::env::var(name).ok()).map_err(wrong)?,
    };
    let running = capstan_serve::start(config, stop).await.map_err(failed)?;
    running.finished().await.map_err(failed)
}

fn wrong(error: ConfigError) -> CommandFailure {
    CommandFailure::Usage(Refusal::Starting, error.to_string())
}

fn reconcile(options: &ReconcileOptions) -> Result<(), CommandFailure> {
    let environment = |name: &str| std::env::var(name).ok();
    let config = ReconcilerConfig::load(options, &environment)
        .map_err(|error| CommandFailure::Usage(Refusal::Starting, error.to_string()))?;
    telemetry::start_logging(&environment, "info").map_err(failed)?;
    let stop = CancellationToken::new();
    runtime()?.block_on(async {
        tokio::spawn({
            let stop = stop.clone();
            async move {
                shutdown_asked().await;
                stop.cancel();
            }
        });
        reconciler::run(config, stop).await
    })
}

fn print_definitions(arguments: &cli::Crds) -> Result<(), CommandFailure> {
    if arguments.providers {
        return cli::print_definitions(&crd::provider_definitions());
    }
    if arguments.hosts {
        return cli::print_definitions(&[capstan_hosts::definition::definition()]);
    }
    let definitions = crd::definitions().map_err(failed)?;
    cli::print_definitions(definitions.iter().map(|(_, definition)| definition))
}

fn runtime() -> Result<Runtime, CommandFailure> {
    // What a process with limits could render is rendered here too.
    Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build().map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::Failed(Refusal::Starting, error.to_string())
}
