//! `capstan schema`

use capstan_plan::settings;

use super::arguments::Schema;
use super::{CommandFailure, CommandOutcome, output};

pub(super) fn run(Schema {}: &Schema) -> Result<CommandOutcome, CommandFailure> {
    output::print_json(&settings::json_schema())?;
    Ok(CommandOutcome::Done)
}
