//! `capstan database check|export|import`: what is said of it. `main` opens the database and the files.

use std::path::Path;

use capstan_model::wording::count;
use capstan_report::Refusal;

use super::failure::{CommandFailure, CommandOutcome};
use super::output;
use super::progress::say;
use capstan_ports::{DatabaseCheck, Transferred};

/// A database that is not as it must be.
pub fn database_failure(error: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::Failed(Refusal::Database, error.to_string())
}

/// Prints how a database is: findings with what to do.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_database_check(check: &DatabaseCheck) -> Result<CommandOutcome, CommandFailure> {
    output::print_text(&in_words(check))?;
    Ok(if check.findings.is_empty() { CommandOutcome::Done } else { CommandOutcome::ErrorsStand })
}

fn in_words(check: &DatabaseCheck) -> String {
    let schema = match check.schema {
        Some(schema) => format!("schema {schema}"),
        None => "no schema".to_owned(),
    };
    let rows = check.rows.map_or_else(String::new, |rows| format!(", {}", rows_of(rows)));
    let mut text = format!("{}, {schema} (this Capstan's: {}){rows}\n", check.engine, check.known_schema);
    for finding in &check.findings {
        text.push_str(&format!("- {}.\n  {}\n", finding.what, finding.remedy));
    }
    if check.findings.is_empty() {
        text.push_str("It is healthy.\n");
    }
    text
}

fn rows_of(rows: u64) -> String {
    count(usize::try_from(rows).unwrap_or(usize::MAX), "row", "rows")
}

/// Says what was written where.
pub fn print_exported(done: Transferred, file: &Path) {
    say!(
        "exported {} of schema {} to {}; together with the key file, it contains the bot's keys",
        rows_of(done.rows),
        done.schema,
        file.display()
    );
}

/// Says what was read.
pub fn print_imported(done: Transferred) {
    say!(
        "imported {} of schema {}; give the bot this database and its earlier key file",
        rows_of(done.rows),
        done.schema
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_ports::DatabaseFinding;

    #[test]
    fn each_finding_is_shown_with_what_to_do() {
        let mut check = DatabaseCheck {
            engine: "SQLite",
            schema: Some(12),
            known_schema: 12,
            rows: Some(40),
            findings: Vec::new(),
        };
        assert_eq!(in_words(&check), "SQLite, schema 12 (this Capstan's: 12), 40 rows\nIt is healthy.\n");
        check
            .findings
            .push(DatabaseFinding { what: "2 rows dangle".to_owned(), remedy: "Restart.".to_owned() });
        assert_eq!(
            in_words(&check),
            "SQLite, schema 12 (this Capstan's: 12), 40 rows\n- 2 rows dangle.\n  Restart.\n"
        );
    }
}
