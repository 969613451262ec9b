//! Commands, as the programs take them.

use std::collections::BTreeSet;
use std::fs;

use capstan::cli::Arguments;
use capstan_plan::verbs::{NeededRight, Verb};
use clap::Parser;
use clap::error::ErrorKind;

use super::{page, pages, root};

/// Programs of other projects: people check their commands by eye.
const OTHERS: &[&str] = &[
    "age",
    "cargo",
    "curl",
    "docker",
    "export",
    "git",
    "helm",
    "install",
    "openssl",
    "sha256sum",
    "systemctl",
    "vault",
];

/// The commands of a block, each parsed by what it calls.
pub(super) fn check(block: &str) -> Result<(), String> {
    for line in block.replace("\\\n", " ").lines().map(str::trim).filter(|line| !line.is_empty()) {
        let line = line.split_once(" #").map_or(line, |(command, _)| command.trim());
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words.first().unwrap() {
            "capstan" => {
                Arguments::try_parse_from(&words).map_err(|error| format!("`{line}`: {error}"))?;
            }
            "make" => {
                let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
                let is_target = makefile.lines().any(|line| line.starts_with(&format!("{}:", words[1])));
                is_target.then_some(()).ok_or_else(|| format!("there is no `{line}`"))?;
            }
            "kubectl" => {
                let folder = words.iter().skip_while(|word| **word != "-k").nth(1);
                let is_there =
                    folder.is_none_or(|folder| root().join(folder).join("kustomization.yaml").is_file());
                is_there.then_some(()).ok_or_else(|| format!("`{line}`: there is no such folder"))?;
            }
            other => {
                OTHERS.contains(&other).then_some(()).ok_or_else(|| format!("no test knows `{other}`"))?;
            }
        }
    }
    Ok(())
}

#[test]
fn commands_within_text_are_commands_and_flags_are_flags() {
    let known = capstan_test_parts::flags::all();
    let mut troubles = Vec::new();
    for page in pages() {
        for span in &page.spans {
            let plain = span.replace(['[', ']', '…'], "");
            let value = |word| if word == "POINTER" { "/kubernetes/version" } else { word };
            let words: Vec<&str> = plain.split_whitespace().map(value).collect();
            match words.first() {
                // A program of its own takes its place.
                Some(&"capstan") if words.get(1) == Some(&"demo") => {}
                Some(&"capstan") if words.len() > 1 => match Arguments::try_parse_from(&words) {
                    // A command may be named without what it needs.
                    Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => {
                        troubles.push(format!("{}: `{span}`: {error}", page.path));
                    }
                    _ => {}
                },
                Some(word) if word.starts_with("--") && !known.contains(&word[2..]) => {
                    troubles.push(format!("{}: no command has `{span}`", page.path));
                }
                _ => {}
            }
        }
    }
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
}

#[test]
fn every_command_of_a_comment_has_its_row_and_every_row_its_command() {
    let page = page("docs/commands.md");
    let documented: BTreeSet<String> = page
        .rows("commands")
        .iter()
        .map(|row| {
            let command = row[0].codes.first().unwrap().strip_prefix("/capstan ").unwrap();
            format!("{command}: {}", row[2].text)
        })
        .collect();
    let real = Verb::ALL.iter().map(|verb| {
        let who = match verb.needs() {
            NeededRight::Write => "write permission",
            NeededRight::Owner => "owners",
            NeededRight::Admin => "administrators",
        };
        let command = format!("{} {}", verb.word(), verb.syntax());
        format!("{}: {who}", command.trim())
    });
    super::assert_same(documented, real.collect(), "docs/commands.md");
}
