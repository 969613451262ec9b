//! Every block of code is read by what would read it.
//!
//! | info string | is |
//! |---|---|
//! | `yaml .capstan.yaml`, `yaml capstan.yaml`, `yaml overlay/capstan.yaml`, `yaml release/capstan.yaml` | a file of settings |
//! | `yaml Fleet`, `yaml VaultStore`, `yaml VaultSecret`, `yaml TemplateNames` | an object of Capstan's own |
//! | `yaml inventory` | objects of an inventory |
//! | `yaml campaigns` | a file of campaigns |
//! | `yaml serve` | the bot's file of settings |
//! | `yaml provider-credentials.yaml` | what the bot shows hosts of components |
//! | `yaml wave-webhooks.yaml` | hosts whose webhooks waves of campaigns may ask |
//! | `json webhook question` | what webhooks of campaigns are asked |
//! | `yaml issue form` | the form that asks for a new cluster |
//! | `yaml` | anything else, and none of these by its looks |
//! | `sh` | commands ([`super::commands`]) |
//! | `console` in the README, a tutorial or the examples; `text` in the README | commands that are run ([`super::tour`]) |
//! | `yaml file:PATH` in a tutorial | a file that commands of the tutorial read |
//! | `yaml` in `docs/rules` | the example of a rule, which the catalogue's own test runs |

use capstan::config::{ProviderCredentials, WaveWebhookHost};
use capstan_inventory::kinds::{InventoryFiles, SourceText};
use capstan_k8s::crd::{Fleet, VaultSecret, VaultStore};
use capstan_model::tree::RepoPath;
use capstan_plan::command::CREATE_FORM;
use capstan_plan::settings::{
    ClusterSettings, OverlaySettings, ReleaseSettings, RepositorySettings, RuleIds, read_campaigns,
};
use capstan_plan::templates::TemplateNames;
use capstan_ports::WebhookQuestion;
use capstan_yaml::YamlFile;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{commands, pages, settings};
use capstan_test_parts::page::Block;
use capstan_test_parts::walk;

#[test]
fn every_block_is_read_by_what_would_read_it() {
    let mut troubles = Vec::new();
    let mut read = 0;
    for page in pages() {
        for block in &page.blocks {
            read += 1;
            if let Err(trouble) = check(&page.path, block) {
                troubles.push(format!("{}: {trouble}", block.place));
            }
        }
    }
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
    assert!(read > 200, "{read} blocks: where are the others?");
}

fn check(page: &str, block: &Block) -> Result<(), String> {
    let text = block.text.as_str();
    let file = RepoPath::parse("capstan.yaml").unwrap();
    let words = |error: &dyn std::fmt::Display| error.to_string();
    match block.info.as_str() {
        "yaml" if page.starts_with("docs/rules/") => match block.heading.split('-').next() {
            Some("bad" | "good") => Ok(()),
            _ => Err("the catalogue's test runs what stands below Bad and Good alone".to_owned()),
        },
        "yaml .capstan.yaml" => {
            RepositorySettings::read(&file, text, &RuleIds::of_catalogue()).map(drop).map_err(|e| words(&e))
        }
        "yaml capstan.yaml" => ClusterSettings::read(&file, text).map(drop).map_err(|e| words(&e)),
        "yaml overlay/capstan.yaml" => OverlaySettings::read(&file, text).map(drop).map_err(|e| words(&e)),
        "yaml release/capstan.yaml" => ReleaseSettings::read(&file, text).map(drop).map_err(|e| words(&e)),
        "yaml TemplateNames" => TemplateNames::read(text).map(drop).map_err(|e| words(&e)),
        "yaml Fleet" => own::<Fleet>(text),
        "yaml VaultStore" => own::<VaultStore>(text),
        "yaml VaultSecret" => own::<VaultSecret>(text),
        "yaml inventory" => inventory(text),
        "yaml campaigns" => read_campaigns(text).map(drop).map_err(|e| words(&e)),
        "yaml serve" => {
            let known = capstan_test_parts::flags::of_service("serve");
            let given: Value = serde_saphyr::from_str(text).map_err(|e| words(&e))?;
            let unknown = given.as_object().unwrap().keys().find(|key| !known.contains_key(*key));
            unknown.map_or(Ok(()), |key| Err(format!("the bot has no setting `{key}`")))
        }
        "yaml provider-credentials.yaml" => ProviderCredentials::read(text).map(drop),
        "yaml wave-webhooks.yaml" => WaveWebhookHost::read(text).map(drop),
        "json webhook question" => webhook_question(text),
        "yaml issue form" => issue_form(text),
        "yaml" => plain(text),
        "sh" => commands::check(text),
        "console" | "text" if page == "README.md" => Ok(()),
        "console" if walk::is_walk(page) => Ok(()),
        _ if walk::is_walk(page) && walk::written_file(block).is_some() => Ok(()),
        other => Err(format!("no test looks at a block `{other}`")),
    }
}

/// Nothing is wrong with any of its objects.
fn inventory(text: &str) -> Result<(), String> {
    let path = RepoPath::parse("inventory/all.yaml").unwrap();
    let read = InventoryFiles::read(&[SourceText { path, bytes: Ok(text.as_bytes().into()) }]);
    read.findings.first().map_or(Ok(()), |finding| Err(finding.message.clone()))
}

/// A question with the id and the time of a call, and nothing else.
fn webhook_question(text: &str) -> Result<(), String> {
    let written: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let question: WebhookQuestion =
        serde_json::from_value(written.clone()).map_err(|error| error.to_string())?;
    let mut read = serde_json::to_value(question).unwrap();
    for of_call in ["delivery", "sent_at"] {
        read[of_call] = written.get(of_call).cloned().ok_or(format!("it lacks {of_call}"))?;
    }
    first_lost(&written, &read, "").map_or(Ok(()), |lost| Err(format!("a question has no {lost}")))
}

/// It begins with a field of the first label that is looked for, and has all of them.
fn issue_form(text: &str) -> Result<(), String> {
    let form: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let fields = form["body"].as_array().ok_or("it has no body")?;
    let labels: Vec<&str> = fields.iter().filter_map(|field| field["attributes"]["label"].as_str()).collect();
    (labels == CREATE_FORM).then_some(()).ok_or_else(|| format!("its labels are {labels:?}"))
}

/// As the type has it, and nothing in it that the type does not have.
fn own<T: DeserializeOwned + Serialize>(text: &str) -> Result<(), String> {
    let written: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let object: T = serde_json::from_value(written.clone()).map_err(|error| error.to_string())?;
    let read = serde_json::to_value(object).unwrap();
    let kind = written["kind"].as_str().unwrap_or_default();
    first_lost(&written, &read, "").map_or(Ok(()), |lost| Err(format!("a {kind} has no {lost}")))
}

fn first_lost(written: &Value, read: &Value, path: &str) -> Option<String> {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => written.iter().find_map(|(key, value)| {
            let path = format!("{path}.{key}");
            read.get(key).map_or_else(|| Some(path.clone()), |read| first_lost(value, read, &path))
        }),
        _ => (written != read).then(|| path.to_owned()),
    }
}

/// Any YAML; what one of Capstan's own readers reads says so in its info string.
fn plain(text: &str) -> Result<(), String> {
    YamlFile::read_bytes(text.as_bytes()).map_err(|error| error.to_string())?;
    let own_keys = settings::top_level_keys();
    let top = || text.lines().filter_map(|line| line.split_once(':')).map(|(key, _)| key);
    let is_object = top().any(|key| key == "apiVersion");
    if text.contains("capstan.dev/") || !is_object && top().any(|key| own_keys.contains(key)) {
        return Err("this is Capstan's own: say in the info string what reads it".to_owned());
    }
    Ok(())
}

#[test]
fn wrong_blocks_are_seen() {
    let block =
        |info: &str, text: &str| Block { info: info.to_owned(), text: text.to_owned(), ..Block::default() };
    let of = |info: &str, text: &str| check("docs/flux.md", &block(info, text));
    let fleet = "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {name: a}\nspec: {managementCluster: mc, source: {git: {url: \"https://git.example.com/a.git\", branch: main}}}\n";
    assert_eq!(of("yaml Fleet", fleet), Ok(()));
    assert_eq!(
        of("yaml Fleet", &fleet.replace("source", "suspended: true, source")),
        Err("a Fleet has no .spec.suspended".to_owned())
    );
    for (info, text) in [
        ("yaml .capstan.yaml", "mod: observe\n"),
        ("yaml capstan.yaml", "hold: {reason: audit}\n"),
        ("yaml overlay/capstan.yaml", "release: aws/v1.0.0\n"),
        ("yaml release/capstan.yaml", "track: patch\n"),
        ("yaml serve", "listens: 0.0.0.0:8080\n"),
        ("yaml", "mode: observe\n"),
        ("yaml", fleet),
        ("yaml", "a: [\n"),
        ("sh", "capstan plan --form HEAD\n"),
        ("sh", "make coffee\n"),
        ("", "mode: observe\n"),
        ("console", "$ capstan plan\n"),
    ] {
        assert!(of(info, text).is_err(), "{info}: {text}");
    }
}
