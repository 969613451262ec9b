//! The check of a pull request that edits one site of 40 clusters, from the push until GitHub has it: the built program on the
//! embedded forge, with the bases of all clusters in Git.

use std::time::Instant;

use capstan_forge::{Edit, Forge, NewPull, Recording};
use capstan_inventory::record::ValuesRecord;
use capstan_inventory::survey::{ClusterRecords, Survey};
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

use crate::bot::{Bot, REPOSITORY, forge, wait};

const SETTINGS: &str = "mode: observe\ndashboard: {enabled: false}\ninventory: {path: inventory, limits: {clusters: null, machines: null}}\n";
/// So many sites are edited while the program runs.
const WARM: usize = 5;

/// Measures, and prints it.
pub(crate) fn check(clusters: usize) {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<Edit> = made(clusters).into_iter().map(|(path, text)| Edit::write(path, text)).collect();
    let forge = forge(Recording::Lines, &files);
    let (number, head) = edit(&forge, 0);
    let begun = Instant::now();
    let _bot = Bot::start(&forge, folder.path(), "warn");
    let summary = checked(&forge, &head);
    println!(
        "check of one site's edit among {clusters} clusters, cold (a new process, no mirror): {:.2} s",
        begun.elapsed().as_secs_f64()
    );
    assert!(summary.contains("40 of "), "#{number}: {summary}");
    let mut warm: Vec<f64> = (1..=WARM)
        .map(|site| {
            let begun = Instant::now();
            let (_, head) = edit(&forge, site);
            checked(&forge, &head);
            begun.elapsed().as_secs_f64()
        })
        .collect();
    warm.sort_by(f64::total_cmp);
    println!(
        "the same while it runs, {WARM} sites one after the other: median {:.2} s, longest {:.2} s",
        warm[WARM / 2],
        warm[WARM - 1]
    );
}

/// A pull request that edits one site; its number and head.
fn edit(forge: &Forge, site: usize) -> (u64, String) {
    let path = format!("inventory/site/s{site:04}.yaml");
    let text = forge.file(REPOSITORY, "main", &path).unwrap().unwrap();
    let mtu = format!("mtu: {}", 1400 + site % 100);
    assert!(text.contains(&mtu), "{text}");
    let branch = format!("site-{site}");
    let edit = Edit::write(path, text.replace(&mtu, "mtu: 9000"));
    forge.commit(REPOSITORY, &branch, "ada", "Larger packets", &[edit]).unwrap();
    let new = NewPull {
        title: "Larger packets".to_owned(),
        head: branch.clone(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let number = forge.open_pull(REPOSITORY, "ada", new).unwrap();
    let head = forge.pulls(REPOSITORY).unwrap().into_iter().find(|pull| pull.number == number).unwrap().head;
    (number, head)
}

/// Waits for the check of a head, and gives its summary.
fn checked(forge: &Forge, head: &str) -> String {
    wait("the check", || {
        let runs = forge.checks(REPOSITORY, head).unwrap();
        let done = runs.into_iter().find(|check| check.name == "capstan" && check.conclusion.is_some());
        done.map(|check| check.summary)
    })
}

/// All files: inventory, release, and each cluster's folder as a merged proposal leaves it.
pub(crate) fn made(clusters: usize) -> Vec<(String, String)> {
    let mut files = super::files(clusters);
    let bytes = files.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes()));
    let tree = Files::from_bytes(bytes);
    let survey = Survey::read(&tree, &RepoPath::parse("inventory").unwrap(), ClusterRecords::default());
    for definition in survey.inventory.clusters() {
        let member = survey.member(&definition.level.name).unwrap().unwrap();
        let values = survey.values(&member);
        let folder = survey.folder(&member).unwrap();
        let record = ValuesRecord {
            definition: member.name().to_owned(),
            levels: member.levels.clone(),
            components: Vec::new(),
            values: values.value(),
        };
        files.push((format!("{folder}/capstan-values.yaml"), record.text()));
        files.push((format!("{folder}/capstan.yaml"), "release: openstack/v1.0.0\n".to_owned()));
        for file in survey.render(&member, &values).unwrap().files {
            files.push((format!("{folder}/base/{}", file.name), file.text));
        }
    }
    files[0].1 = SETTINGS.to_owned();
    files
}
