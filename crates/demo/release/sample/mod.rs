//! The sample repository: releases of two providers, and twelve clusters of three customers.
//!
//! A cluster's base is the release's own text with the variables filled in, as a person would have copied it,
//! and people's edits since: those edits are the point of the demo.

use capstan_forge::Edit;
use jiff::civil::Date;

/// The release that every AWS cluster has at first.
pub(super) const OLD: &str = "aws/v1.4.0";
/// The release that is pushed.
pub(super) const NEW: &str = "aws/v1.5.0";
/// What the new release is about, in a line.
pub(super) const NEWS: &str =
    "Kubernetes v1.31.9 -> v1.32.7, Ubuntu 24.04, newer machine types, health checks for workers";

/// The cluster that nothing is special about; its pull request is merged.
pub(super) const CANARY: &str = "gauss/canary-eu";
/// The cluster with a customer's own machine type, which conflicts with the release's.
pub(super) const CONFLICTING: &str = "gauss/prod-us";
/// The cluster that somebody has upgraded by hand beyond the release.
pub(super) const AHEAD: &str = "euler/batch";
/// The cluster with a file that cannot be read.
pub(super) const BROKEN: &str = "euler/staging";
/// The cluster that its customer holds.
pub(super) const HELD: &str = "euler/analytics";
/// The cluster that follows patch releases only.
pub(super) const PINNED: &str = "gauss/legacy";
/// The clusters that are offered the new release.
pub(super) const OFFERED: [&str; 4] = [CANARY, "gauss/prod-eu", CONFLICTING, "euler/web"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum SampleProvider {
    Aws,
    OpenStack,
}

struct SampleCluster {
    id: &'static str,
    provider: SampleProvider,
    region: &'static str,
    pods: &'static str,
    workers: u32,
}

const fn aws(id: &'static str, region: &'static str, pods: &'static str, workers: u32) -> SampleCluster {
    SampleCluster { id, provider: SampleProvider::Aws, region, pods, workers }
}

const fn open_stack(id: &'static str, pods: &'static str, workers: u32) -> SampleCluster {
    SampleCluster { id, provider: SampleProvider::OpenStack, region: "", pods, workers }
}

const CLUSTERS: [SampleCluster; 12] = [
    aws(CANARY, "eu-central-1", "100.64.0.0/16", 3),
    aws("gauss/prod-eu", "eu-central-1", "100.65.0.0/16", 12),
    aws(CONFLICTING, "us-east-1", "100.66.0.0/16", 9),
    aws(PINNED, "eu-west-1", "100.67.0.0/16", 2),
    open_stack("gauss/onprem", "100.68.0.0/16", 5),
    aws("euler/web", "eu-north-1", "100.72.0.0/16", 6),
    aws(HELD, "eu-north-1", "100.73.0.0/16", 8),
    aws(AHEAD, "eu-north-1", "100.74.0.0/16", 20),
    aws(BROKEN, "eu-north-1", "100.75.0.0/16", 2),
    open_stack("noether/edge-1", "100.80.0.0/16", 3),
    open_stack("noether/edge-2", "100.81.0.0/16", 3),
    open_stack("noether/lab", "100.82.0.0/16", 1),
];

/// How many clusters there are.
pub(super) const fn cluster_count() -> usize {
    CLUSTERS.len()
}

/// The clusters that the AWS release does not concern.
pub(super) fn of_other_provider() -> impl Iterator<Item = &'static str> {
    CLUSTERS.iter().filter(|cluster| cluster.provider == SampleProvider::OpenStack).map(|cluster| cluster.id)
}

/// What a release fills into the texts.
type SampleValues = [(&'static str, &'static str); 7];

const AWS_1_4: SampleValues = [
    ("@kubernetes@", "v1.31.9"),
    ("@os@", "ubuntu-22.04"),
    ("@drain@", "10m"),
    ("@control-plane-type@", "m5.large"),
    ("@worker-type@", "m5.xlarge"),
    ("@health-check@", "TCP"),
    ("@api-server@", ""),
];
const AWS_1_5: SampleValues = [
    ("@kubernetes@", "v1.32.7"),
    ("@os@", "ubuntu-24.04"),
    ("@drain@", "15m"),
    ("@control-plane-type@", "m6i.large"),
    ("@worker-type@", "m6i.xlarge"),
    ("@health-check@", "HTTPS"),
    ("@api-server@", "\n          service-account-extend-token-expiration: \"false\""),
];
const OPEN_STACK_2_6: [(&str, &str); 1] = [("@kubernetes@", "v1.32.4")];

fn filled(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

const AWS_BASE: [(&str, &str); 3] = [
    ("cluster.yaml", include_str!("aws/cluster.yaml")),
    ("control-plane.yaml", include_str!("aws/control-plane.yaml")),
    ("workers.yaml", include_str!("aws/workers.yaml")),
];
const AWS_FRAGMENT: &str = include_str!("aws/machine-deployment-fragment.yaml");
const AWS_DEPLOYMENT: &str = include_str!("aws/machine-deployment.yaml");
const AWS_HEALTH_CHECK: &str = include_str!("aws/machine-health-check.yaml");
const OPEN_STACK_BASE: [(&str, &str); 3] = [
    ("cluster.yaml", include_str!("openstack/cluster.yaml")),
    ("control-plane.yaml", include_str!("openstack/control-plane.yaml")),
    ("workers.yaml", include_str!("openstack/workers.yaml")),
];

fn release(id: &str, files: &[(&str, &str)], values: &[(&str, &str)]) -> Vec<Edit> {
    let one = |(name, text): &(&str, &str)| Edit::write(format!("{id}/base/{name}"), filled(text, values));
    files.iter().map(one).collect()
}

/// The releases that are there from the beginning, and the settings. `capstan` is the address of Capstan's pages.
pub(super) fn releases_and_settings(capstan: &str) -> Vec<Edit> {
    let mut files = vec![
        Edit::write(".capstan.yaml", include_str!("capstan.yaml")),
        Edit::write("README.md", include_str!("README.md").replace("@capstan@", capstan)),
    ];
    files.extend(release(OLD, &AWS_BASE, &AWS_1_4));
    files.extend(release(OLD, &[("machine-deployment.yaml", AWS_FRAGMENT)], &AWS_1_4));
    files.extend(release("openstack/v2.6.0", &OPEN_STACK_BASE, &OPEN_STACK_2_6));
    files
}

/// The release that the platform team pushes.
pub(super) fn new_release() -> Vec<Edit> {
    let mut files = release(NEW, &AWS_BASE, &AWS_1_5);
    files.extend(release(NEW, &[("machine-deployment.yaml", AWS_FRAGMENT)], &AWS_1_5));
    files.extend(release(NEW, &[("machine-health-check.yaml", AWS_HEALTH_CHECK)], &AWS_1_5));
    files.push(Edit::write(format!("{NEW}/release.md"), include_str!("release.md")));
    files
}

/// The clusters, with what people did to them. `hold_until` ends the hold of [`HELD`].
pub(super) fn clusters(hold_until: Date) -> Vec<Edit> {
    let mut files: Vec<Edit> = CLUSTERS.iter().flat_map(cluster).collect();
    files.extend(overlays(hold_until));
    files
}

fn cluster(cluster: &SampleCluster) -> Vec<Edit> {
    let (customer, name) = cluster.id.split_once('/').unwrap_or(("", cluster.id));
    let (release, values, texts): (_, &[_], _) = match cluster.provider {
        SampleProvider::Aws => (OLD, &AWS_1_4, &AWS_BASE),
        SampleProvider::OpenStack => ("openstack/v2.6.0", &OPEN_STACK_2_6, &OPEN_STACK_BASE),
    };
    let name = format!("{customer}-{name}");
    let namespace = format!("org-{customer}");
    let workers = cluster.workers.to_string();
    let variables = [
        ("${CLUSTER_NAME}", name.as_str()),
        ("${NAMESPACE}", &namespace),
        ("${AWS_REGION}", cluster.region),
        ("${POD_CIDR}", cluster.pods),
        ("${REPLICAS}", &workers),
    ];
    let mut files: Vec<(&str, &str)> = texts.to_vec();
    if cluster.provider == SampleProvider::Aws {
        files.push(("machine-deployment.yaml", AWS_DEPLOYMENT));
    }
    let write = |(file, text): (&str, &str)| {
        let text = edited(cluster.id, file, filled(&filled(text, values), &variables));
        Edit::write(format!("{}/base/{file}", cluster.id), text)
    };
    let mut edits: Vec<Edit> = files.into_iter().map(write).collect();
    edits.push(Edit::write(
        format!("{}/capstan.yaml", cluster.id),
        format!("release: {release}\nvariables:\n  CLUSTER_NAME: {name}\n  NAMESPACE: {namespace}\n"),
    ));
    edits
}

/// What somebody did to a file of a base since it was copied from the release.
fn edited(cluster: &str, file: &str, text: String) -> String {
    match (cluster, file) {
        (CONFLICTING, "workers.yaml") => text.replace(
            "instanceType: m5.xlarge",
            "instanceType: r6i.2xlarge   # gabi: the search index wants memory",
        ),
        // Upgraded by hand in an emergency.
        (AHEAD, "control-plane.yaml" | "machine-deployment.yaml") => text.replace("v1.31.9", "v1.33.1"),
        // A merge that was not finished.
        (BROKEN, "workers.yaml") => text.replace(
            "      instanceType: m5.xlarge\n",
            "<<<<<<< HEAD\n      instanceType: m5.xlarge\n=======\n      instanceType: m5.2xlarge\n>>>>>>> bigger-workers\n",
        ),
        _ => text,
    }
}

fn overlays(hold_until: Date) -> [Edit; 6] {
    let hold = format!(
        "# Quarterly figures run until then.\nhold: {{reason: quarterly figures, until: {hold_until}}}\n"
    );
    [
        Edit::write(format!("{HELD}/overlay/capstan.yaml"), hold),
        Edit::write(
            "gauss/prod-eu/overlay/workers.yaml",
            "# Our shutdown hooks need the time.\n\
             apiVersion: cluster.x-k8s.io/v1beta1\n\
             kind: MachineDeployment\n\
             metadata:\n  name: gauss-prod-eu-md-0\n  namespace: org-gauss\n\
             spec:\n  template:\n    spec:\n      nodeDrainTimeout: 45m\n",
        ),
        Edit::write(
            "euler/web/base/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\n\
             kind: Kustomization\n\
             resources:\n- cluster.yaml\n- control-plane.yaml\n- machine-deployment.yaml\n- workers.yaml\n",
        ),
        Edit::write(
            "euler/web/overlay/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\n\
             kind: Kustomization\n\
             resources:\n- ../base\n- priority-classes.yaml\n\
             patches:\n- path: labels.yaml\n",
        ),
        Edit::write(
            "euler/web/overlay/priority-classes.yaml",
            "apiVersion: v1\n\
             kind: ConfigMap\n\
             metadata:\n  name: euler-web-priority-classes\n  namespace: org-euler\n\
             data:\n  shop: \"1000\"\n  batch: \"100\"\n",
        ),
        Edit::write(
            "euler/web/overlay/labels.yaml",
            "apiVersion: cluster.x-k8s.io/v1beta1\n\
             kind: Cluster\n\
             metadata:\n  name: euler-web\n  namespace: org-euler\n  labels:\n    cost-centre: \"4711\"\n",
        ),
    ]
}

/// A customer's own change: a machine template edited under its name, which CAPI ignores or refuses.
pub(super) fn edited_template() -> Edit {
    let path = "gauss/prod-eu/base/workers.yaml";
    let workers = CLUSTERS.iter().find(|one| one.id == "gauss/prod-eu").map(cluster).unwrap_or_default();
    let text = workers.into_iter().find_map(|edit| match edit {
        Edit::Write { path: found, content } if found == path => String::from_utf8(content).ok(),
        Edit::Write { .. } | Edit::Remove { .. } => None,
    });
    Edit::write(path, text.unwrap_or_default().replace("size: 120", "size: 250"))
}
