//! A whole run with a secret out of Vault: a reference is proposed, asked for before the merge, merged, resolved, and refused
//! in all the ways there are; and its value is looked for everywhere but in the Secret.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use capstan_forge::Edit;
use serde_json::json;

use super::sample::Sample;
use super::setting::{self, Bot};
use super::town::{REPOSITORY, SHORT};
use super::waiting::{Look, holds, until};
use crate::running::secrets::vault::Beside;
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};

/// The value in Vault, which no other test uses.
const VALUE: &str = "WHAT-ONLY-VAULT-KNOWS-0f1e2d3c";

/// The value, and how it looks in base64, wherever in three bytes it begins; and how logins begin.
fn marks() -> Vec<String> {
    let shifted = (0..3).map(|before| {
        let encoded = STANDARD_NO_PAD.encode(format!("{}{VALUE}", "x".repeat(before)));
        // The first letters hold bits of what comes before, the last of what follows.
        let from = (before * 8).div_ceil(6);
        encoded[from..encoded.len() - 1].to_owned()
    });
    [VALUE.to_owned(), "hvs.".to_owned()].into_iter().chain(shifted).collect()
}

/// Fails where one of the marks is in these bytes.
#[track_caller]
fn search(place: &str, bytes: &[u8]) {
    for mark in marks() {
        let found = memchr::memmem::find(bytes, mark.as_bytes());
        let around = found
            .map(|at| String::from_utf8_lossy(&bytes[at.saturating_sub(200)..bytes.len().min(at + 200)]));
        assert!(found.is_none(), "{place} shows `{mark}`: {around:?}");
    }
}

/// Searches every file below a folder and returns how many there are. It sees Git's objects only in their packed form.
fn search_folder(folder: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files += search_folder(&path);
        } else if path.is_file() {
            search(&path.display().to_string(), &std::fs::read(&path).unwrap());
            files += 1;
        }
    }
    files
}

fn reference(path: &str, version: Option<u32>) -> String {
    let version = version.map_or_else(String::new, |version| format!(", version: {version}"));
    format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: VaultSecret\nmetadata: {{name: cloud, namespace: gauss-web}}\nspec:\n  store: eu\n  refreshSeconds: 10\n  data: {{clouds.yaml: {{mount: kv, path: {path}, key: clouds{version}}}}}\n"
    )
}

#[test]
fn no_value_of_vaults_is_shown_in_a_whole_run() {
    let Some(plane) = Plane::start(Parts::Kinds) else { return };
    reconciler::install(&plane);
    let beside = Beside::start(&plane);
    beside.vault.role("capstan-gauss-web");
    for number in 1..=2 {
        beside.vault.put("kv/gauss-web/fra1", json!({"clouds": format!("{VALUE}-{number}")}));
    }
    let sample = Sample::new("web");
    setting::prepare_namespace(&plane, &sample);
    plane.apply(&format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: VaultStore\nmetadata: {{name: eu, namespace: {HOME}}}\nspec:\n  url: {}\n  auth: {{jwt: {{role: 'capstan-{{namespace}}', audience: vault}}}}\n  namespaces: [gauss-*]\n",
        beside.vault.url
    ));
    let forge = setting::forge();
    let folder = tempfile::tempdir().unwrap();
    let bot = Bot::new(&forge, folder.path());
    let process = reconciler::process(&plane, folder.path());
    let uid = plane.uid();
    let mut edits = vec![Edit::write(".capstan.yaml", setting::settings(&uid))];
    edits.extend(sample.folder());
    edits.extend(sample.release("v1.0.0"));
    edits.push(Edit::write("gauss/web/base/secret.yaml", reference("gauss-web/fra1", Some(1))));
    forge.commit(REPOSITORY, "main", "ada", "The fleet", &edits).unwrap();
    bot.process.start();
    until("the bot answers", SHORT, || bot.answers());
    let code = bot.invite(&uid);
    plane.apply(&setting::fleet(&bot.url, &code));
    process.start();
    let run = Run { plane: &plane, forge: &forge, bot: &bot, process: &process };

    until("the Secret is there", SHORT, || run.secret_is(1));
    // A reference to nothing is refused before the merge, one to the next version is taken.
    let missing = run.propose("A reference to nothing", &reference("gauss-web/nowhere", None));
    let check = run.check(missing, "failure");
    assert!(check.contains("there is no such secret or version"), "{check}");
    let others = run.propose("Another customer's", &reference("gauss-else/fra1", None));
    assert!(run.check(others, "failure").contains("refuses (403)"));
    let next = run.propose("The next version", &reference("gauss-web/fra1", Some(2)));
    run.check(next, "success");
    forge.merge_pull(REPOSITORY, next, "ada", capstan_forge::MergeMethod::Merge).unwrap();
    until("the next version is there", SHORT, || run.secret_is(2));

    // Whatever Vault answers, with values in it.
    for (status, body, reason) in [
        (200, format!("{{\"data\": \"{VALUE}\""), "BadData"),
        (500, format!("{{\"errors\": [\"{VALUE}\"]}}"), "Away"),
        (403, format!("{{\"errors\": [\"{VALUE}\"]}}"), "Denied"),
        (503, format!("{{\"errors\": [\"Vault is sealed: {VALUE}\"]}}"), "Sealed"),
    ] {
        beside.vault.state().answers = Some((status, body));
        until(&format!("a {status} is told"), SHORT, || {
            let told = run.resolved();
            holds(told == reason, || format!("it is {told}"))
        });
    }
    beside.vault.state().answers = None;
    until("all is well again", SHORT, || holds(run.resolved() == "Resolved", || run.resolved()));
    run.secret_is(2).unwrap();
    run.search(folder.path());
}

struct Run<'a> {
    plane: &'a Plane,
    forge: &'a capstan_forge::Forge,
    bot: &'a Bot,
    process: &'a Process,
}

impl Run<'_> {
    fn well(&self) -> Look<()> {
        for process in [&self.bot.process, self.process] {
            if let Err(why) = process.is_well() {
                panic!("{why}\n{}", tail(&process.log(), 30));
            }
        }
        Ok(())
    }

    /// Whether the Secret holds that version.
    fn secret_is(&self, version: u32) -> Look<()> {
        self.well()?;
        let path = "jsonpath={.data.clouds\\.yaml}";
        let held = self.plane.try_kubectl(&["get", "secret", "cloud", "-n", "gauss-web", "-o", path], "")?;
        let expected = base64::engine::general_purpose::STANDARD.encode(format!("{VALUE}-{version}"));
        holds(held == expected, || format!("it is {}; {}", self.resolved(), tail(&self.process.log(), 5)))
    }

    /// The reason of its condition.
    fn resolved(&self) -> String {
        let path = "jsonpath={.status.conditions[0].reason}";
        self.plane
            .try_kubectl(&["get", "vaultsecret", "cloud", "-n", "gauss-web", "-o", path], "")
            .unwrap_or_default()
    }

    fn propose(&self, title: &str, reference: &str) -> u64 {
        let branch = title.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "-");
        let edit = Edit::write("gauss/web/base/secret.yaml", reference);
        self.forge.commit(REPOSITORY, &branch, "ada", title, &[edit]).unwrap();
        let new = capstan_forge::NewPull {
            title: title.to_owned(),
            head: branch,
            base: "main".to_owned(),
            ..capstan_forge::NewPull::default()
        };
        self.forge.open_pull(REPOSITORY, "ada", new).unwrap()
    }

    /// What the check says once it has concluded so.
    fn check(&self, number: u64, conclusion: &str) -> String {
        until(&format!("the check of #{number}: {conclusion}"), SHORT, || {
            self.well()?;
            let head = self.forge.pull(REPOSITORY, number).unwrap().head;
            let checks = self.forge.checks(REPOSITORY, &head).map_err(|error| error.to_string())?;
            let check =
                checks.into_iter().filter(|check| check.name == "capstan").max_by_key(|check| check.id);
            let check = check.ok_or_else(|| "there is none".to_owned())?;
            let said = format!("{}\n{}\n{}", check.title, check.summary, check.text);
            holds(check.conclusion.as_deref() == Some(conclusion), || said.clone())?;
            Ok(said)
        })
    }

    /// Everything that anybody may see.
    fn search(&self, folder: &Path) {
        // What the bot asked of GitHub, all of it: pull requests, checks, comments, trees, commits; and what GitHub keeps.
        let exchanges = self.forge.exchanges();
        assert!(exchanges.iter().any(|one| one.path.contains("/check-runs")), "bodies are kept");
        for one in &exchanges {
            let said = format!("{} {}?{} {} {}", one.method, one.path, one.query, one.request, one.response);
            search(&format!("{} {}", one.method, one.path), said.as_bytes());
        }
        for pull in self.forge.pulls(REPOSITORY).unwrap() {
            let comments = self.forge.comments(REPOSITORY, pull.number).unwrap();
            let comments = comments.into_iter().map(|comment| comment.body).collect::<Vec<_>>().join("\n");
            search("a pull request", format!("{}\n{}\n{comments}", pull.title, pull.body).as_bytes());
        }
        // Pages and metrics.
        let log = self.bot.process.log();
        let inside = log.split("internal=").nth(1).unwrap().split_whitespace().next().unwrap();
        let own = self.process.log();
        let probes = own.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
        let pages =
            ["/", "/clusters/acme/fleet/gauss/web", "/queue", "/deliveries", "/audit", "/reconcilers"];
        let urls = pages.iter().chain(&["/metrics"]).map(|path| format!("http://{inside}{path}"));
        for url in urls.chain([format!("http://{probes}/metrics")]) {
            let page = read(&url);
            assert!(page.len() > 200, "{url}: {page}");
            search(&url, page.as_bytes());
        }
        // The objects of the management cluster, without Secrets.
        let kinds =
            "fleets,managedclusters,vaultstores,vaultsecrets,events.events.k8s.io,clusters,configmaps";
        let objects = self.plane.kubectl(&["get", kinds, "-A", "-o", "yaml", "--show-managed-fields"]);
        assert!(objects.contains("gauss-web/fra1") && objects.contains("reason: Sealed"), "{objects}");
        search("an object", objects.as_bytes());
        // Logs, the database, Git's mirror and the folders of both.
        search("the log of capstan serve", log.as_bytes());
        search("the log of capstan reconcile", own.as_bytes());
        self.bot.process.kill();
        self.process.kill();
        assert!(folder.join("bot.sqlite").is_file());
        assert!(search_folder(folder) > 5);
    }
}

fn read(url: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        client.get(url).send().await.unwrap().text().await.unwrap()
    })
}
