//! A folder of which the reconciler dies, again and again: its neighbours are applied, and so is the folder once it
//! was repaired in Git. Nobody touches the state folder.

use serde_json::Value;

use super::{CUSTOMER, PATIENCE, Parts, Town, rows, tail};

/// Takes some seconds to render: long enough to die in, short enough for its deadline.
fn overlay() -> [(String, String); 3] {
    let overlay = format!("{CUSTOMER}/bad/overlay");
    let map = |number: usize| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: bad-{number}}}\ndata: {{key: \"1\"}}\n"
        )
    };
    let operation = r#"[{"op": "add", "path": "/data/key", "value": "2"}]"#;
    let patch = format!("- {{target: {{kind: ConfigMap, name: \"bad-[0-9]+\"}}, patch: '{operation}'}}\n");
    [
        (format!("{overlay}/maps.yaml"), (0..600).map(map).collect()),
        (
            format!("{overlay}/kustomization.yaml"),
            format!("resources: [../base, maps.yaml]\npatches:\n{}", patch.repeat(60)),
        ),
        (
            format!("{CUSTOMER}/bad/base/kustomization.yaml"),
            "resources: [cluster.yaml, maps.yaml]\n".to_owned(),
        ),
    ]
}

#[tokio::test]
async fn a_poisoned_overlay_stops_nobody_else_and_its_revert_is_applied() {
    let Some(town) = Town::found(Parts::Kinds).await else { return };
    let write = |files: &[(String, String)]| {
        files.iter().for_each(|(path, text)| town.repository.write(path, text));
    };
    write(&rows::plain(CUSTOMER, "good"));
    town.commit("A neighbour", &[]);
    town.until("the neighbour is applied", &[], |name, status| is_told(name, status, "True Done")).await;

    write(&rows::plain(CUSTOMER, "bad"));
    write(&overlay());
    write(&rows::plain(CUSTOMER, "new"));
    town.commit("A poisoned overlay, and another neighbour", &[]);
    die_in_it(&town).await;
    town.reconciler.start();
    town.until("the neighbours are applied", &[], |name, status| {
        is_told(name, status, if name == "gauss-bad" { "False PassedOver" } else { "True Done" })
    })
    .await;

    // It is tried once more when all else is done; that is its last time.
    die_in_it(&town).await;
    town.reconciler.start();
    town.until("it is told for good", &["good", "new"], |name, status| {
        let message = &status.refused.first().map(|reason| reason.message.clone()).unwrap_or_default();
        if message.starts_with("the reconciler ended twice") {
            Ok(())
        } else {
            Err(format!("{name}: {message}"))
        }
    })
    .await;
    town.look_again().await;
    town.reconciler.is_well().unwrap();
    assert_eq!(in_hand(&town), [""; 0], "it is never begun again");
    assert!(
        town.object(&serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "bad-a", "namespace": CUSTOMER}}))
            .await
            .is_none()
    );

    std::fs::remove_dir_all(town.repository.at("gauss/bad/overlay")).unwrap();
    town.commit("Revert", &[]);
    town.until("all are applied", &[], |name, status| is_told(name, status, "True Done")).await;
}

fn is_told(
    name: &str,
    status: &capstan::app::reconcile::resources::ManagedClusterStatus,
    expected: &str,
) -> Result<(), String> {
    let refused = status.refused.first().map(|reason| reason.reason.clone());
    let (ready, says) = rows::told(status);
    let told = refused.map_or(ready, |reason| format!("False {reason}"));
    if told == expected { Ok(()) } else { Err(format!("{name}: {told}, {says:?}")) }
}

/// Kills the reconciler while it renders the poisoned folder.
async fn die_in_it(town: &Town) {
    let begun = std::time::Instant::now();
    while !in_hand(town).contains(&"gauss/bad".to_owned()) {
        town.reconciler.is_well().unwrap();
        assert!(begun.elapsed() < PATIENCE, "it is never begun:\n{}", tail(&town.reconciler.log(), 30));
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    town.reconciler.kill();
    assert!(in_hand(town).contains(&"gauss/bad".to_owned()), "it was done before the process was killed");
}

/// What the reconciler noted to have in hand.
fn in_hand(town: &Town) -> Vec<String> {
    let path = town.folder.path().join("reconciler/reconciler/quarantine.json");
    let Ok(note) = std::fs::read(path) else { return Vec::new() };
    let note: Value = serde_json::from_slice(&note).unwrap();
    let begun = note["begun"].as_array().unwrap().iter();
    begun.map(|begun| begun["name"].as_str().unwrap().to_owned()).collect()
}
