//! `contract-mismatch`

use super::evidence::ClusterEvidence;
use super::references::FieldReference;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;

pub(super) struct ContractMismatch;

static ABOUT: About =
    About::new(rules::CONTRACT_MISMATCH, include_str!("../../../docs/rules/contract-mismatch.md"));

/// The contracts, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Contract {
    V1Alpha3,
    V1Alpha4,
    /// v1beta2 reads it too.
    Beta,
}

/// The contract that an API version was made for. Providers number their own versions; their CRDs say
/// in the label `cluster.x-k8s.io/<contract>` which belong to which.
fn contract(kind: &str, version: &str) -> Option<Contract> {
    // https://github.com/kubernetes-sigs/cluster-api-provider-openstack/blob/main/config/crd/kustomization.yaml
    if kind.starts_with("OpenStack") && ["v1alpha5", "v1alpha6", "v1alpha7"].contains(&version) {
        return Some(Contract::Beta);
    }
    // https://github.com/metal3-io/cluster-api-provider-metal3/blob/main/config/crd/kustomization.yaml
    if kind.starts_with("Metal3") {
        match version {
            "v1alpha4" => return Some(Contract::V1Alpha3),
            "v1alpha5" => return Some(Contract::V1Alpha4),
            _ => {}
        }
    }
    match version {
        "v1alpha3" => Some(Contract::V1Alpha3),
        "v1alpha4" => Some(Contract::V1Alpha4),
        "v1beta1" | "v1beta2" => Some(Contract::Beta),
        // What else there is belongs to providers that are not in the table.
        _ => None,
    }
}

/// Providers whose versions are Cluster API's own, or in the table above. Of others an alpha version
/// says nothing about the contract.
const KNOWN: [&str; 9] =
    ["AWS", "Azure", "DockerC", "DockerM", "GCP", "Kubeadm", "Metal3", "OpenStack", "VSphere"];

impl PolicyRule for ContractMismatch {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for (object, named) in cluster.references() {
            let is_core = object.id.group == "cluster.x-k8s.io" || object.id.kind == "KubeadmControlPlane";
            let own = version(&object.api_version).filter(|_| is_core);
            let wanted = own.and_then(|own| contract("", own));
            verdicts.extend(wanted.and_then(|wanted| judge(object, wanted, named, cluster)));
        }
    }
}

fn version(api_version: &str) -> Option<&str> {
    api_version.rsplit_once('/').map(|(_, version)| version)
}

fn judge(
    owner: &RenderedObject,
    wanted: Contract,
    named: &FieldReference<'_>,
    cluster: &ClusterEvidence<'_>,
) -> Option<Finding> {
    if !named.group.ends_with(".cluster.x-k8s.io") || !KNOWN.iter().any(|known| named.kind.starts_with(known))
    {
        return None;
    }
    // Since v1beta2 a reference names no version: the object's own counts.
    let (written, place, object, path) = if let Some(field) = named.api_version {
        (field.as_str()?, &field.place, &owner.id, named.path.key("apiVersion"))
    } else {
        let other = cluster.named(named.kind, named.name).find(|other| other.id.group == named.group)?;
        let place = &other.placed.field("apiVersion")?.place;
        (other.api_version.as_str(), place, &other.id, FieldPath::root().key("apiVersion"))
    };
    let found = contract(named.kind, version(written)?)?;
    if found == wanted {
        return None;
    }
    let message = format!(
        "{} uses `{}` and names {} {} in `{written}`, which belongs to another contract of Cluster API: {}",
        owner.id,
        owner.api_version,
        named.kind,
        named.name,
        if found < wanted {
            "write the provider's object in a version of the same contract"
        } else {
            "write the Cluster API object in the newer version too"
        }
    );
    Some(Finding::new(rules::CONTRACT_MISMATCH, message).object(object).path(&path).place(place))
}
