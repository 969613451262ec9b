//! The tables of flags and settings, against the definition that the command line is parsed by.

use std::collections::BTreeSet;

use capstan::cli::Arguments;
use capstan_test_parts::flags::{commands, flags, of_service};
use capstan_test_parts::page::Cell;
use clap::CommandFactory as _;

use super::{assert_same, page};

#[test]
fn the_table_has_every_setting_of_the_services_with_variables_and_default() {
    let page = page("docs/service-settings.md");
    for (service, heading) in [("serve", "the-bot"), ("reconcile", "the-reconciler")] {
        let real = of_service(service);
        let rows = page.rows(heading);
        let name = |row: &[Cell]| row[0].text.trim_start_matches("--").to_owned();
        assert_same(rows.iter().map(|row| name(row)).collect(), real.keys().cloned().collect(), service);
        for row in rows {
            let help = real[&name(row)].get_help().unwrap().to_string();
            let told = |what: &str| {
                help.split_once(what).map(|(_, rest)| rest.split_once(']').unwrap().0.to_owned())
            };
            let variables: BTreeSet<String> = told("[env: ")
                .unwrap()
                .split(|c: char| !c.is_ascii_uppercase() && c != '_')
                .filter(|word| word.len() > 1)
                .map(str::to_owned)
                .collect();
            assert_same(
                row[1].codes.iter().cloned().collect(),
                variables,
                &format!("{service}, {}", row[0].text),
            );
            let default = told("[default: ").unwrap_or_default();
            let default = default.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                row[2].text.starts_with(&default),
                "{service}, {}: the default is `{default}`, documented is `{}`",
                row[0].text,
                row[2].text
            );
        }
    }
}

#[test]
fn the_tables_of_the_command_line_have_every_command_and_every_flag() {
    let page = page("docs/command-line.md");
    let rows = page.rows("command-line");
    let documented: BTreeSet<String> = rows
        .iter()
        .flat_map(|row| &row[0].codes)
        .map(|code| {
            let words = code.split_whitespace().skip(1);
            words
                .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase()))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .map(|words| if words.starts_with("completions") { "completions".to_owned() } else { words })
        .collect();
    let all = commands();
    let real = all.iter().filter(|(_, command)| !command.has_subcommands()).map(|(words, _)| words.clone());
    assert_same(documented, real.collect(), "commands in docs/command-line.md");

    let flag = |cell: &Cell| cell.text.split_whitespace().next().unwrap().trim_start_matches("--").to_owned();
    let documented = page.rows("flags").into_iter().map(|row| match row.len() {
        2 => format!("--{}", flag(&row[0])),
        _ => format!("{} --{}", row[0].text, flag(&row[1])),
    });
    let own = all.iter().filter(|(words, _)| !["serve", "reconcile"].contains(&words.as_str()));
    let real = own
        .flat_map(|(words, command)| flags(command).into_keys().map(move |flag| format!("{words} --{flag}")));
    let of_all = flags(&Arguments::command()).into_keys().map(|flag| format!("--{flag}"));
    assert_same(documented.collect(), real.chain(of_all).collect(), "flags in docs/command-line.md");
}
