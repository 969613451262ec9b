//! `capstan providers render|images|fetch|rights [PATH]`

mod fetch;
mod rights;
mod set;

use std::collections::BTreeSet;

use serde_json::Value;

use self::set::rendered;
use super::arguments::{ProviderInputs, Providers, ProvidersCommand};
use super::context::Context;
use super::opening::Connect;
use super::{CommandFailure, CommandOutcome, Format, ObjectFormat, output};

pub(super) fn run(
    context: &Context<'_>,
    connect: Connect<'_>,
    command: &Providers,
) -> Result<CommandOutcome, CommandFailure> {
    match &command.command {
        ProvidersCommand::Render { inputs, output } => print_objects(context, inputs, *output),
        ProvidersCommand::Fetch(command) => fetch::run(context, connect, command),
        ProvidersCommand::Rights { inputs, from, output } => {
            rights::run(context, inputs, from.as_deref(), *output)
        }
        ProvidersCommand::Images { inputs, output } => print_images(context, inputs, *output),
    }
}

fn print_objects(
    context: &Context<'_>,
    inputs: &ProviderInputs,
    format: ObjectFormat,
) -> Result<CommandOutcome, CommandFailure> {
    let (_, rendered) = rendered(context, inputs)?;
    let objects: Vec<&Value> = rendered.iter().flat_map(|provider| &provider.objects).collect();
    output::print_objects(format, &objects)?;
    Ok(CommandOutcome::Done)
}

fn print_images(
    context: &Context<'_>,
    inputs: &ProviderInputs,
    format: Format,
) -> Result<CommandOutcome, CommandFailure> {
    let (_, rendered) = rendered(context, inputs)?;
    let images: BTreeSet<String> = rendered.into_iter().flat_map(|provider| provider.images).collect();
    match format {
        Format::Json => output::print_json(&images.into_iter().collect())?,
        Format::Yaml => output::print_yaml(&images.into_iter().collect())?,
        Format::Text => images.iter().try_for_each(output::print_line)?,
    }
    Ok(CommandOutcome::Done)
}
