//! What a new source of change costs: a toy whose values are in one file. It is planned, proposed and reported by the
//! code that all sources share.

use std::collections::BTreeMap;

use capstan_kustomize::schema::Schemas;
use capstan_model::ids::ClusterId;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::target::TargetKind;
use capstan_model::tree::{BlobId, RepoPath};
use capstan_plan::flux::PostBuild;
use capstan_plan::merge::{AppliedBy, ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use capstan_plan::proposal::{
    Decisions, Draft, Drafted, PlanDigest, ProposalId, ProposalPlan, SidebarStanding, TitleDigest, wanted,
};
use capstan_plan::upgrade::{
    ChangeSource, MergeSettings, OldSource, PlannedUpgrade, Retarget, Side, Upgrade, UpgradeRequest,
    Versions, plan, to_json,
};
use capstan_report::{
    Block, BlockKey, Proposal, commit_message, proposal_body, proposal_title, visible_text,
};
use capstan_yaml::YamlFile;

/// Replicas of the workers of one cluster: `peu01-md-0: 3`.
#[derive(Debug)]
struct Sizing {
    documents: ReleaseSource,
    content: SourceContent,
}

impl Sizing {
    fn read(id: &str, text: &str, blob: char) -> Self {
        let values = YamlFile::read(text).unwrap().documents()[0].root.value();
        let fragments = values.as_object().unwrap().iter().map(|(name, replicas)| {
            format!("kind: MachineDeployment\nmetadata: {{name: {name}}}\nspec: {{replicas: {replicas}}}\n")
        });
        let fragments: Vec<String> = fragments.collect();
        let file = SourceFile::new(path("values/base/values.yaml"), fragments.join("---\n"));
        let facts =
            SourceFacts { base_folder: path("values/base"), base: vec![file], ..SourceFacts::default() };
        let documents = ReleaseSource::read(SourceId::parse(id).unwrap(), None, &facts).unwrap();
        Self {
            documents,
            content: SourceContent::from(&BlobId::parse(&blob.to_string().repeat(40)).unwrap()),
        }
    }
}

impl ChangeSource for Sizing {
    fn id(&self) -> &SourceId {
        self.documents.id()
    }

    fn content(&self) -> Option<SourceContent> {
        Some(self.content.clone())
    }

    fn documents(&self) -> &ReleaseSource {
        &self.documents
    }
}

const ID: &str = "sizing://gauss/peu01.yaml";
const BASE: &str = "apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: peu01-md-0
spec:
  clusterName: peu01
  replicas: 2 # enough for now
";

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn planned(base: &str) -> PlannedUpgrade {
    let cluster = ClusterFacts {
        id: ClusterId::new(path("gauss/peu01")),
        kind: TargetKind::Cluster,
        base_folder: path("gauss/peu01/base"),
        base: vec![SourceFile::new(path("gauss/peu01/base/workers.yaml"), base)],
        contents: Vec::new(),
        overlay: Vec::new(),
        record: None,
        variables: BTreeMap::new(),
        flux: PostBuild::default(),
        release: None,
        applied: AppliedBy::Others,
        classes_used_elsewhere: Vec::new(),
    };
    let (old, new) = (Sizing::read(ID, "peu01-md-0: 2", 'a'), Sizing::read(ID, "peu01-md-0: 3", 'b'));
    let request = UpgradeRequest {
        cluster: &cluster,
        old: OldSource::Known(&old),
        new: &new,
        settings: &MergeSettings::default(),
        schemas: Schemas::built_in(),
        retarget: Retarget::Refused,
    };
    plan(&request).unwrap()
}

fn upgrade(base: &str) -> Upgrade {
    planned(base).finish(Vec::new(), Vec::new())
}

#[test]
fn a_value_that_changes_changes_its_field_and_no_other_byte() {
    let planned = planned(BASE);
    let files: Vec<_> =
        planned.intended.iter().map(|file| (file.path.as_str(), file.after.as_deref().unwrap())).collect();
    let after = BASE.replace("replicas: 2 ", "replicas: 3 ");
    assert_eq!(files, [("gauss/peu01/base/workers.yaml", after.as_str())], "no release is recorded");
    assert_eq!(planned.upgrade.blocked, Vec::<String>::new());
    let json = to_json(&planned.upgrade);
    assert_eq!(json["cluster"], "gauss/peu01");
    assert_eq!((&json["from"], &json["to"]), (&ID.into(), &ID.into()));
}

#[test]
fn a_value_that_the_cluster_changed_too_is_a_conflict_like_any_other() {
    let upgrade = upgrade(&BASE.replace("replicas: 2", "replicas: 5"));
    let [conflict] = upgrade.conflicts.as_slice() else { panic!("{:?}", upgrade.conflicts) };
    assert_eq!(conflict.path.to_string(), "/spec/replicas");
    assert_eq!((conflict.kept, conflict.blocks), (Side::Cluster, false));
    assert_eq!(upgrade.files, vec![]);
}

#[test]
fn it_is_proposed_and_reported_on_a_branch_of_its_own() {
    let id = ProposalId {
        target: ClusterId::new(path("gauss/peu01")).into(),
        kind: SourceKind::parse("sizing").unwrap(),
    };
    assert_eq!(id.branch(), "capstan/sizing/gauss/peu01");

    let upgrade = upgrade(BASE);
    let ProposalPlan::Offer(offer) = wanted(&id.kind, &Ok::<_, String>(&upgrade)) else { panic!("an offer") };
    assert_eq!(offer.source.to_string(), format!("{ID}@{}", "b".repeat(40)));
    assert_eq!((offer.draft, &offer.plan), (Draft::Ready, &PlanDigest::of(&upgrade.files)));

    let message = commit_message(&upgrade, &offer.source, &offer.plan, None, None, Versions::Move);
    assert!(
        message
            .starts_with("Upgrade gauss/peu01 to sizing://gauss/peu01.yaml\n\nThe sizing itself has changed")
    );
    assert!(message.contains(&format!("\nCapstan-Source: {ID}@{}\n", "b".repeat(40))), "{message}");

    let proposal = Proposal {
        upgrade: &upgrade,
        source: &offer.source,
        plan: &offer.plan,
        origin: None,
        command_prefix: "/capstan",
        retarget: Retarget::Refused,
        decisions: &Decisions::default(),
        drafted: Drafted::No,
        reporter: None,
        sidebar: &SidebarStanding::default(),
        previous: &[],
    };
    assert_eq!(
        proposal_title(None, &upgrade, &offer.source, Versions::Move),
        "Refresh gauss/peu01 to sizing://gauss/peu01.yaml as it is now"
    );
    let text = visible_text(&proposal);
    assert!(
        text.starts_with(
            "no machine is replaced\n\nSizing `sizing://gauss/peu01.yaml` has changed since `gauss/peu01` took it."
        ),
        "{text}"
    );
    assert!(text.contains("| `2` | `3` | the sizing changes it |"), "{text}");
    let key = BlockKey::derive(b"secret");
    let body = proposal_body(&proposal, 7, None, &TitleDigest::of(""), &key);
    assert_eq!(Block::read(&body, &key, 7, 12, &id).unwrap().source, offer.source);
    let of_release = ProposalId::of_release(id.target);
    assert_eq!(Block::read(&body, &key, 7, 12, &of_release), None, "it is no block of a release's proposal");
}
