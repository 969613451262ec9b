//! What overlays and bases try, an attempt a row: refused by name, nothing of the folder applied, what it reached for as it
//! was. Behind Capstan's boundary stand the rights of the service account that is impersonated: each row says
//! whether they would have stopped it too.

#![expect(clippy::print_stdout, reason = "tests say aloud what they skip")]

mod references;
mod table;

use std::collections::BTreeMap;

use capstan_ports::{As, Contested, ManagementCluster as _, Run, ServiceAccount};
use jiff::Timestamp;
use serde_json::{Value, json};

use self::references::{OF_BASES, REFERENCES};
use self::table::Wall::{None as Nowhere, Rights};
use self::table::{
    ATTEMPTS, Attempt, BASES, BY_HAND, FLUX_KINDS, FLUX_RIGHTS, INTRUDER, KINDS, Kind, NEIGHBOURS, SERVICE,
    WAITING,
};
use super::{CUSTOMER, OTHER_CUSTOMER, Statuses, Town, document, rows};
use capstan_test_parts::plane::tools;

impl Attempt {
    fn fill(&self, text: &str) -> String {
        text.replace("NAME", self.name)
    }

    /// What it tries to bring, where it would lie.
    fn aim(&self) -> Value {
        let mut object = document(&self.fill(self.overlay));
        let has_none = ["Namespace", "AWSClusterStaticIdentity"].iter().any(|kind| object["kind"] == *kind)
            || self.says.iter().any(|(_, says)| says.contains("the whole management cluster"));
        if !has_none && object["metadata"].get("namespace").is_none() {
            object["metadata"]["namespace"] = json!(CUSTOMER);
        }
        object
    }

    /// The file in its folder.
    fn file(&self) -> &'static str {
        if OF_BASES.iter().any(|of_base| of_base.name == self.name) {
            "base/a.yaml"
        } else {
            "overlay/a.yaml"
        }
    }

    fn expected(&self) -> (String, Vec<String>) {
        let file = self.file();
        let place = |line: &u32| format!("{CUSTOMER}/{}/{file}:{line}", self.name);
        let say = |(line, says): &(u32, &str)| {
            let reason = if says.contains("belongs to one folder") {
                "OwnedByAnotherFolder"
            } else {
                "OutsideBoundary"
            };
            format!("{reason} {}: {}", place(line), self.fill(says))
        };
        ("False Refused".to_owned(), self.says.iter().map(say).collect())
    }
}

/// All of them.
fn attempts() -> impl Iterator<Item = &'static Attempt> {
    ATTEMPTS.iter().chain(REFERENCES).chain(OF_BASES)
}

/// The folders as they are at first, and two neighbours.
pub(super) fn settle(town: &Town) {
    let flux = tools().map(|tools| tools.join("flux.crds.yaml")).filter(|file| file.is_file());
    let made = match &flux {
        Some(definitions) => {
            town.plane.apply(&std::fs::read_to_string(definitions).unwrap());
            &[][..]
        }
        None => {
            println!(
                "SKIPPED: Flux's definitions are not at hand (`make components` fetches them where Go is): what overlays try with them is tried with definitions that take anything"
            );
            FLUX_KINDS
        }
    };
    let definition = |(group, version, kind, plural, scope): &Kind| {
        let schema =
            json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}"),
                "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
            "spec": {"group": group, "scope": scope,
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{"name": version, "served": true, "storage": true, "schema": schema}]}})
    };
    let definitions: Vec<Value> = KINDS.iter().chain(made).map(definition).collect();
    town.plane.apply(&json!({"apiVersion": "v1", "kind": "List", "items": definitions}).to_string());
    let kinds = KINDS.iter().chain(FLUX_KINDS);
    let served: Vec<String> = kinds.map(|(group, _, _, plural, _)| format!("crd/{plural}.{group}")).collect();
    let served: Vec<&str> = served.iter().map(String::as_str).collect();
    town.plane.kubectl(&[&["wait", "--for=condition=Established", "--timeout=60s"], &served[..]].concat());
    let names = attempts().map(|attempt| attempt.name).chain(["neighbour", "second-wall", "waiting"]);
    let folders = names.map(|name| (CUSTOMER, name)).chain([(OTHER_CUSTOMER, "victim")]);
    for (customer, name) in folders {
        let files = rows::plain(customer, name);
        town.write(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    }
    let [(path, cluster), _] = rows::plain(CUSTOMER, "neighbour");
    let labelled = cluster.replace("namespace: gauss}", "namespace: gauss, labels: {team: neighbour}}");
    town.write([
        (path.as_str(), labelled.as_str()),
        ("gauss/neighbour/base/more.yaml", NEIGHBOURS),
        ("gauss/waiting/base/plane.yaml", WAITING),
    ]);
    town.plane.apply(FLUX_RIGHTS);
    town.plane.apply(BY_HAND);
    for (name, base) in BASES {
        town.write([(
            format!("{CUSTOMER}/{name}/base/flux.yaml").as_str(),
            base.replace("NAME", name).as_str(),
        )]);
    }
}

/// The present version of each object that an attempt aims at or that its folder has.
pub(super) async fn aims(town: &Town) -> BTreeMap<String, Option<Value>> {
    let mut aims = BTreeMap::new();
    for attempt in attempts() {
        let mut objects = vec![attempt.aim()];
        for (_, file) in rows::plain(CUSTOMER, attempt.name) {
            for document in capstan_yaml::YamlFile::read(&file).unwrap().documents() {
                let mut object = document.root.value().clone();
                object["metadata"]["namespace"] = json!(CUSTOMER);
                objects.push(object);
            }
        }
        for object in objects {
            // Capstan itself writes the status of its own.
            let field = if object["kind"] == "ManagedCluster" { "generation" } else { "resourceVersion" };
            let version = town.object(&object).await.map(|live| live["metadata"][field].clone());
            let name = format!("{}: {} {}", attempt.name, object["kind"], object["metadata"]);
            aims.insert(name, version);
        }
    }
    aims
}

/// The attempts, beside a harmless change in each folder and in those of the neighbours.
pub(super) fn make(town: &Town) {
    let change = |customer: &str, name: &str| {
        let path = format!("{customer}/{name}/base/maps.yaml");
        let (_, text) = &rows::plain(customer, name)[1];
        town.repository.write(&path, &text.replace("\"1\"", "\"2\""));
    };
    for attempt in attempts() {
        let path = format!("{CUSTOMER}/{}/{}", attempt.name, attempt.file());
        town.repository.write(&path, &attempt.fill(attempt.overlay));
        change(CUSTOMER, attempt.name);
    }
    change(CUSTOMER, "neighbour");
    change(OTHER_CUSTOMER, "victim");
    change(CUSTOMER, "second-wall");
    town.repository.write(&format!("{CUSTOMER}/second-wall/overlay/a.yaml"), SERVICE);
    town.repository.write(&format!("{CUSTOMER}/intruder/base/cluster.yaml"), INTRUDER);
}

/// The attempts that are not refused by name, and the neighbours that are not applied.
pub(super) fn wrong(statuses: &Statuses) -> Vec<String> {
    let forbidden = |file: &str, what: &str, account: &str, verb: &str, place: &str| {
        let said = format!(
            "Forbidden gauss/{file}:1: {what} is forbidden: User \"system:serviceaccount:{account}:capstan-applier\" cannot {verb} {place} in the namespace \"{account}\""
        );
        ("False Forbidden".to_owned(), vec![said])
    };
    let mut expected: BTreeMap<String, (String, Vec<String>)> =
        attempts().map(|attempt| (format!("{CUSTOMER}-{}", attempt.name), attempt.expected())).collect();
    expected.insert(
        "gauss-second-wall".to_owned(),
        forbidden(
            "second-wall/overlay/a.yaml",
            "services \"second-wall\"",
            CUSTOMER,
            "get",
            "resource \"services\" in API group \"\"",
        ),
    );
    expected.insert(
        "gauss-intruder".to_owned(),
        forbidden(
            "intruder/base/cluster.yaml",
            "clusters.cluster.x-k8s.io \"intruder\"",
            "kube-system",
            "get",
            "resource \"clusters\" in API group \"cluster.x-k8s.io\"",
        ),
    );
    for name in ["gauss-neighbour", "newton-victim"] {
        expected.insert(name.to_owned(), ("True Done".to_owned(), Vec::new()));
    }
    let look = |(name, expected): (&String, &(String, Vec<String>))| {
        let told = statuses.get(name).map(rows::ready_and_reasons);
        (told.as_ref() != Some(expected)).then(|| format!("{name}:\n    is {told:?}\n    not {expected:?}"))
    };
    expected.iter().filter_map(look).collect()
}

/// Nothing that was reached for has moved, nothing of those folders was asked for, and the neighbours have what Git
/// says. Then the attempts themselves, sent with the rights of the service account.
pub(super) async fn judge(town: &Town, before: &BTreeMap<String, Option<Value>>, since: Timestamp) {
    for (customer, name) in [
        (CUSTOMER, "neighbour-a"),
        (CUSTOMER, "neighbour-b"),
        (OTHER_CUSTOMER, "victim-a"),
        (OTHER_CUSTOMER, "victim-b"),
    ] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": customer}});
        assert_eq!(town.object(&map).await.unwrap()["data"], json!({"key": "2"}), "{name}");
    }
    let after = aims(town).await;
    // What the neighbours changed themselves aside.
    let moved: Vec<&String> = before
        .iter()
        .filter(|(name, version)| after[*name] != **version)
        .map(|(name, _)| name)
        .filter(|name| !name.contains("victim-a") && !name.contains("neighbour-a"))
        .collect();
    assert_eq!(moved, [""; 0]);
    let folders: Vec<&str> = attempts().map(|attempt| attempt.name).collect();
    let asked: Vec<String> = town
        .asked(since)
        .iter()
        .filter(|request| request.verb != "get")
        .filter(|request| folders.iter().any(|name| request.name.starts_with(name)))
        .map(|request| request.words())
        .collect();
    assert_eq!(asked, [""; 0], "asked of the API server for folders that are refused");

    let account = ServiceAccount { namespace: CUSTOMER.to_owned(), name: "capstan-applier".to_owned() };
    let by = As::Impersonated(account);
    let mut wrong = Vec::new();
    for attempt in attempts() {
        let aim = attempt.aim();
        match attempt.wall {
            Rights(words) => {
                let answer = town.live.apply(&by, &aim, Run::Real, Contested::Take).await;
                let said = answer.err().map(|error| error.to_string()).unwrap_or_default();
                if !said.contains(&attempt.fill(words)) {
                    wrong.push(format!("{}: {said}", attempt.name));
                }
            }
            Nowhere => {
                let answer = town.live.apply(&by, &aim, Run::Dry, Contested::Take).await;
                wrong.extend(answer.err().map(|error| format!("{}: {error}", attempt.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "with the rights of the service account:\n{}", wrong.join("\n"));
}
