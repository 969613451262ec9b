//! A folder takes more memory to render than it may. Its neighbours are applied, and so is the folder once it is
//! repaired in Git. The reconciler runs all the while, and nobody touches its state folder. Then a day of such folders.

mod bombs;
mod day;

use super::{CUSTOMER, Parts, Town, reconciler, rows};

/// Small enough to be read, and hundreds of megabytes when it is.
fn overlay() -> [(String, String); 2] {
    let overlay = format!("{CUSTOMER}/bad/overlay");
    let values = "1,".repeat(1_900_000);
    [
        (
            format!("{overlay}/kustomization.yaml"),
            "resources: [../base]\npatches: [{path: large.yaml}]\n".to_owned(),
        ),
        (
            format!("{overlay}/large.yaml"),
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: bad-a}}\nlarge: [{values}]\n"),
        ),
    ]
}

#[tokio::test]
async fn a_poisoned_overlay_stops_nobody_else_and_its_revert_is_applied() {
    let Some(mut town) = Town::found(Parts::Kinds).await else { return };
    town.reconciler = reconciler::process_with(&town.plane, town.folder.path(), &["--render-memory-mib=128"]);
    let write = |files: &[(String, String)]| {
        files.iter().for_each(|(path, text)| town.repository.write(path, text));
    };
    write(&rows::plain(CUSTOMER, "good"));
    town.commit("A neighbour", &[]);
    town.until("the neighbour is applied", &[], |name, status| expect_status(name, status, "True Done"))
        .await;

    write(&rows::plain(CUSTOMER, "bad"));
    write(&overlay());
    write(&[(
        format!("{CUSTOMER}/bad/base/kustomization.yaml"),
        "resources: [cluster.yaml, maps.yaml]\n".to_owned(),
    )]);
    write(&rows::plain(CUSTOMER, "new"));
    town.commit("A poisoned overlay, and another neighbour", &[]);
    town.until("the neighbours are applied", &[], |name, status| {
        expect_status(name, status, if name == "gauss-bad" { "False TooLarge" } else { "True Done" })
    })
    .await;
    town.reconciler.is_well().unwrap();
    let bad = &town.statuses().await["gauss-bad"];
    let said = &bad.refused[0].message;
    let why = "Rendering was stopped: it needs more memory than the 12 MiB that one folder may use.";
    assert!(said.starts_with(why), "{said}");
    assert!(
        town.object(&serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "bad-a", "namespace": CUSTOMER}}))
            .await
            .is_none()
    );

    // The next process does not die of it either.
    town.reconciler.kill();
    town.reconciler.start();
    town.look_again().await;
    town.reconciler.is_well().unwrap();
    std::fs::remove_dir_all(town.repository.at("gauss/bad/overlay")).unwrap();
    town.commit("Revert", &[]);
    town.until("all are applied", &[], |name, status| expect_status(name, status, "True Done")).await;
    town.reconciler.is_well().unwrap();

    // As it is deployed.
    town.reconciler.kill();
    town.reconciler = reconciler::process(&town.plane, town.folder.path());
    town.reconciler.start();
    day::live_through(&town).await;
}

fn expect_status(
    name: &str,
    status: &capstan_reconciler::reconcile::resources::ManagedClusterStatus,
    expected: &str,
) -> Result<(), String> {
    let refused = status.refused.first().map(|reason| reason.reason.clone());
    let (ready, says) = rows::ready_and_reasons(status);
    let told = refused.map_or(ready, |reason| format!("False {reason}"));
    if told == expected { Ok(()) } else { Err(format!("{name}: {told}, {says:?}")) }
}
