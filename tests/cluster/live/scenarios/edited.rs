//! A person gives the workers other machines; later the bot is away for a while.

use capstan_forge::Edit;

use super::super::sample::Sample;
use super::super::town::{LONG, SHORT, Town};
use super::super::waiting::{holds, until};

pub(super) fn play(town: &Town<'_>, cluster: &Sample) {
    town.wait_until_done_at_first(cluster);
    let slower = edited(town, cluster);
    bot_away(town, &slower);
}

/// The template is immutable and keeps its name in Git: a new one takes its place.
fn edited(town: &Town<'_>, cluster: &Sample) -> Sample {
    let slower = Sample { worker_startup: "1500ms".to_owned(), ..cluster.clone() };
    let (path, text) = slower.file("workers.yaml");
    let number = town.propose("Slower workers", &[Edit::write(path, text)]);
    town.wait_for_check(number, "capstan", "success", SHORT);
    assert_eq!(town.prediction(number).machines(), 2);
    town.merge_and_compare("a template changed", cluster, number, "v1.34.3");
    town.wait_for_check(number, "capstan/rollout", "success", SHORT);
    slower
}

/// Drift is repaired while the bot is away. Once it is back, a merge is applied, and its check reports the rollout.
fn bot_away(town: &Town<'_>, cluster: &Sample) {
    let (namespace, name) = (cluster.namespace(), format!("{}-md", cluster.name));
    let deployment = || town.ground.world.object("MachineDeployment", &namespace, &name).unwrap();
    let slowest = Sample { worker_startup: "1700ms".to_owned(), ..cluster.clone() };
    let (path, text) = slowest.file("workers.yaml");
    let number = town.propose("Still slower workers", &[Edit::write(path, text)]);
    town.wait_for_check(number, "capstan", "success", SHORT);

    town.bot.process.kill();
    town.ground.plane.kubectl(&[
        "patch",
        "machinedeployment",
        "-n",
        &namespace,
        &name,
        "--type=merge",
        "-p",
        r#"{"spec":{"replicas":3}}"#,
    ]);
    until("drift repaired while the bot is away", LONG, || {
        let replicas = deployment()["spec"]["replicas"].clone();
        let generation = deployment()["metadata"]["generation"].clone();
        holds(replicas == 2 && generation.as_u64() >= Some(3), || {
            format!("replicas {replicas}, generation {generation}")
        })
    });
    // The machine too many goes before anything else is judged.
    until("two workers again", LONG, || town.ground.running(cluster, "v1.34.3"));
    town.bot.process.start();

    town.merge_and_compare("merged after the bot was away", cluster, number, "v1.34.3");
    town.wait_for_check(number, "capstan/rollout", "success", SHORT);
}
