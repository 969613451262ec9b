//! Examples at the end of each command's help. A test parses each of them.

use std::ffi::OsString;
use std::path::PathBuf;

use capstan_model::wording::list;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _, Subcommand as _, value_parser};

use super::{Arguments, Service};

/// Commands by their words, each with its examples: what is typed, and what it does.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "",
        &[
            ("capstan clusters", "what is found in this checkout"),
            ("capstan plan", "what would be proposed, for every cluster"),
            ("capstan upgrade gauss/peu01 --write", "one cluster to its offered release, in the work tree"),
        ],
    ),
    ("providers", &[("capstan providers render", "what the provider objects of this checkout stand for")]),
    (
        "inventory",
        &[
            ("capstan inventory list", "all definitions, and what is wrong with them"),
            ("capstan inventory values web", "what a cluster has, after merging"),
        ],
    ),
    ("campaign", &[("capstan campaign simulate", "the waves of .capstan.yaml over the fleet as it is")]),
    ("agents", &[("capstan agents list", "the reconcilers, and when each was last seen")]),
    ("database", &[("capstan database check", "whether the database is healthy")]),
    (
        "plan",
        &[
            ("capstan plan", "what would be proposed, for every cluster"),
            ("capstan plan gauss/peu01 --to aws/v21.0.0", "one cluster, to a release of your choice"),
            ("capstan plan . --path", "each step to the newest release, for the clusters below this folder"),
        ],
    ),
    (
        "migrate",
        &[
            (
                "capstan migrate --all",
                "what moves to newer API versions, what becomes of each field, and what rolls",
            ),
            (
                "capstan migrate gauss/peu01 --to infrastructure.cluster.x-k8s.io/v1beta1 --write",
                "change the work tree, for one API group",
            ),
        ],
    ),
    (
        "upgrade",
        &[
            ("capstan upgrade gauss/peu01", "the diff to the offered release"),
            ("capstan upgrade gauss/peu01 --to aws/v21.0.0 --write", "change the work tree"),
            (
                "capstan upgrade gauss --inventory --write",
                "apply the current inventory to a folder of clusters",
            ),
        ],
    ),
    (
        "render",
        &[
            ("capstan render gauss/peu01", "the objects as they would be applied"),
            ("capstan render . -o json", "the cluster of this folder, as a JSON array"),
        ],
    ),
    (
        "validate",
        &[
            ("capstan validate", "the whole repository"),
            (
                "capstan validate --from origin/main -o github",
                "in a workflow: annotate what a pull request brings",
            ),
            ("capstan validate gauss", "report on one folder only"),
        ],
    ),
    (
        "diff",
        &[
            ("capstan diff gauss/peu01 --from main", "the work tree against a branch"),
            ("capstan diff gauss/peu01 --from v1 --to v2 -o json", "two commits, for a program"),
        ],
    ),
    (
        "releases",
        &[
            ("capstan releases", "the releases of this repository"),
            ("capstan releases -o json", "the same, for a program"),
        ],
    ),
    (
        "clusters",
        &[
            ("capstan clusters", "each cluster with its current and its offered release"),
            ("capstan clusters --releases ../releases", "where the releases are in another repository"),
        ],
    ),
    (
        "adopt",
        &[
            ("capstan adopt", "which release each cluster without a record comes from"),
            ("capstan adopt gauss/peu01 --write", "record it"),
        ],
    ),
    (
        "init",
        &[
            ("capstan init", "the .capstan.yaml that fits, and what was found"),
            ("capstan init --write", "write it"),
            ("capstan init --write --move", "also give each cluster a folder of its own"),
            (
                "capstan init --release aws/v1.0.0 --from gauss/peu01 --write",
                "make the first release out of a cluster",
            ),
        ],
    ),
    (
        "create",
        &[
            (
                "capstan create gauss/peu02 --from aws/v21.0.0 --set CLUSTER_NAME=peu02",
                "show the files of a new cluster",
            ),
            ("capstan create gauss/peu02 --from aws/v21.0.0 --write", "write them"),
        ],
    ),
    (
        "help",
        &[
            ("capstan help inventory values", "what `capstan inventory values --help` prints"),
            ("capstan help settings", "the page about the settings of a repository"),
            ("capstan help commands#who-may", "one section of a page, as messages name it"),
        ],
    ),
    ("schema", &[("capstan schema", "for an editor: the JSON Schema of .capstan.yaml")]),
    (
        "rules",
        &[
            ("capstan rules", "all rules"),
            ("capstan rules kubernetes-minor-skip", "one rule, its reason and what to do"),
        ],
    ),
    (
        "providers render",
        &[
            ("capstan providers render management/providers", "the objects of all providers of a set"),
            (
                "capstan providers render --variable GITHUB_TOKEN=none -o json",
                "with a value that the Secrets of the repository lack",
            ),
        ],
    ),
    (
        "providers fetch",
        &[
            ("capstan providers fetch management/providers", "fetch components into .capstan/providers"),
            ("capstan providers fetch --config-maps", "print ConfigMaps for the Cluster API operator"),
            ("capstan providers fetch --push registry.example.com/capi", "mirror them into a registry"),
        ],
    ),
    (
        "providers rights",
        &[
            ("capstan providers rights management/providers", "the RBAC rules that the installation needs"),
            ("capstan providers rights --from main -o text", "also what an upgrade needs, in words"),
        ],
    ),
    ("providers images", &[("capstan providers images", "one image per line, for a mirror")]),
    ("inventory list", &[("capstan inventory list", "all definitions, and what is wrong with them")]),
    (
        "inventory values",
        &[
            ("capstan inventory values web --origins", "each value with the level that it comes from"),
            ("capstan inventory values ./web -o json", "by the folder of the cluster"),
        ],
    ),
    (
        "inventory explain",
        &[
            ("capstan inventory explain web /network/cidr", "where a value comes from and what it overrides"),
            (
                "capstan inventory explain web /spec/replicas --object MachineDeployment/web-md",
                "from a field back to its values",
            ),
        ],
    ),
    ("inventory uses", &[("capstan inventory uses /network/cidr", "which clusters have a value")]),
    (
        "inventory render",
        &[
            ("capstan inventory render web", "the objects that templates make for a cluster"),
            ("capstan inventory render --all --out /tmp/rendered", "those of all clusters, as files"),
        ],
    ),
    (
        "inventory diff",
        &[(
            "capstan inventory diff --from main",
            "which clusters a change reaches, and which machines it replaces",
        )],
    ),
    (
        "inventory import",
        &[(
            "capstan inventory import clusterctl.yaml",
            "variables of clusterctl as values, without credentials",
        )],
    ),
    (
        "inventory bootstrap",
        &[("capstan inventory bootstrap mc-eu", "the objects that make an API server a management cluster")],
    ),
    (
        "campaign simulate",
        &[
            ("capstan campaign simulate", "the waves of .capstan.yaml over the fleet as it is"),
            (
                "capstan campaign simulate draft.yaml --stuck-per-thousand 20 --svg waves.svg",
                "a draft, with failures, as a picture",
            ),
        ],
    ),
    (
        "completions",
        &[("capstan completions bash > /etc/bash_completion.d/capstan", "for every shell of this machine")],
    ),
    (
        "serve",
        &[
            ("capstan serve", "with an existing GitHub App, or with a page to create one"),
            ("capstan serve --config /etc/capstan/bot.yaml", "with settings from a file"),
        ],
    ),
    (
        "reconcile",
        &[
            ("capstan reconcile", "in the cluster of the Pod"),
            ("capstan reconcile --kubeconfig ~/.kube/config", "from outside"),
        ],
    ),
    ("crds", &[("capstan crds | kubectl apply --server-side -f -", "install the kinds of Capstan")]),
    (
        "agents invite",
        &[(
            "capstan agents invite --management-cluster 6f1c9d0e-8a44-4c7b-9f0e-2d7a1b3c4d5e",
            "a join code for one management cluster",
        )],
    ),
    ("agents list", &[("capstan agents list", "the reconcilers, and when each was last seen")]),
    ("agents revoke", &[("capstan agents revoke 01JD9Z6Q3V8K2M4N6P8R0S2T4V", "trust one of them no longer")]),
    ("database check", &[("capstan database check", "whether the database is healthy")]),
    (
        "database export",
        &[
            ("capstan database export backup.jsonl", "a copy, while the bot runs"),
            ("capstan database export - | gzip > backup.jsonl.gz", "to standard output"),
        ],
    ),
    (
        "database import",
        &[(
            "capstan database import backup.jsonl --database-url postgres://db/capstan",
            "into an empty database",
        )],
    ),
];

/// Flags that a checkout has; each command shows and takes those that are of use to it.
const OF_A_CHECKOUT: [&str; 3] = ["repo", "at", "releases"];

/// Commands that read no checkout, besides services.
const WITHOUT_A_CHECKOUT: &[&str] = &["schema", "rules", "completions", "help"];

/// Commands in which releases play a part, so that a checkout of theirs is of use.
const WITH_RELEASES: [&str; 7] = ["plan", "upgrade", "create", "releases", "clusters", "adopt", "campaign"];

/// The commands as they are parsed, with examples.
pub fn command() -> Command {
    let mut command = Arguments::command();
    for (words, examples) in EXAMPLES {
        command = with(command, &words.split_whitespace().collect::<Vec<_>>(), &in_words(examples));
    }
    let services = services();
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in names {
        let useless = OF_A_CHECKOUT.into_iter().filter(|flag| !is_of_use(flag, &name, &services));
        command = command.mut_subcommand(&name, |below| useless.fold(below, without));
    }
    command
}

/// What shells complete: flags where they are of use, and no hidden command.
pub(super) fn shown() -> Command {
    let all = Arguments::command();
    let services = services();
    let of_a_checkout: Vec<Arg> = all.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let commands = all.get_subcommands().filter(|below| !below.is_hide_set()).map(|below| {
        let useful =
            of_a_checkout.iter().filter(|arg| is_of_use(arg.get_id().as_str(), below.get_name(), &services));
        useful.cloned().fold(below.clone(), Command::arg)
    });
    Command::new("capstan")
        .disable_help_subcommand(true)
        .args(of_a_checkout.iter().cloned().map(|arg| arg.global(false)))
        .subcommands(commands)
}

fn is_of_use(flag: &str, command: &str, services: &[String]) -> bool {
    let reads_a_checkout =
        !WITHOUT_A_CHECKOUT.contains(&command) && !services.iter().any(|service| service == command);
    reads_a_checkout && (flag != "releases" || WITH_RELEASES.contains(&command))
}

/// The command with a flag that nobody sees: it is parsed, so that its refusal can say why.
fn without(command: Command, flag: &'static str) -> Command {
    let hidden = Arg::new(flag).long(flag).global(true).hide(true);
    command.arg(if flag == "at" { hidden } else { hidden.value_parser(value_parser!(PathBuf)) })
}

fn services() -> Vec<String> {
    let services = Service::augment_subcommands(Command::new("capstan"));
    services.get_subcommands().map(|service| service.get_name().to_owned()).collect()
}

/// What was typed.
///
/// # Errors
/// Why it is not a command, in clap's words; hidden commands are never suggested.
pub fn parse(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Arguments, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(words).map_err(|error| without_hidden(&command, error))?;
    let arguments = Arguments::from_arg_matches(&matches)?;
    let given = [arguments.repo.is_some(), arguments.at.is_some(), arguments.releases.is_some()];
    let (name, services) = (matches.subcommand_name().unwrap_or_default(), services());
    let useless = OF_A_CHECKOUT
        .into_iter()
        .zip(given)
        // An alias may give a checkout to all commands, even to help.
        .find(|(flag, given)| *given && name != "help" && !is_of_use(flag, name, &services));
    let message = match useless {
        None => return Ok(arguments),
        Some(("releases", _)) if is_of_use("repo", name, &services) => format!(
            "`--releases` is for {}; `{name}` reads only one repository, which `--repo DIR` sets",
            list(&WITH_RELEASES.map(|command| format!("`{command}`")))
        ),
        Some((flag, _)) => format!("`--{flag}` is for commands on a checkout; `{name}` reads none"),
    };
    Err(command.error(ErrorKind::ArgumentConflict, message))
}

fn without_hidden(command: &Command, mut error: clap::Error) -> clap::Error {
    let is_shown =
        |name: &String| command.find_subcommand(name).is_none_or(|suggested| !suggested.is_hide_set());
    match error.remove(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => {
            let shown: Vec<String> = names.into_iter().filter(is_shown).collect();
            if !shown.is_empty() {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(shown));
            }
        }
        Some(ContextValue::String(name)) if is_shown(&name) => {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(name));
        }
        _ => {}
    }
    error
}

fn with(command: Command, words: &[&str], examples: &str) -> Command {
    match words {
        [] => {
            let more = command.get_after_help().map(|more| format!("\n\n{more}")).unwrap_or_default();
            command.after_help(format!("{examples}{more}"))
        }
        [first, rest @ ..] => command.mut_subcommand(*first, |below| with(below, rest, examples)),
    }
}

fn in_words(examples: &[(&str, &str)]) -> String {
    let lines = examples.iter().map(|(typed, does)| format!("  {typed}\n      {does}"));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every command that has a help, by its words.
    fn all(command: &Command, words: &str, found: &mut BTreeSet<String>) {
        found.insert(words.to_owned());
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            all(below, format!("{words} {}", below.get_name()).trim(), found);
        }
    }

    #[test]
    fn every_command_has_examples_that_it_takes() {
        let mut commands = BTreeSet::new();
        all(&Arguments::command(), "", &mut commands);
        let with_examples: BTreeSet<String> = EXAMPLES.iter().map(|(words, _)| (*words).to_owned()).collect();
        assert_eq!(commands, with_examples, "left: what there is, right: what has examples");
        for (words, examples) in EXAMPLES {
            for (typed, _) in *examples {
                let own = typed.split(['|', '>']).next().unwrap().trim();
                assert!(
                    own.starts_with(format!("capstan {words}").trim()),
                    "{typed} is no example of {words}"
                );
                let parsed = parse(own.split(' '));
                assert!(parsed.is_ok(), "{typed}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn a_flag_is_shown_and_taken_where_it_works() {
        let help = |words: &[&str]| parse(words).unwrap_err().to_string();
        assert!(help(&["capstan", "plan", "--help"]).contains("--at <REV>"));
        for service in ["serve", "reconcile", "crds", "rules", "schema", "help"] {
            assert!(!help(&["capstan", service, "--help"]).contains("--at"), "{service}");
        }
        let refused = "error: `--at` is for commands on a checkout; `crds` reads none";
        assert!(help(&["capstan", "--at", "main", "crds"]).starts_with(refused));
        assert!(help(&["capstan", "crds", "--at", "main"]).starts_with(refused));
        assert!(help(&["capstan", "campaign", "simulate", "--help"]).contains("--releases <DIR>"));
        for words in
            [["capstan", "validate", "--help"].as_slice(), &["capstan", "providers", "render", "--help"]]
        {
            assert!(!help(words).contains("--releases"), "{words:?}");
        }
        let refused = "error: `--releases` is for `plan`, `upgrade`, `create`, `releases`, `clusters`, `adopt` and `campaign`; `validate` reads only one repository, which `--repo DIR` sets\n";
        assert!(help(&["capstan", "validate", "--releases", "r"]).starts_with(refused));
        assert!(help(&["capstan", "--releases", "r", "validate"]).starts_with(refused));
        assert!(help(&["capstan", "clusters", "-o", "diff"]).contains("[possible values: text, json, yaml]"));
    }

    #[test]
    fn shells_complete_what_is_of_use() {
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut shown(), "capstan", &mut script);
        let script = String::from_utf8(script).unwrap();
        assert!(!script.contains("planner-process"), "{script}");
        let options = |of: &str| {
            let after = script.split_once(&format!("        {of})\n")).unwrap().1;
            after.split_once("opts=\"").unwrap().1.split_once('"').unwrap().0.to_owned()
        };
        assert_eq!(options("capstan__subcmd__rules"), "-o -h --output --help");
        let of_validate = options("capstan__subcmd__validate");
        assert!(of_validate.contains("--at") && !of_validate.contains("--releases"), "{of_validate}");
        let names: Vec<String> = shown().get_subcommands().map(|below| below.get_name().to_owned()).collect();
        let known = |name: &&str| names.iter().any(|known| known == name);
        assert!(WITH_RELEASES.iter().chain(WITHOUT_A_CHECKOUT).all(known), "{names:?}");
    }

    #[test]
    fn hidden_commands_are_not_suggested() {
        let said = |word: &str| parse(["capstan", word]).unwrap_err().to_string();
        assert!(!said("planner-proces").contains("planner-process"), "{}", said("planner-proces"));
        assert!(said("validte").contains("a similar subcommand exists: 'validate'"), "{}", said("validte"));
    }
}
