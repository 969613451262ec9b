//! What goes, what stays and why: one folder, one thing different in each row.

mod random;

use std::collections::BTreeMap;

use super::super::testing::{documents, id, objects};
use super::super::{AppliedInventory, OwnerIndex};
use super::*;
use crate::live_objects::LiveObjects;
use crate::rollout::observed::RolloutProgress;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::tree::RepoPath;
use capstan_plan::settings::Tombstone;
use capstan_plan::templates::{NamedTemplate, Naming, SpecDigest};
use capstan_yaml::Value;

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
";

fn document(api: &str, kind: &str, name: &str) -> String {
    format!("---\napiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: org}}\n")
}

fn core(kind: &str, name: &str) -> String {
    document("cluster.x-k8s.io/v1beta2", kind, name)
}

fn template(name: &str) -> String {
    document("infrastructure.cluster.x-k8s.io/v1beta2", "DevMachineTemplate", name)
}

/// A deployment, or another kind of workers, that names a template.
fn workers(kind: &str, name: &str, template: &str) -> String {
    format!(
        "{}spec: {{template: {{spec: {{infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: {template}}}}}}}}}\n",
        core(kind, name)
    )
}

struct Case {
    /// What is in the inventory and live, besides what is rendered.
    applied: String,
    /// What lives besides.
    beside: String,
    rendered: Option<String>,
    delete: Deletion,
    templates: Vec<NamedTemplate>,
    rollout: RolloutProgress,
    withheld: Withholding,
    budget: u32,
    owners: OwnerIndex,
    /// What other folders have applied.
    neighbours: BTreeMap<ClusterId, AppliedInventory>,
    /// Made to the live objects.
    change: fn(&mut Vec<Value>),
    /// Made to the inventory.
    record: fn(&mut AppliedInventory),
}

impl Case {
    fn new(applied: &str) -> Self {
        Self {
            applied: applied.to_owned(),
            beside: String::new(),
            rendered: Some(CLUSTER.to_owned()),
            delete: Deletion::Nothing,
            templates: Vec::new(),
            rollout: RolloutProgress::Done,
            withheld: Withholding::Nothing,
            budget: 5,
            owners: OwnerIndex::default(),
            neighbours: BTreeMap::new(),
            change: |_| {},
            record: |_| {},
        }
    }

    fn round(&self) -> Deletions {
        let rendered = self.rendered.as_deref().map(objects);
        let mut inventory = AppliedInventory::default();
        let all = format!("{}{}", self.rendered.as_deref().unwrap_or_default(), self.applied);
        let mut lives = documents(&all);
        for object in &mut lives {
            let id = crate::live_objects::identity(object).unwrap();
            let uid = format!("uid-{}-{}", id.kind, id.name);
            inventory.intend(&id, object["apiVersion"].as_str().unwrap(), &id.name);
            inventory.applied(&id, &uid);
            object["metadata"]["uid"] = Value::from(uid);
        }
        lives.extend(documents(&self.beside));
        (self.change)(&mut lives);
        (self.record)(&mut inventory);
        let mut live: LiveObjects = lives.into_iter().collect();
        for object in inventory.objects() {
            if live.get(&object.id()).is_none() {
                live.absent(object.id());
            }
        }
        live.listed("cluster.x-k8s.io", "MachineSet");
        live.listed("cluster.x-k8s.io", "Machine");
        let folder = folder("c");
        prune(&PruneFacts {
            folder: &folder,
            inventory: &inventory,
            rendered: rendered.as_deref(),
            templates: &self.templates,
            delete: &self.delete,
            namespace: Some("org"),
            live: &live,
            owners: &self.owners,
            neighbours: &self.neighbours,
            rollout: self.rollout,
            withheld: self.withheld,
            budget: self.budget,
        })
    }

    /// `- Kind name why`, `= Kind name why`, `~ Kind name why`: deleted, kept, forgotten.
    fn deletion_lines(&self) -> Vec<String> {
        let Deletions { delete, keep, forget, .. } = self.round();
        let word = |why: String| why.split([' ', '(', '{']).next().unwrap().to_owned();
        let say =
            |sign: &str, id: &ObjectId, why: String| format!("{sign} {} {} {}", id.kind, id.name, word(why));
        delete
            .iter()
            .map(|doomed| say("-", &doomed.object, format!("{:?}", doomed.because)))
            .chain(keep.iter().map(|kept| say("=", &kept.object, format!("{:?}", kept.why))))
            .chain(forget.iter().map(|gone| say("~", &gone.object, format!("{:?}", gone.why))))
            .collect()
    }
}

fn folder(id: &str) -> ClusterId {
    ClusterId::new(RepoPath::parse(id).unwrap())
}

fn tombstone(kind: &str, name: &str) -> Deletion {
    Deletion::Objects(vec![Tombstone {
        group: None,
        kind: kind.to_owned(),
        namespace: None,
        name: name.to_owned(),
    }])
}

fn rotated(logical: &str, name: &str) -> NamedTemplate {
    NamedTemplate {
        logical: id(&format!("infrastructure.cluster.x-k8s.io/DevMachineTemplate org/{logical}")),
        name: name.to_owned(),
        spec: SpecDigest::of(&Value::Null),
        naming: Naming::Content,
    }
}

#[test]
fn what_nobody_can_miss_goes_by_itself() {
    for (applied, told) in [
        (core("MachineHealthCheck", "mhc"), "- MachineHealthCheck mhc Pruned"),
        (
            document("addons.cluster.x-k8s.io/v1beta2", "ClusterResourceSet", "crs"),
            "- ClusterResourceSet crs Pruned",
        ),
        (document("v1", "ConfigMap", "values-abc"), "- ConfigMap values-abc Pruned"),
        (template("t"), "- DevMachineTemplate t Pruned"),
        (document("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", "k"), "- KubeadmConfig k Pruned"),
        (
            document("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfigTemplate", "k"),
            "- KubeadmConfigTemplate k Pruned",
        ),
        // An unlisted kind of a provider.
        (
            document("infrastructure.cluster.x-k8s.io/v1beta1", "NewMachineTemplate", "new"),
            "- NewMachineTemplate new Pruned",
        ),
    ] {
        assert_eq!(Case::new(&applied).deletion_lines(), [told]);
    }
}

#[test]
fn everything_else_needs_a_tombstone() {
    for (api, kind) in [
        ("cluster.x-k8s.io/v1beta2", "MachineDeployment"),
        ("cluster.x-k8s.io/v1beta2", "MachinePool"),
        ("cluster.x-k8s.io/v1beta2", "Cluster"),
        ("cluster.x-k8s.io/v1beta2", "ClusterClass"),
        ("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane"),
        ("infrastructure.cluster.x-k8s.io/v1beta2", "DevCluster"),
        ("infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachinePool"),
        ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
        ("application.giantswarm.io/v1alpha1", "App"),
        ("addons.cluster.x-k8s.io/v1alpha1", "HelmChartProxy"),
        ("v1", "Secret"),
        ("v1", "Namespace"),
        ("example.com/v1", "PodTemplate"),
    ] {
        let mut case = Case::new(&document(api, kind, "x"));
        assert_eq!(case.deletion_lines(), [format!("= {kind} x NeedsTombstone")]);
        case.delete = tombstone(kind, "x");
        assert_eq!(case.deletion_lines(), [format!("- {kind} x Tombstone")]);
    }
    let kept = &Case::new(&core("MachineDeployment", "md")).round().keep[0];
    assert_eq!(
        kept.to_string(),
        "MachineDeployment org/md is gone from Git but kept: to delete it, add `- {kind: MachineDeployment, name: md}` to `delete` in the cluster's capstan.yaml"
    );
    assert!(kept.needs_a_person());
}

#[test]
fn nothing_rendered_deletes_nothing() {
    let applied =
        format!("{CLUSTER}{}{}", core("MachineHealthCheck", "mhc"), core("MachineDeployment", "md"));
    let kept = [
        "= Cluster c NothingRendered",
        "= MachineDeployment md NothingRendered",
        "= MachineHealthCheck mhc NothingRendered",
    ];
    for rendered in [None, Some(String::new())] {
        let case = Case { rendered, delete: tombstone("MachineDeployment", "md"), ..Case::new(&applied) };
        assert_eq!(case.deletion_lines(), kept);
    }
}

#[test]
fn a_template_stays_while_anything_live_names_it_or_machines_roll() {
    for (beside, told) in [
        (workers("MachineSet", "old", "t"), "= DevMachineTemplate t StillNamed"),
        (workers("MachineDeployment", "md", "t"), "= DevMachineTemplate t StillNamed"),
        (workers("MachineDeployment", "md", "other"), "- DevMachineTemplate t Pruned"),
        (
            "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DevMachine\nmetadata:\n  name: m\n  namespace: org\n  annotations:\n    cluster.x-k8s.io/cloned-from-name: t\n    cluster.x-k8s.io/cloned-from-groupkind: DevMachineTemplate.infrastructure.cluster.x-k8s.io\n".to_owned(),
            "= DevMachineTemplate t StillNamed",
        ),
    ] {
        let case = Case { beside, ..Case::new(&template("t")) };
        assert_eq!(case.deletion_lines(), [told], "{}", case.beside);
    }
    for rollout in
        [RolloutProgress::Waiting, RolloutProgress::Rolling, RolloutProgress::Stuck, RolloutProgress::Unknown]
    {
        let case = Case { rollout, ..Case::new(&template("t")) };
        assert_eq!(case.deletion_lines(), ["= DevMachineTemplate t RolloutNotDone"], "{rollout:?}");
    }
    let case = Case { withheld: Withholding::Workers, ..Case::new(&template("t")) };
    assert_eq!(case.deletion_lines(), ["= DevMachineTemplate t RolloutNotDone"]);
}

#[test]
fn a_config_map_stays_while_something_rendered_or_live_names_it() {
    let app = |field: &str| {
        format!("{CLUSTER}{}spec:\n  {field}\n", document("application.giantswarm.io/v1alpha1", "App", "a"))
    };
    for (field, told) in [
        ("config: {configMap: {name: values, namespace: org}}", "= ConfigMap values StillNamed"),
        ("extraConfigs: [{kind: configMap, name: values}]", "= ConfigMap values StillNamed"),
        ("valuesFrom: [{kind: ConfigMap, name: values}]", "= ConfigMap values StillNamed"),
        ("resources: [{kind: Secret, name: values}]", "- ConfigMap values Pruned"),
        ("configMapName: values", "= ConfigMap values StillNamed"),
        ("name: values", "- ConfigMap values Pruned"),
    ] {
        let case = Case { rendered: Some(app(field)), ..Case::new(&document("v1", "ConfigMap", "values")) };
        assert_eq!(case.deletion_lines(), [told], "{field}");
    }
}

#[test]
fn too_much_at_once_does_not_go_and_what_a_rotation_left_does_not_count() {
    let checks: String = (0..6).map(|at| core("MachineHealthCheck", &format!("m{at}"))).collect();
    let case = Case::new(&checks);
    assert!(case.deletion_lines().iter().all(|told| told.starts_with('=') && told.ends_with("OverBudget")));
    assert_eq!(
        case.round().keep[0].to_string(),
        "MachineHealthCheck org/m0 is kept: 6 objects would be deleted at once, but `maxDeletions` allows 5. If you want that, raise it or list the objects in `delete`"
    );
    assert_eq!(Case { budget: 6, ..Case::new(&checks) }.round().delete.len(), 6);

    let templates: String = (0..6).map(|at| template(&format!("t-{at}"))).collect();
    let record = |inventory: &mut AppliedInventory| {
        for at in 0..6 {
            let id = id(&format!("infrastructure.cluster.x-k8s.io/DevMachineTemplate org/t-{at}"));
            inventory.intend(&id, "infrastructure.cluster.x-k8s.io/v1beta2", "t");
        }
    };
    let left = Case { templates: vec![rotated("t", "t-new")], record, ..Case::new(&templates) };
    assert_eq!(left.round().delete.len(), 6);
    assert!(left.deletion_lines().iter().all(|told| told.ends_with("Rotated")));
    let dropped = Case { record, ..Case::new(&templates) };
    assert_eq!(dropped.round().delete.len(), 0, "the template itself is gone from Git");
}

#[test]
fn a_tombstone_of_what_is_rendered_is_a_finding() {
    let case = Case { delete: tombstone("Cluster", "c"), ..Case::new("") };
    let round = case.round();
    assert_eq!((round.delete.len(), round.keep.len()), (0, 0));
    assert_eq!(
        round.findings[0].to_string(),
        "`delete` names Cluster org/c, which the folder still renders: Capstan does not delete it. Remove one of them"
    );
    // By the name in Git, though the live one is another.
    let case = Case {
        delete: tombstone("DevMachineTemplate", "t"),
        templates: vec![rotated("t", "t-new")],
        ..Case::new("")
    };
    assert!(matches!(case.round().findings[0].what, Useless::StillRendered(_)));
}

#[test]
fn a_tombstone_reaches_only_what_is_in_the_inventory() {
    let case = Case {
        beside: core("MachineDeployment", "theirs"),
        delete: tombstone("MachineDeployment", "theirs"),
        ..Case::new("")
    };
    let round = case.round();
    assert_eq!(round.delete, []);
    assert_eq!(round.findings[0].what, Useless::NotOurs(id("cluster.x-k8s.io/MachineDeployment org/theirs")));
    // Another folder's, which was not read for this one.
    let mut owners = OwnerIndex::default();
    owners.renders(&folder("other"), [&id("cluster.x-k8s.io/MachineDeployment org/theirs")]);
    let case = Case { owners, delete: tombstone("MachineDeployment", "theirs"), ..Case::new("") };
    assert_eq!(case.round().delete, []);
    assert_eq!(
        case.round().findings[0].to_string(),
        "`delete` names MachineDeployment org/theirs, which is applied from the folder other, so Capstan does not delete it for this folder"
    );
    // Gone already: nothing to say.
    let case = Case { delete: tombstone("MachineDeployment", "gone"), ..Case::new("") };
    assert_eq!(case.round(), Deletions::default());
    // Two groups have that kind.
    let both = format!(
        "{}{}",
        core("MachinePool", "mp"),
        document("exp.cluster.x-k8s.io/v1alpha3", "MachinePool", "mp")
    );
    let case = Case { delete: tombstone("MachinePool", "mp"), ..Case::new(&both) };
    assert!(matches!(case.round().findings[0].what, Useless::Ambiguous(_)));
    assert_eq!(case.round().delete, []);
    // Another namespace than the folder's must be said.
    let other = core("MachineDeployment", "md").replace("namespace: org", "namespace: other");
    let case = Case { delete: tombstone("MachineDeployment", "md"), ..Case::new(&other) };
    assert_eq!(case.deletion_lines(), ["= MachineDeployment md NeedsTombstone"]);
}

#[test]
fn a_worker_pool_is_replaced_without_a_moment_of_none() {
    let rendered = Some(format!("{CLUSTER}{}", workers("MachineDeployment", "new", "t-new")));
    let applied = format!("{}{}", workers("MachineDeployment", "old", "t-old"), template("t-old"));
    let delete = || tombstone("MachineDeployment", "old");
    for (rollout, withheld) in [
        (RolloutProgress::Rolling, Withholding::Nothing),
        (RolloutProgress::Waiting, Withholding::Nothing),
        (RolloutProgress::Done, Withholding::Workers),
    ] {
        let case =
            Case { rendered: rendered.clone(), delete: delete(), rollout, withheld, ..Case::new(&applied) };
        assert_eq!(
            case.deletion_lines(),
            ["= MachineDeployment old RolloutNotDone", "= DevMachineTemplate t-old StillNamed"],
            "{rollout:?}"
        );
    }
    let case = Case { rendered, delete: delete(), ..Case::new(&applied) };
    assert_eq!(
        case.deletion_lines(),
        ["- MachineDeployment old Tombstone", "= DevMachineTemplate t-old StillNamed"]
    );
}

#[test]
fn an_object_passes_to_the_folder_that_renders_it_once_that_has_applied_it() {
    let moved = id("cluster.x-k8s.io/MachineDeployment org/md");
    let mut able = OwnerIndex::default();
    able.renders(&folder("other"), [&moved]);
    let mut refused = able.clone();
    refused.refused(&folder("other"));
    let mut intended = AppliedInventory::default();
    intended.intend(&moved, "cluster.x-k8s.io/v1beta2", "md");
    let mut applied = intended.clone();
    applied.applied(&moved, "uid-MachineDeployment-md");
    for (owners, theirs, told) in [
        (&able, None, "= MachineDeployment md RenderedElsewhere"),
        (&able, Some(intended), "= MachineDeployment md RenderedElsewhere"),
        (&refused, None, "= MachineDeployment md RenderedElsewhere"),
        (&able, Some(applied.clone()), "~ MachineDeployment md Transferred"),
        // It was applied before it was refused.
        (&refused, Some(applied), "~ MachineDeployment md Transferred"),
    ] {
        for rendered in [Some(CLUSTER.to_owned()), None] {
            for delete in [Deletion::Nothing, tombstone("MachineDeployment", "md")] {
                let case = Case {
                    owners: owners.clone(),
                    neighbours: theirs.iter().map(|theirs| (folder("other"), theirs.clone())).collect(),
                    rendered: rendered.clone(),
                    delete,
                    ..Case::new(&core("MachineDeployment", "md"))
                };
                assert_eq!(case.deletion_lines(), [told], "{theirs:?}");
            }
        }
    }
    // An object that is gone needs no wait.
    let gone =
        Case { owners: able, change: |live| live.clear(), ..Case::new(&core("MachineDeployment", "md")) };
    assert_eq!(gone.deletion_lines(), ["~ MachineDeployment md Gone"]);
}

/// A control plane, as a `Cluster` of that text names it.
const CARRIED: &str = "---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp, namespace: org}
";

fn machine(of: &str) -> String {
    format!(
        "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata:\n  name: m\n  namespace: org\n  labels: {{cluster.x-k8s.io/cluster-name: c}}\n  ownerReferences: [{{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlane, name: {of}}}]\n"
    )
}

#[test]
fn what_carries_the_machines_of_a_live_cluster_is_kept_and_no_tombstone_suggested() {
    let pointed = |name: &str| {
        format!(
            "{CLUSTER}spec: {{controlPlaneRef: {{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: {name}}}}}\n"
        )
    };
    let going = |text: &str| text.replace("namespace: org}", "namespace: org, deletionTimestamp: now}");
    for (cluster, beside, told) in [
        (pointed("cp"), machine("cp"), "= KubeadmControlPlane cp Carries"),
        // Somebody pointed the Cluster elsewhere: its machines still belong to the old control plane.
        (pointed("other"), machine("cp"), "= KubeadmControlPlane cp Carries"),
        (pointed("other"), machine("other"), "= KubeadmControlPlane cp NeedsTombstone"),
        (pointed("cp"), String::new(), "= KubeadmControlPlane cp NeedsTombstone"),
        (going(&pointed("cp")), machine("cp"), "= KubeadmControlPlane cp NeedsTombstone"),
    ] {
        let mut case = Case { rendered: Some(cluster), beside, ..Case::new(CARRIED) };
        assert_eq!(case.deletion_lines(), [told], "{} {}", case.rendered.as_deref().unwrap(), case.beside);
        let says = case.round().keep[0].to_string();
        assert_eq!(says.contains("`delete`"), told.ends_with("NeedsTombstone"), "{says}");
        // With a tombstone it goes if no machines depend on it.
        case.delete = tombstone("KubeadmControlPlane", "cp");
        let told =
            told.replace("= KubeadmControlPlane cp NeedsTombstone", "- KubeadmControlPlane cp Tombstone");
        assert_eq!(case.deletion_lines(), [told]);
    }
    let case = Case { rendered: Some(pointed("cp")), beside: machine("cp"), ..Case::new(CARRIED) };
    assert_eq!(
        case.round().keep[0].to_string(),
        "KubeadmControlPlane org/cp is gone from Git but kept: Cluster org/c is live, and deleting this would delete its machines. Restore it"
    );
    assert!(case.round().keep[0].needs_a_person());

    // The Cluster itself: named, it goes, and its parts after it.
    let other = CLUSTER.replace("name: c", "name: d");
    let applied = format!("---\n{}{CARRIED}", pointed("cp"));
    let mut case = Case { rendered: Some(other), beside: machine("cp"), ..Case::new(&applied) };
    assert_eq!(case.deletion_lines(), ["= Cluster c Carries", "= KubeadmControlPlane cp Carries"]);
    assert_eq!(
        case.round().keep[0].to_string(),
        "Cluster org/c is gone from Git but kept: deleting it would delete its control plane and machines. Restore it"
    );
    case.delete = tombstone("Cluster", "c");
    assert_eq!(case.deletion_lines(), ["- Cluster c Tombstone", "= KubeadmControlPlane cp NeedsTombstone"]);
}

#[test]
fn only_the_very_object_that_was_applied_is_deleted() {
    let check = core("MachineHealthCheck", "mhc");
    let gone = Case {
        change: |live| live.retain(|object| object["kind"] != "MachineHealthCheck"),
        ..Case::new(&check)
    };
    assert_eq!(gone.deletion_lines(), ["~ MachineHealthCheck mhc Gone"]);
    let reborn = Case {
        change: |live| live.iter_mut().for_each(|object| object["metadata"]["uid"] = "another".into()),
        ..Case::new(&check)
    };
    assert_eq!(reborn.deletion_lines(), ["~ MachineHealthCheck mhc Replaced"]);
    let going = Case {
        change: |live| {
            live.iter_mut().for_each(|object| object["metadata"]["deletionTimestamp"] = "now".into())
        },
        ..Case::new(&check)
    };
    assert_eq!(going.deletion_lines(), ["= MachineHealthCheck mhc Terminating"]);
    // Killed between the note and the apply: it is ours if Capstan's entry says so.
    let record = |inventory: &mut AppliedInventory| {
        inventory.forget(&id("cluster.x-k8s.io/MachineHealthCheck org/mhc"));
        inventory.intend(
            &id("cluster.x-k8s.io/MachineHealthCheck org/mhc"),
            "cluster.x-k8s.io/v1beta2",
            "mhc",
        );
    };
    assert_eq!(Case { record, ..Case::new(&check) }.deletion_lines(), ["~ MachineHealthCheck mhc Replaced"]);
    let applied = Case {
        record,
        change: |live| {
            for object in live {
                object["metadata"]["managedFields"] =
                    serde_json::json!([{"manager": "capstan", "operation": "Apply", "fieldsV1": {}}]);
            }
        },
        ..Case::new(&check)
    };
    assert_eq!(applied.deletion_lines(), ["- MachineHealthCheck mhc Pruned"]);
    assert_eq!(applied.round().delete[0].uid, "uid-MachineHealthCheck-mhc");
}

#[test]
fn credentials_go_last() {
    let applied = format!("{}{}", document("v1", "Secret", "aws"), core("MachineDeployment", "md"));
    let both = Deletion::Objects(
        ["Secret aws", "MachineDeployment md"]
            .iter()
            .map(|of| of.split_once(' ').unwrap())
            .map(|(kind, name)| Tombstone {
                group: None,
                kind: kind.to_owned(),
                namespace: None,
                name: name.to_owned(),
            })
            .collect(),
    );
    let first = Case { delete: both.clone(), ..Case::new(&applied) };
    assert_eq!(first.deletion_lines(), ["- MachineDeployment md Tombstone", "= Secret aws WaitsFor"]);
    let draining = Case {
        delete: both.clone(),
        change: |live| {
            live.iter_mut()
                .filter(|object| object["kind"] == "MachineDeployment")
                .for_each(|object| object["metadata"]["deletionTimestamp"] = "now".into());
        },
        ..Case::new(&applied)
    };
    assert_eq!(draining.deletion_lines(), ["= Secret aws WaitsFor", "= MachineDeployment md Terminating"]);
    let gone = Case {
        delete: both,
        change: |live| live.retain(|object| object["kind"] != "MachineDeployment"),
        ..Case::new(&applied)
    };
    assert_eq!(gone.deletion_lines(), ["- Secret aws Tombstone", "~ MachineDeployment md Gone"]);
}

fn whole() -> String {
    format!(
        "{CLUSTER}{}{}{}{}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: org}}\n",
        document("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", "cp"),
        workers("MachineDeployment", "md", "t"),
        template("t"),
        document("v1", "Secret", "aws"),
    )
}

#[test]
fn the_whole_cluster_goes_in_its_order_though_the_folder_still_renders_it() {
    let case = |change: fn(&mut Vec<Value>)| Case {
        rendered: Some(whole()),
        delete: Deletion::Cluster,
        rollout: RolloutProgress::Waiting,
        budget: 0,
        change,
        ..Case::new("")
    };
    assert_eq!(
        case(|_| {}).deletion_lines(),
        [
            "- Cluster c Cluster",
            "= Namespace org WaitsFor",
            "= Secret aws WaitsFor",
            "= MachineDeployment md WaitsFor",
            "= KubeadmControlPlane cp WaitsFor",
            "= DevMachineTemplate t WaitsFor",
        ]
    );
    let going: fn(&mut Vec<Value>) = |live| {
        live.iter_mut()
            .filter(|object| object["kind"] == "Cluster")
            .for_each(|object| object["metadata"]["deletionTimestamp"] = "now".into());
    };
    let told = case(going).deletion_lines();
    assert!(told.iter().all(|told| told.starts_with('=')), "{told:?}");
    // Cluster API took the machines along.
    let gone: fn(&mut Vec<Value>) = |live| {
        live.retain(|object| {
            ["DevMachineTemplate", "Secret", "Namespace"].iter().any(|kind| object["kind"] == *kind)
        });
    };
    assert_eq!(
        case(gone).deletion_lines(),
        [
            "- DevMachineTemplate t Cluster",
            "= Secret aws WaitsFor",
            "~ Namespace org NamespaceStays",
            "~ Cluster c Gone",
            "~ MachineDeployment md Gone",
            "~ KubeadmControlPlane cp Gone",
        ]
    );
    let last: fn(&mut Vec<Value>) = |live| live.retain(|object| object["kind"] == "Secret");
    let told = case(last).deletion_lines();
    assert_eq!(told[0], "- Secret aws Cluster");
    assert!(case(|live| live.clear()).round().is_over());
    assert!(!case(last).round().is_over());
}

#[test]
fn a_cluster_that_was_not_applied_from_here_is_not_deleted_nor_what_it_is_made_of() {
    let record = |inventory: &mut AppliedInventory| inventory.forget(&id("cluster.x-k8s.io/Cluster org/c"));
    let case = Case { rendered: Some(whole()), delete: Deletion::Cluster, record, ..Case::new("") };
    let round = case.round();
    assert_eq!(round.delete, []);
    assert!(
        round.keep.iter().all(|kept| kept.why == Keep::ClusterNotOurs(id("cluster.x-k8s.io/Cluster org/c")))
    );
    assert_eq!(round.keep.len(), 5);

    let mut owners = OwnerIndex::default();
    owners.renders(&folder("other"), [&id("cluster.x-k8s.io/Cluster org/c")]);
    let mut case = Case { rendered: Some(whole()), delete: Deletion::Cluster, owners, ..Case::new("") };
    assert_eq!(case.round().delete, [], "another folder renders it");
    case.owners.refused(&folder("other"));
    assert_eq!(case.deletion_lines()[0], "- Cluster c Cluster", "another folder is refused");

    // It could not be read.
    let mut rendered = objects(CLUSTER);
    let inventory = {
        let mut inventory = AppliedInventory::default();
        inventory.intend(&rendered[0].id, "cluster.x-k8s.io/v1beta2", "c");
        inventory.intend(&id("Secret org/aws"), "v1", "aws");
        inventory.applied(&id("Secret org/aws"), "u");
        inventory
    };
    let live: LiveObjects =
        documents("apiVersion: v1\nkind: Secret\nmetadata: {name: aws, namespace: org, uid: u}\n")
            .into_iter()
            .collect();
    let folder = folder("c");
    let owners = OwnerIndex::default();
    let facts = PruneFacts {
        folder: &folder,
        inventory: &inventory,
        rendered: Some(&rendered),
        templates: &[],
        delete: &Deletion::Cluster,
        namespace: Some("org"),
        live: &live,
        owners: &owners,
        neighbours: &BTreeMap::new(),
        rollout: RolloutProgress::Done,
        withheld: Withholding::Nothing,
        budget: 5,
    };
    let round = prune(&facts);
    assert_eq!(round.delete, []);
    assert!(round.keep.iter().all(|kept| kept.why == Keep::NotRead), "{:?}", round.keep);
    rendered.clear();
}

#[test]
fn templates_stay_where_nobody_read_the_machines() {
    let rendered = objects(CLUSTER);
    let mut inventory = AppliedInventory::default();
    let old = id("infrastructure.cluster.x-k8s.io/DevMachineTemplate org/t");
    inventory.intend(&old, "infrastructure.cluster.x-k8s.io/v1beta2", "t");
    inventory.applied(&old, "u");
    let live: LiveObjects =
        documents(&template("t").replace("namespace: org", "namespace: org, uid: u")).into_iter().collect();
    let (folder, owners) = (folder("c"), OwnerIndex::default());
    let facts = PruneFacts {
        folder: &folder,
        inventory: &inventory,
        rendered: Some(&rendered),
        templates: &[],
        delete: &Deletion::Nothing,
        namespace: Some("org"),
        live: &live,
        owners: &owners,
        neighbours: &BTreeMap::new(),
        rollout: RolloutProgress::Done,
        withheld: Withholding::Nothing,
        budget: 5,
    };
    assert_eq!(prune(&facts).keep, [OrphanedObject { object: old, why: Keep::NotRead }]);
}
