//! `capstan schema`

use capstan_plan::settings;

use super::arguments::Schema;
use super::{Failure, Outcome, output};

pub(super) fn run(Schema {}: &Schema) -> Result<Outcome, Failure> {
    output::print_json(&settings::json_schema())?;
    Ok(Outcome::Done)
}
