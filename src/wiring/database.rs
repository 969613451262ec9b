//! `capstan database`: the bot's database as a whole, and the files that it is written to and read from.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write as _, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use capstan::cli::{
    self, CommandFailure, CommandOutcome, DatabaseArguments, DatabaseCommand, database_failure as failed,
};
use capstan_database::Database;
use capstan_ports::SystemClock;
use capstan_report::Refusal;
use secrecy::ExposeSecret;

use super::{database_place, runtime};

/// Runs one command.
pub(super) fn run(arguments: &DatabaseArguments) -> ExitCode {
    match run_on_database(arguments) {
        Ok(outcome) => outcome.report(),
        Err(failure) => failure.report(),
    }
}

fn run_on_database(arguments: &DatabaseArguments) -> Result<CommandOutcome, CommandFailure> {
    let url = database_place::url_of(&arguments.place)?;
    // An import makes it.
    if !matches!(arguments.command, DatabaseCommand::Import { .. }) {
        database_place::must_exist(&url, Refusal::Database)?;
    }
    let url = url.expose_secret();
    let clock = Arc::new(SystemClock);
    runtime()?.block_on(async {
        match &arguments.command {
            DatabaseCommand::Check => {
                let check = Database::check(url, clock).await.map_err(failed)?;
                cli::print_database_check(&check)
            }
            DatabaseCommand::Export { file } => {
                let written = match is_stream(file) {
                    // What is cut off lacks its last line, and is refused by `import`.
                    true => Database::export(url, clock, &mut stdout()).await.map_err(failed)?,
                    false => export(url, clock, file).await?,
                };
                cli::print_exported(written, file);
                Ok(CommandOutcome::Done)
            }
            DatabaseCommand::Import { file } => {
                let mut from: Box<dyn BufRead + Send> = match is_stream(file) {
                    true => Box::new(BufReader::new(stdin())),
                    false => Box::new(BufReader::new(File::open(file).map_err(|error| about(file, &error))?)),
                };
                let read =
                    Database::import(url, clock, from.as_mut()).await.map_err(|error| about(file, &error))?;
                cli::print_imported(read);
                Ok(CommandOutcome::Done)
            }
        }
    })
}

/// Whether standard input or output is meant.
fn is_stream(file: &Path) -> bool {
    file == Path::new("-")
}

/// Whole, on disk and readable by its owner alone when it has its name; never over another file.
async fn export(
    url: &str,
    clock: Arc<SystemClock>,
    file: &Path,
) -> Result<capstan_ports::Transferred, CommandFailure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if file.exists() {
        return Err(failed(format!("{} already exists, and is not overwritten", file.display())));
    }
    // Made by `tempfile` with mode 0600.
    let part = tempfile::NamedTempFile::new_in(folder).map_err(|error| about(file, &error))?;
    let mut to = BufWriter::new(part);
    let written = Database::export(url, clock, &mut to).await.map_err(failed)?;
    to.flush().map_err(|error| about(file, &error))?;
    let part = to.into_inner().map_err(|error| about(file, &error))?;
    part.as_file().sync_all().map_err(|error| about(file, &error))?;
    part.persist_noclobber(file).map_err(|error| about(file, &error))?;
    Ok(written)
}

fn about(file: &Path, error: &dyn std::fmt::Display) -> CommandFailure {
    match is_stream(file) {
        true => failed(format!("standard input: {error}")),
        false => failed(format!("{}: {error}", file.display())),
    }
}
