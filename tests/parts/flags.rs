//! The commands and flags of the program, from the definition that its command line is parsed by.

use std::collections::{BTreeMap, BTreeSet};

use capstan::cli::Arguments;
use clap::{Arg, Command, CommandFactory as _};

/// Long flags of a command, its own and those that it hands down, by name.
pub fn flags(command: &Command) -> BTreeMap<String, Arg> {
    let args = command.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()));
    args.filter_map(|arg| Some((arg.get_long()?.to_owned(), arg.clone()))).collect()
}

/// The flags of a service: its settings.
pub fn of_service(name: &str) -> BTreeMap<String, Arg> {
    flags(Arguments::command().find_subcommand(name).unwrap())
}

/// Every command that people type, with its words: `agents invite`.
pub fn commands() -> Vec<(String, Command)> {
    fn below(command: &Command, words: &str, found: &mut Vec<(String, Command)>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let words = format!("{words} {}", sub.get_name()).trim().to_owned();
            below(sub, &words, found);
            found.push((words, sub.clone()));
        }
    }
    let mut found = Vec::new();
    below(&Arguments::command(), "", &mut found);
    found
}

/// Every long flag that there is.
pub fn all() -> BTreeSet<String> {
    let commands = commands().into_iter().flat_map(|(_, command)| flags(&command).into_keys());
    commands.chain(flags(&Arguments::command()).into_keys()).collect()
}
