//! Names and paths without text: an unset variable of a shell, `capstan upgrade "$CLUSTER" --write`.
//!
//! Git refuses an empty path, and so does every command here: otherwise it would mean the root of the repository.

use clap::builder::{PathBufValueParser, StringValueParser, TypedValueParser as _, ValueParser};
use clap::{Arg, ArgAction, Command};

/// The command, whose names, paths and other texts must not be blank. What is parsed to a type of its own judges itself.
pub(super) fn refused(command: Command) -> Command {
    command.mut_args(|arg| {
        let (found, message) = (arg.get_value_parser().type_id(), message(&arg));
        if found == ValueParser::string().type_id() {
            arg.value_parser(StringValueParser::new().try_map(move |text| {
                let is_blank = text.trim().is_empty();
                if is_blank { Err(message) } else { Ok(text) }
            }))
        } else if found == ValueParser::path_buf().type_id() {
            arg.value_parser(PathBufValueParser::new().try_map(move |path| {
                let is_blank = path.to_str().is_some_and(|text| text.trim().is_empty());
                if is_blank { Err(message) } else { Ok(path) }
            }))
        } else {
            arg
        }
    })
}

fn message(arg: &Arg) -> &'static str {
    let takes_several = matches!(arg.get_action(), ArgAction::Append);
    match arg.get_value_names().unwrap_or_default().first().map(|name| name.as_str()) {
        Some("CLUSTER" | "CLUSTERS") if takes_several => {
            "the name is empty: give a cluster, or `.` for all of this folder"
        }
        Some("CLUSTER") => "the name is empty: give a cluster",
        Some("PATH") => "the path is empty: give a file or folder, or `.` for this folder",
        _ => "it must not be empty",
    }
}
