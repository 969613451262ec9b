//! `capstan crds`

use serde_json::Value;

use super::{CommandFailure, output};

/// Prints definitions as one YAML stream, ready for `kubectl apply -f -`.
///
/// # Errors
/// Standard output cannot be written to.
pub fn print_definitions<'d>(definitions: impl IntoIterator<Item = &'d Value>) -> Result<(), CommandFailure> {
    for definition in definitions {
        output::print("---\n")?;
        output::print_yaml(definition)?;
    }
    Ok(())
}
