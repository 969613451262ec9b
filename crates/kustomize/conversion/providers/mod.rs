//! Kinds of providers whose shape changes between two versions: a table for each provider and pair of versions, and one
//! engine that reads them all.
//!
//! What a table does not name has the same place and shape in both versions. Where the repository has the newer
//! version's definition, it judges the result besides ([`definitions`](super::definitions)).
//!
//! | file | idea |
//! |---|---|
//! | `rule` | the words of a table |
//! | `run` | an object during its conversion, and the result so far |
//! | `engine` | does a table's rules on it |
//! | the others | the tables, each with what a table cannot say |
//!
//! A rule has one of four verdicts: the new field is written; it is written and the plan says why; a person is asked,
//! with both meanings and what to write; it is refused by name.

mod alike;
mod aws;
mod cloudstack;
mod engine;
mod hetzner;
mod ibm;
mod in_cluster;
mod k0smotron;
mod k3s;
mod metal3;
mod openstack_v1alpha6;
mod openstack_v1alpha7;
mod openstack_v1beta1;
mod oracle;
mod proxmox;
mod rke2;
mod rule;
mod run;
mod scaleway;
#[cfg(test)]
mod tests;
mod vsphere;

use super::refusal::Refusals;
use super::step::{AtHand, ConversionNote, ConversionStep};
use rule::ConversionTable;
pub use rule::ServedSince;
use run::TableRun;

use capstan_model::object::FieldPath;
use capstan_yaml::Node;

const TABLES: &[&ConversionTable] = &[
    &openstack_v1alpha6::TABLE,
    &openstack_v1alpha7::TABLE,
    &openstack_v1beta1::TABLE,
    &metal3::TABLE,
    &vsphere::GOVMOMI,
    &vsphere::SUPERVISOR,
    &rke2::OLD_PLANES,
    &rke2::OLD_CONFIGS,
    &rke2::PLANES,
    &rke2::CONFIGS,
    &proxmox::TABLE,
    &k0smotron::BOOTSTRAP,
    &k0smotron::PLANES,
    &k0smotron::HOSTED_CLUSTERS,
    &k0smotron::INFRASTRUCTURE,
    &hetzner::TABLE,
    &k3s::PLANES,
    &k3s::CONFIGS,
    &in_cluster::TABLE,
    &oracle::TABLE,
    &cloudstack::OLD,
    &cloudstack::TABLE,
    &aws::INFRASTRUCTURE,
    &aws::PLANES,
    &aws::CONFIGS,
    &scaleway::TABLE,
    &ibm::VPC,
    &ibm::POWER_VS,
    &alike::KAMAJI,
    &alike::AZURE,
    &alike::TALOS,
    &alike::HARVESTER,
    &alike::AGENT,
    &alike::EXTENSIONS,
];

/// The tables that lead from one version of a kind to another, in order.
pub(super) fn way(group: &str, kind: &str, from: &str, to: &str) -> Option<Vec<&'static ConversionTable>> {
    let mut way = Vec::new();
    for table in tables_after(group, kind, from) {
        way.push(table);
        if table.versions.1 == to {
            return Some(way);
        }
    }
    None
}

/// The versions to which the tables lead from one, in order.
pub(super) fn versions_after(group: &str, kind: &str, from: &str) -> Vec<&'static str> {
    tables_after(group, kind, from).map(|table| table.versions.1).collect()
}

/// From which release on a version of a kind is served, where a table leads to it.
pub(super) fn served_since(group: &str, kind: &str, version: &str) -> Option<ServedSince> {
    let leads_there = |table: &&&ConversionTable| {
        table.group == group && table.versions.1 == version && table.speaks_of(kind)
    };
    TABLES.iter().find(leads_there)?.since
}

fn tables_after(group: &str, kind: &str, from: &str) -> impl Iterator<Item = &'static ConversionTable> {
    let after = move |now: &str| {
        let knows = |table: &&&ConversionTable| {
            table.group == group && table.versions.0 == now && table.speaks_of(kind)
        };
        TABLES.iter().find(knows).copied()
    };
    std::iter::successors(after(from), move |table| after(table.versions.1))
}

/// What the tables make of an object: the steps but for `apiVersion`, and what is to be said of them.
pub(super) fn steps(
    object: &Node,
    kind: &str,
    way: &[&ConversionTable],
    at_hand: AtHand,
) -> Result<(Vec<ConversionStep>, Vec<ConversionNote>), Refusals> {
    let mut run = TableRun::new(object, at_hand);
    run.step(ConversionStep::Remove { at: FieldPath::root().key("status") });
    for table in way {
        run.parts(kind, table.parts);
    }
    Refusals::none(run.refused).map(|()| (run.steps, run.notes))
}
