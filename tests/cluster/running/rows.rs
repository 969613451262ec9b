//! What Git does to folders whose objects are live, and what may be deleted for it: one folder and one change a row.
//!
//! `pruning` plays each on a management cluster in memory, `real` plays all of them at once on a real API server.
//! `dying` plays each once more with a death between any two writes.
//!
//! What else is attempted on a folder, and where that is tried:
//!
//! | attempt | in memory | on a real API server |
//! |---|---|---|
//! | the tree is empty, or its settings cannot be read | `looping` | `real::deletions` |
//! | a tree without history is pushed by force, or an older one | `git::mirror` (fetched) | `real::deletions`, `real::interrupted` |
//! | the branch renamed, or deleted | – | `real::interrupted` |
//! | conflict markers, no YAML, no UTF-8, a link, a pointer of LFS | rows | rows |
//! | a kustomization that lists fewer, none, or what is missing; `maxDeletions` | rows | rows |
//! | base emptied, renamed, removed; the folder removed | rows | rows |
//! | the folder copied, renamed, renamed and changed at once | rows, `owning`, `moving` | rows, `real::deletions` |
//! | a tombstone: of a wrong group, of what is rendered, of another's, the right one, of the whole cluster | rows, `pruning` | rows, `real::deletions` |
//! | the Cluster deleted by hand | `dying`, `machines` | `real::interrupted` |
//! | a downgrade by a revert | `adopting`, `machines` | `real::interrupted`, `live::scenarios::upgraded` |
//! | a control plane renamed, given up, or left with a tombstone | `machines` | `real::deletions` |
//! | a template removed during its rollout | `machines` | `real::interrupted` |
//! | the claim moved away, and back | rows, `owning` | rows, `real::interrupted` |
//! | claimed twice, by two folders, by two Fleets | rows, `owning` | rows, `real::deletions` |
//! | `suspend` | `applying`, `moving` | `real::deletions`, `real::killed`, `real::interrupted` |
//! | the API server restarted in mid-apply | `dying` | `real::interrupted`, `live::scenarios::restarted` |
//! | the state folder deleted, full or read-only | – | `real::interrupted` |
//! | take-over, and beside an autoscaler | `adopting`, `pruning` | `real::adopted`, `real::interrupted`, `k8s::adopting` |
//! | killed in the middle of any of them | `dying`, `moving` | `real::killed`, `real::interrupted`; of the rows, some at a time |
//!
//! In all texts NAME is the row's name. Every folder that a row writes to begins with a `Cluster` NAME and two
//! ConfigMaps; all are in the namespace `gauss`.

use std::collections::BTreeMap;

use capstan_reconciler::reconcile::resources::{ConditionType, ManagedClusterStatus, PlaceStatus};

/// The customer of all rows, and the namespace of their objects.
pub(crate) const CUSTOMER: &str = "gauss";

/// One folder and what becomes of it.
pub(crate) struct Row {
    /// The folder is `gauss/NAME`.
    pub(crate) name: &'static str,
    /// What is there at first besides: path below `gauss`, and text.
    pub(crate) before: &'static [(&'static str, &'static str)],
    /// What the second commit does.
    pub(crate) after: &'static [Change],
    /// What it says of the folder: the condition `Ready`, or that there is no ManagedCluster any more.
    pub(crate) ready: &'static str,
    /// Why something is refused or kept: reason and message.
    pub(crate) says: &'static [&'static str],
    /// How many objects are in the inventory then.
    pub(crate) inventory: usize,
    /// What is deleted: kind and name. Everything else must be as it was.
    pub(crate) goes: &'static [&'static str],
}

/// What a commit does.
pub(crate) enum Change {
    /// Writes a file: path below `gauss`, and text.
    Write(&'static str, &'static str),
    /// Writes a file that is not text.
    Bytes(&'static str, &'static [u8]),
    /// Puts a symbolic link there.
    Link(&'static str, &'static str),
    /// Removes a file.
    Remove(&'static str),
    /// Renames the folder.
    Move(&'static str),
    /// Another management cluster claims the folder as well.
    ClaimedTwice,
    /// Another management cluster claims it instead.
    ClaimedElsewhere,
}

use Change::{Bytes, ClaimedElsewhere, ClaimedTwice, Link, Move, Remove, Write};

impl Row {
    /// Whether a tree of texts in memory can show it.
    pub(crate) fn is_text(&self) -> bool {
        !self.after.iter().any(|change| matches!(change, Bytes(..) | Link(..)))
    }

    /// The row's name put into a text.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("NAME", self.name)
    }

    /// Its files at first, by path in the repository.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let below = |path: &str| format!("{CUSTOMER}/{}", self.fill(path));
        let own = ("NAME/base/cluster.yaml", "");
        let mut files = BTreeMap::new();
        for (path, _) in self.before.iter().chain([&own]) {
            let folder = self.fill(path.split('/').next().unwrap());
            files.extend(plain(CUSTOMER, &folder));
        }
        files.extend(self.before.iter().map(|(path, text)| (below(path), self.fill(text))));
        files
    }

    /// What is said of it after the second commit, where that is not what should be said.
    pub(crate) fn wrong(&self, status: Option<&ManagedClusterStatus>) -> Option<String> {
        let says = self.says.iter().map(|text| self.fill(text)).collect();
        let expected = (self.ready.to_owned(), self.inventory, says);
        let found = match status {
            None => ("no ManagedCluster".to_owned(), 0, Vec::new()),
            Some(status) => {
                let (ready, says) = ready_and_reasons(status);
                (ready, status.inventory.objects().len(), says)
            }
        };
        (found != expected).then(|| format!("{}:\n    is {found:?}\n    not {expected:?}", self.name))
    }

    /// Who claims it after the second commit.
    pub(crate) fn claim(&self) -> Claim {
        let is = |wanted: fn(&Change) -> bool| self.after.iter().any(wanted);
        if is(|change| matches!(change, ClaimedTwice)) {
            Claim::Twice
        } else if is(|change| matches!(change, ClaimedElsewhere)) {
            Claim::Elsewhere
        } else {
            Claim::Here
        }
    }
}

/// Who claims a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// This management cluster.
    Here,
    /// This one and another one.
    Twice,
    /// Another one.
    Elsewhere,
}

/// `.capstan.yaml` of a management cluster that has all of the customer's folders but those that are claimed by
/// another one.
pub(crate) fn settings(uid: &str, folders: &[(String, Claim)]) -> String {
    let claimed = |claims: &[Claim]| {
        let ids = folders.iter().filter(|(_, claim)| claims.contains(claim)).map(|(id, _)| id.as_str());
        ids.collect::<Vec<_>>().join(", ")
    };
    format!(
        "managementClusters:\n- {{name: mc-eu, uid: {uid}, clusters: [{}]}}\n\
         - {{name: mc-us, uid: 00000000-0000-4000-8000-000000000002, clusters: [{}]}}\n\
         clusters:\n  overlayKinds:\n  - {{group: '', kinds: [Service]}}\n  \
         - {{group: helm.toolkit.fluxcd.io}}\n  - {{group: kustomize.toolkit.fluxcd.io}}\n",
        claimed(&[Claim::Here, Claim::Twice]),
        claimed(&[Claim::Twice, Claim::Elsewhere]),
    )
}

/// A `Cluster` with two ConfigMaps beside it; no machines.
pub(crate) fn plain(customer: &str, name: &str) -> [(String, String); 2] {
    let base = format!("{customer}/{name}/base");
    [
        (
            format!("{base}/cluster.yaml"),
            format!(
                "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: {name}, namespace: {customer}}}\nspec: {{paused: true}}\n"
            ),
        ),
        (
            format!("{base}/maps.yaml"),
            format!("{}---\n{}", config_map(&format!("{name}-a")), config_map(&format!("{name}-b"))),
        ),
    ]
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{key: \"1\"}}\n")
}

/// What a status says: the condition `Ready`, and why something is refused or kept.
pub(crate) fn ready_and_reasons(status: &ManagedClusterStatus) -> (String, Vec<String>) {
    let ready = status.conditions.of(ConditionType::Ready);
    let ready = ready.map_or("unknown".to_owned(), |ready| format!("{:?} {}", ready.status, ready.reason));
    let say = |place: &PlaceStatus| {
        let mut text = place.reason.clone();
        if let Some(file) = &place.file {
            text.push_str(&format!(" {file}"));
        }
        if let Some(line) = place.line {
            text.push_str(&format!(":{line}"));
        }
        format!("{text}: {}", place.message)
    };
    (ready, status.refused.iter().chain(&status.kept).map(say).collect())
}

const MORE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-more}\ndata: {key: \"1\"}\n";
/// What no overlay may bring.
const ROOT: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: NAME}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n";
const LOGIN: &str =
    "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME-login}\nstringData: {password: \"1\"}\n";
const FOUR: &str = "\
apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-c}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-d}\n---
apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-e}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-f}\n";
const ADDONS: &str = "\
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: NAME}
spec:
  clusterSelector: {matchLabels: {addons: NAME}}
  strategy: Reconcile
  resources: [{kind: ConfigMap, name: NAME-more}]
";

/// All rows.
pub(crate) const ALL: &[Row] = &[
    Row {
        name: "file-gone",
        before: &[("NAME/base/more.yaml", MORE)],
        after: &[Remove("NAME/base/more.yaml")],
        ready: "True Done",
        says: &[],
        inventory: 3,
        goes: &["ConfigMap NAME-more"],
    },
    Row {
        name: "still-named",
        before: &[("NAME/base/more.yaml", MORE), ("NAME/base/addons.yaml", ADDONS)],
        after: &[Remove("NAME/base/more.yaml")],
        ready: "True Done",
        says: &["Kept: ConfigMap gauss/NAME-more is kept while ClusterResourceSet gauss/NAME names it"],
        inventory: 5,
        goes: &[],
    },
    Row {
        name: "needs-tombstone",
        before: &[("NAME/base/login.yaml", LOGIN)],
        after: &[Remove("NAME/base/login.yaml")],
        ready: "True Done",
        says: &[
            "KeptUntilAsked: Secret gauss/NAME-login is gone from Git but kept: to delete it, add `- {kind: Secret, name: NAME-login}` to `delete` in the cluster's capstan.yaml",
        ],
        inventory: 4,
        goes: &[],
    },
    Row {
        name: "has-tombstone",
        before: &[("NAME/base/login.yaml", LOGIN)],
        after: &[
            Remove("NAME/base/login.yaml"),
            Write("NAME/capstan.yaml", "delete: [{kind: Secret, name: NAME-login}]\n"),
        ],
        ready: "True Done",
        says: &[],
        inventory: 3,
        goes: &["Secret NAME-login"],
    },
    Row {
        name: "tombstone-of-rendered",
        before: &[],
        after: &[Write("NAME/capstan.yaml", "delete: [{kind: ConfigMap, name: NAME-a}]\n")],
        ready: "True Done",
        says: &[
            "UselessTombstone gauss/NAME/capstan.yaml: `delete` names ConfigMap gauss/NAME-a, which the folder still renders: Capstan does not delete it. Remove one of them",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "tombstone-of-anothers",
        before: &[(
            "NAME-victim/base/login.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME-login}\n",
        )],
        after: &[Write(
            "NAME/capstan.yaml",
            "delete: [{kind: Secret, name: NAME-login}, {kind: Cluster, name: NAME-victim}]\n",
        )],
        ready: "True Done",
        says: &[
            "UselessTombstone gauss/NAME/capstan.yaml: `delete` names Secret gauss/NAME-login, which is applied from the folder gauss/NAME-victim, so Capstan does not delete it for this folder",
            "UselessTombstone gauss/NAME/capstan.yaml: `delete` names Cluster gauss/NAME-victim, which is applied from the folder gauss/NAME-victim, so Capstan does not delete it for this folder",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "empty-files",
        before: &[],
        after: &[Write("NAME/base/cluster.yaml", "# nothing\n"), Write("NAME/base/maps.yaml", "# nothing\n")],
        ready: "False NoCluster",
        says: &[],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "no-base",
        before: &[("NAME/capstan.yaml", "delete: []\n")],
        after: &[Remove("NAME/base/cluster.yaml"), Remove("NAME/base/maps.yaml")],
        ready: "False NoCluster",
        says: &[],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "no-folder",
        before: &[],
        after: &[Remove("NAME/base/cluster.yaml"), Remove("NAME/base/maps.yaml")],
        ready: "False FolderGone",
        says: &[],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "broken-yaml",
        before: &[],
        after: &[Write("NAME/base/maps.yaml", "kind: [\n")],
        ready: "False Refused",
        says: &["RenderFailed gauss/NAME/base/maps.yaml:1: this is not YAML: unclosed bracket '['"],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "patch-of-nothing",
        before: &[],
        after: &[
            Write("NAME/base/kustomization.yaml", "resources: [cluster.yaml, maps.yaml]\n"),
            Write(
                "NAME/overlay/kustomization.yaml",
                "resources: [../base]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: NAME-missing}\n    data: {key: \"2\"}\n",
            ),
        ],
        ready: "False Refused",
        says: &[
            "PatchLost gauss/NAME/overlay/kustomization.yaml:4: the patch of ConfigMap NAME-missing is lost: there is no ConfigMap NAME-missing to patch. Correct its target, or remove it",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "file-in-lfs",
        before: &[],
        after: &[Write(
            "NAME/base/maps.yaml",
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
        )],
        ready: "False Refused",
        says: &[
            "RenderFailed gauss/NAME/base/maps.yaml:1: this is not YAML: a pointer of Git LFS, not the file itself: manifests belong in Git, so remove the file from LFS (`git lfs untrack`, `git add --renormalize`)",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "no-text",
        before: &[],
        after: &[Bytes("NAME/base/maps.yaml", b"kind: \xff\xfe\n")],
        ready: "False Refused",
        says: &[
            "RenderFailed gauss/NAME/base/maps.yaml:1: this is not YAML: byte 6 is not UTF-8: save the file as UTF-8",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "link-to-nothing",
        before: &[],
        after: &[Remove("NAME/base/maps.yaml"), Link("NAME/base/maps.yaml", "gone.yaml")],
        ready: "False Refused",
        says: &[
            "RenderFailed gauss/NAME/base/maps.yaml: this is a symbolic link, which Capstan never follows: put the file itself here",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "kustomization-of-all",
        before: &[],
        after: &[Write("NAME/base/kustomization.yaml", "resources: [cluster.yaml, maps.yaml]\n")],
        ready: "True Done",
        says: &[],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "kustomization-of-few",
        before: &[("NAME/base/more.yaml", FOUR)],
        after: &[Write("NAME/base/kustomization.yaml", "resources: [cluster.yaml]\n")],
        ready: "True Done",
        says: &[
            "KeptUntilAsked: ConfigMap gauss/NAME-a is kept: 6 objects would be deleted at once, but `maxDeletions` allows 5. If you want that, raise it or list the objects in `delete`",
            "KeptUntilAsked: ConfigMap gauss/NAME-b is kept: 6 objects would be deleted at once, but `maxDeletions` allows 5. If you want that, raise it or list the objects in `delete`",
            "KeptUntilAsked: ConfigMap gauss/NAME-c is kept: 6 objects would be deleted at once, but `maxDeletions` allows 5. If you want that, raise it or list the objects in `delete`",
            "KeptUntilAsked: ConfigMap gauss/NAME-d is kept: 6 objects would be deleted at once, but `maxDeletions` allows 5. If you want that, raise it or list the objects in `delete`",
            "KeptUntilAsked: ConfigMap gauss/NAME-e is kept: 6 objects would be deleted at once, but `maxDeletions` allows 5. If you want that, raise it or list the objects in `delete`",
            "KeptUntilAsked: ConfigMap gauss/NAME-f is kept: 6 objects would be deleted at once, but `maxDeletions` allows 5. If you want that, raise it or list the objects in `delete`",
        ],
        inventory: 7,
        goes: &[],
    },
    Row {
        name: "kustomization-of-nothing",
        before: &[],
        after: &[Write("NAME/base/kustomization.yaml", "resources: []\n")],
        ready: "False Refused",
        says: &[
            "NothingRendered: the folder gauss/NAME renders no objects: nothing is applied, and nothing is deleted",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "kustomization-broken",
        before: &[],
        after: &[Write("NAME/base/kustomization.yaml", "resources: [cluster.yaml, missing.yaml]\n")],
        ready: "False Refused",
        says: &[
            "RenderFailed gauss/NAME/base/kustomization.yaml:1: there is no file or folder gauss/NAME/base/missing.yaml: correct `missing.yaml` or add it",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "conflict-markers",
        before: &[],
        after: &[Write(
            "NAME/base/maps.yaml",
            "apiVersion: v1\nkind: ConfigMap\n<<<<<<< HEAD\nmetadata: {name: NAME-a}\n=======\nmetadata: {name: NAME-b}\n>>>>>>> theirs\n",
        )],
        ready: "False Refused",
        says: &[
            "RenderFailed gauss/NAME/base/maps.yaml:3: this is not YAML: a conflict marker of Git: a merge was not finished; keep one side and remove the markers",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "base-renamed",
        before: &[],
        after: &[
            Remove("NAME/base/cluster.yaml"),
            Remove("NAME/base/maps.yaml"),
            Write(
                "NAME/basis/cluster.yaml",
                "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: NAME, namespace: gauss}\nspec: {paused: true}\n",
            ),
        ],
        ready: "False NoCluster",
        says: &[],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "copied",
        before: &[],
        after: &[
            Write(
                "NAME-too/base/cluster.yaml",
                "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: NAME, namespace: gauss}\nspec: {paused: false}\n",
            ),
            Write("NAME-too/base/more.yaml", MORE),
        ],
        ready: "True Done",
        says: &[],
        inventory: 3,
        goes: &[],
    },
    // Objects that the rename drops in the same commit stay with the old name: nothing is deleted for a missing folder.
    Row {
        name: "moved-and-changed",
        before: &[("NAME/base/more.yaml", MORE)],
        after: &[
            Move("NAME-away"),
            Remove("NAME-away/base/more.yaml"),
            Write(
                "NAME-away/base/maps.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-a}\ndata: {key: \"2\"}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-b}\n",
            ),
        ],
        ready: "False FolderGone",
        says: &[],
        inventory: 1,
        goes: &[],
    },
    Row {
        name: "tombstone-of-wrong-group",
        before: &[("NAME/base/login.yaml", LOGIN)],
        after: &[
            Remove("NAME/base/login.yaml"),
            Write("NAME/capstan.yaml", "delete: [{group: apps, kind: Secret, name: NAME-login}]\n"),
        ],
        ready: "True Done",
        says: &[
            "KeptUntilAsked: Secret gauss/NAME-login is gone from Git but kept: to delete it, add `- {kind: Secret, name: NAME-login}` to `delete` in the cluster's capstan.yaml",
        ],
        inventory: 4,
        goes: &[],
    },
    // What a refused folder renders: nobody forgets it for that, and nobody is kept from it.
    Row {
        name: "given-to-refused",
        before: &[("NAME/base/more.yaml", MORE), ("NAME-wild/base/other.yaml", "# Room for one more.\n")],
        after: &[
            Remove("NAME/base/more.yaml"),
            Write("NAME-wild/base/more.yaml", MORE),
            Write("NAME-wild/overlay/root.yaml", ROOT),
        ],
        ready: "True Done",
        says: &[
            "Kept: ConfigMap gauss/NAME-more is kept: the folder gauss/NAME-wild renders it but has not applied it yet. It belongs to that folder after that",
        ],
        inventory: 4,
        goes: &[],
    },
    Row {
        name: "rendered-by-refused",
        before: &[],
        after: &[
            Write("NAME/base/more.yaml", MORE),
            Write(
                "NAME-wild/base/cluster.yaml",
                "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: NAME, namespace: gauss}\n",
            ),
            Write("NAME-wild/base/more.yaml", MORE),
            Write("NAME-wild/overlay/root.yaml", ROOT),
        ],
        ready: "True Done",
        says: &[],
        inventory: 4,
        goes: &[],
    },
    Row {
        name: "left-to-refused",
        before: &[],
        after: &[Move("NAME-wild"), Write("NAME-wild/overlay/root.yaml", ROOT)],
        ready: "False FolderGone",
        says: &[],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "moved",
        before: &[],
        after: &[Move("NAME-away")],
        ready: "no ManagedCluster",
        says: &[],
        inventory: 0,
        goes: &[],
    },
    Row {
        name: "object-moved",
        before: &[("NAME/base/more.yaml", MORE), ("NAME-next/base/other.yaml", "# Room for one more.\n")],
        after: &[Remove("NAME/base/more.yaml"), Write("NAME-next/base/more.yaml", MORE)],
        ready: "True Done",
        says: &[],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "claimed-twice",
        before: &[],
        after: &[ClaimedTwice],
        ready: "False Refused",
        says: &[
            "ClaimedTwice .capstan.yaml: the cluster gauss/NAME is claimed by two management clusters, `mc-eu` and `mc-us`: change `managementClusters` in .capstan.yaml so that only one has it",
        ],
        inventory: 3,
        goes: &[],
    },
    Row {
        name: "claimed-elsewhere",
        before: &[],
        after: &[ClaimedElsewhere],
        ready: "False NotClaimed",
        says: &[],
        inventory: 3,
        goes: &[],
    },
];
