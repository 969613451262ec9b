//! Cluster API K3s, v1beta1 to v1beta2
//! (<https://github.com/k3s-io/cluster-api-k3s/blob/main/controlplane/api/v1beta1/conversion.go>).

use super::rule::TableRule::{Hand, Move};
use super::rule::{ConversionTable, ServedSince, TablePart};
use super::run::TableRun;
use capstan_model::object::FieldPath;

pub(super) const PLANES: ConversionTable = ConversionTable {
    group: "controlplane.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("control-plane-k3s", "v0.2.0"),
    parts: &[TablePart {
        at: &[("KThreesControlPlane", "spec"), ("KThreesControlPlaneTemplate", "spec.template.spec")],
        rules: &[
            Move("infrastructureTemplate", "machineTemplate.infrastructureRef"),
            Move("nodeDrainTimeout", "machineTemplate.nodeDrainTimeout"),
            Move("upgradeAfter", "rolloutAfter"),
            Hand(of_plane),
        ],
    }],
};

pub(super) const CONFIGS: ConversionTable = ConversionTable {
    group: "bootstrap.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("bootstrap-k3s", "v0.2.0"),
    parts: &[TablePart {
        at: &[("KThreesConfig", "spec"), ("KThreesConfigTemplate", "spec.template.spec")],
        rules: &[Hand(cloud_provider)],
    }],
};

fn of_plane(run: &mut TableRun<'_>, base: &FieldPath) {
    cloud_provider(run, &base.key("kthreesConfigSpec"));
}

/// What one switch decides in the older version are two more fields in the newer one.
fn cloud_provider(run: &mut TableRun<'_>, base: &FieldPath) {
    let server = base.key("serverConfig");
    let switch = server.key("disableExternalCloudProvider");
    let is_disabled =
        match run.object.at(&switch).filter(|node| !node.is_null()).map(capstan_yaml::Node::value) {
            None if !run.is_whole() => return,
            None => false,
            Some(value) => match value.as_bool() {
                Some(is_disabled) => is_disabled,
                None => {
                    let why =
                        "it decides two fields of the newer version, and what it holds is not known here";
                    return run.refuse(&switch, why, "write true or false");
                }
            },
        };
    let said = [("cloudProviderName", "external", "\"\""), ("disableCloudController", "true", "false")];
    for (key, without, with) in said {
        let place = server.key(key);
        if run.object.at(&place).is_some() {
            let why = "the older version has no such field, and the newer one would act on it";
            return run.refuse(&place, why, "take it out");
        }
        run.write(&place, if is_disabled { with } else { without });
    }
    let why = "`disableExternalCloudProvider` decides it in the older version, and no longer in the newer one: the old \
               meaning is written out";
    run.note(&server.key("cloudProviderName"), why);
}
