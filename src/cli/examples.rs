//! Examples at the end of each command's help. A test parses each of them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use capstan_model::spelling::nearest;
use capstan_model::wording::list;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{
    Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _, Subcommand as _, value_parser,
};

use super::{Arguments, ServiceCommand, blank};

/// Commands by their words, each with its examples: what is typed, and what it does.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "",
        &[
            ("capstan init", "first contact: the settings that fit this repository"),
            ("capstan clusters", "each cluster with its current and its offered release"),
            ("capstan plan gauss/peu01", "what an upgrade of this cluster changes and replaces"),
            ("capstan help first-contact", "a page of the documentation"),
        ],
    ),
    (
        "providers",
        &[
            ("capstan providers fetch management/providers", "fetch components into the repository"),
            (
                "capstan providers render management/providers",
                "the objects, as the operator would apply them",
            ),
        ],
    ),
    (
        "inventory",
        &[
            ("capstan inventory list", "all definitions, and what is wrong with them"),
            ("capstan inventory explain web /network/cidr", "where a value comes from and what it overrides"),
        ],
    ),
    (
        "campaign",
        &[(
            "capstan campaign simulate --svg waves.svg",
            "the waves of .capstan.yaml, as text and as a picture",
        )],
    ),
    (
        "agents",
        &[
            ("capstan agents list", "the reconcilers, and when each was last seen"),
            (
                "capstan agents list --config /etc/capstan/bot.yaml",
                "on the database that the bot's settings name",
            ),
        ],
    ),
    (
        "database",
        &[
            ("capstan database check", "whether the database is healthy"),
            ("capstan database export - | gzip > backup.jsonl.gz", "a copy, while the bot runs"),
        ],
    ),
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
const WITHOUT_A_CHECKOUT: &[&str] = &["schema", "rules", "completions", "help", "inventory import"];

/// Commands that compare two commits, which flags of their own name.
const OF_TWO_COMMITS: [&str; 2] = ["diff", "inventory diff"];

/// Commands in which releases play a part, so that a checkout of theirs is of use.
const WITH_RELEASES: [&str; 7] = ["plan", "upgrade", "create", "releases", "clusters", "adopt", "campaign"];

/// The commands as they are parsed, with examples.
pub fn command() -> Command {
    let mut command = Arguments::command();
    for (words, examples) in EXAMPLES {
        command = with(command, &words.split_whitespace().collect::<Vec<_>>(), &in_words(examples));
    }
    let command = each_below(command, "", &|below, words| {
        let useless = OF_A_CHECKOUT.into_iter().filter(|flag| !is_of_use(flag, words));
        let below = useless.fold(below, without);
        // Their settings are judged together, wherever they come from.
        if ["serve", "reconcile"].contains(&words) { below } else { blank::refused(below) }
    });
    blank::refused(command)
}

/// What shells complete: flags where they are of use, and no hidden command.
pub(super) fn shown() -> Command {
    let all = Arguments::command();
    let of_a_checkout: Vec<Arg> = all.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let flags = |words: &str| {
        let useful = of_a_checkout.iter().filter(|arg| is_of_use(arg.get_id().as_str(), words));
        useful.cloned().map(|arg| arg.global(false)).collect::<Vec<_>>()
    };
    let commands = all.get_subcommands().filter(|below| !below.is_hide_set()).cloned();
    let shown = Command::new("capstan").disable_help_subcommand(true).subcommands(commands);
    each_below(shown, "", &|below, words| below.args(flags(words))).args(flags(""))
}

/// A command, with what becomes of each one below it, by its words.
fn each_below(command: Command, words: &str, become_of: &dyn Fn(Command, &str) -> Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let words = format!("{words} {name}").trim_start().to_owned();
        command.mut_subcommand(&name, |below| each_below(become_of(below, &words), &words, become_of))
    })
}

/// Whether a command, by its words, or one below it makes use of a flag.
fn is_of_use(flag: &str, words: &str) -> bool {
    let first = words.split(' ').next().unwrap_or_default();
    let is_service = SERVICES.iter().any(|service| service == first);
    let reads_a_checkout = !is_service && !WITHOUT_A_CHECKOUT.contains(&words);
    let has_its_own = || match flag {
        "at" => OF_TWO_COMMITS.contains(&words),
        "releases" => !first.is_empty() && !WITH_RELEASES.contains(&first),
        _ => false,
    };
    reads_a_checkout && !has_its_own()
}

/// The command with a flag that nobody sees: it is parsed, so that its refusal can say why.
fn without(command: Command, flag: &'static str) -> Command {
    let hidden = Arg::new(flag).long(flag).hide(true);
    command.arg(if flag == "at" { hidden } else { hidden.value_parser(value_parser!(PathBuf)) })
}

/// The services by name.
static SERVICES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let services = ServiceCommand::augment_subcommands(Command::new("capstan"));
    services.get_subcommands().map(|service| service.get_name().to_owned()).collect()
});

/// What was typed.
///
/// # Errors
/// It is not a command, in clap's words; hidden commands are never suggested.
pub fn parse(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Arguments, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(words).map_err(|error| in_own_words(&command, error))?;
    let arguments = Arguments::from_arg_matches(&matches)?;
    let given = [arguments.repo.is_some(), arguments.at.is_some(), arguments.releases.is_some()];
    let words = words_of(&matches);
    let useless = OF_A_CHECKOUT
        .into_iter()
        .zip(given)
        // An alias may give a checkout to all commands: help works without one.
        .find(|(flag, given)| *given && words != "help" && !is_of_use(flag, &words));
    let message = match useless {
        None => return Ok(arguments),
        Some(("releases", _)) if is_of_use("repo", &words) => format!(
            "`--releases` is for {}; `{words}` reads only one repository, which `--repo DIR` sets",
            list(&WITH_RELEASES.map(|command| format!("`{command}`")))
        ),
        Some(("at", _)) if OF_TWO_COMMITS.contains(&words.as_str()) => {
            format!(
                "`{words}` compares two commits: `--from` and `--to` name them, and `--at` does not apply"
            )
        }
        Some((flag, _)) => format!("`--{flag}` is for commands on a checkout; `{words}` reads none"),
    };
    Err(command.error(ErrorKind::ArgumentConflict, message))
}

/// The words of the command that was typed.
fn words_of(matches: &ArgMatches) -> String {
    let mut words = Vec::new();
    let mut at = matches.subcommand();
    while let Some((name, below)) = at {
        words.push(name);
        at = below.subcommand();
    }
    words.join(" ")
}

/// An error of clap's, without hidden commands, and with where the demo is.
fn in_own_words(command: &Command, error: clap::Error) -> clap::Error {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if word == "demo" => command.clone().error(
            ErrorKind::InvalidSubcommand,
            "the demo is a program of its own: `make demo` in a checkout of Capstan builds and starts it, or `capstan-demo` where it is built",
        ),
        Some(ContextValue::String(word)) if nearest(word, ["demo"]).is_some() => {
            let mut error = without_hidden(command, error);
            if error.get(ContextKind::SuggestedSubcommand).is_none() {
                error.insert(
                    ContextKind::SuggestedSubcommand,
                    ContextValue::Strings(vec!["demo".to_owned()]),
                );
            }
            error
        }
        _ => without_hidden(command, error),
    }
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

    /// Every command that people type, by its words, groups of commands and the program itself included.
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
            let asked: Vec<&str> = std::iter::once("capstan").chain(words.split_whitespace()).collect();
            let help = parse(asked.into_iter().chain(["--help"])).unwrap_err().to_string();
            assert!(help.contains(&in_words(examples)), "{words}: {help}");
            for (typed, _) in *examples {
                let own = typed.split(['|', '>']).next().unwrap().trim();
                let own_words = format!("capstan {words}");
                assert!(own.starts_with(own_words.trim()), "{typed} is no example of {words}");
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
        for words in [["capstan", "inventory", "import", "--help"].as_slice(), &["capstan", "crds", "--help"]]
        {
            assert!(!help(words).contains("--repo") && !help(words).contains("--at"), "{words:?}");
        }
        let refused = "error: `--at` is for commands on a checkout; `inventory import` reads none";
        assert!(help(&["capstan", "inventory", "import", "a.yaml", "--at", "HEAD"]).starts_with(refused));
        assert!(help(&["capstan", "--at", "HEAD", "inventory", "import", "a.yaml"]).starts_with(refused));
        let refused = "error: `--repo` is for commands on a checkout; `inventory import` reads none";
        assert!(help(&["capstan", "inventory", "--repo", "x", "import", "a.yaml"]).starts_with(refused));
        for words in [["diff", "web"].as_slice(), &["inventory", "diff"]] {
            let typed = [&["capstan"][..], words, &["--from", "main", "--at", "HEAD"]].concat();
            let name = words.iter().filter(|word| **word != "web").copied().collect::<Vec<_>>().join(" ");
            let refused = format!("error: `{name}` compares two commits: `--from` and `--to` name them");
            assert!(help(&typed).starts_with(&refused), "{}", help(&typed));
        }
        assert!(help(&["capstan", "clusters", "-o", "diff"]).contains("[possible values: text, json, yaml]"));
    }

    #[test]
    fn flags_that_would_have_no_effect_together_are_refused() {
        for typed in [
            "plan --path --overwrite",
            "plan --path --explain",
            "plan web --all",
            "upgrade web --inventory --explain",
            "upgrade web --inventory --to aws/v1.0.0",
            "inventory render web --all",
            "campaign simulate --resume-after 6h",
            "crds --hosts --providers",
        ] {
            let words = std::iter::once("capstan").chain(typed.split(' '));
            let refused = parse(words).unwrap_err();
            let kinds = [ErrorKind::ArgumentConflict, ErrorKind::MissingRequiredArgument];
            assert!(kinds.contains(&refused.kind()), "{typed}: {refused}");
        }
    }

    #[test]
    fn the_command_demo_names_the_program_of_the_demo() {
        for typed in [["capstan", "demo"].as_slice(), &["capstan", "demo", "--tour", "waves"]] {
            let said = parse(typed).unwrap_err().to_string();
            assert!(
                said.starts_with("error: the demo is a program of its own: `make demo` in a checkout"),
                "{said}"
            );
            assert!(said.contains("`capstan-demo`"), "{said}");
        }
        let said = parse(["capstan", "dem"]).unwrap_err().to_string();
        assert!(said.contains("'demo'"), "{said}");
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
        let of_import = options("capstan__subcmd__inventory__subcmd__import");
        assert!(!of_import.contains("--repo") && !of_import.contains("--at"), "{of_import}");
        assert!(options("capstan__subcmd__inventory__subcmd__list").contains("--at"));
        let names: Vec<String> = shown().get_subcommands().map(|below| below.get_name().to_owned()).collect();
        let known = |name: &&str| names.iter().any(|known| known == name);
        let alone = WITHOUT_A_CHECKOUT.iter().filter(|words| !words.contains(' '));
        assert!(WITH_RELEASES.iter().chain(alone).all(known), "{names:?}");
    }

    #[test]
    fn hidden_commands_are_not_suggested() {
        let said = |word: &str| parse(["capstan", word]).unwrap_err().to_string();
        assert!(!said("planner-proces").contains("planner-process"), "{}", said("planner-proces"));
        assert!(said("validte").contains("a similar subcommand exists: 'validate'"), "{}", said("validte"));
    }
}
