//! Whether what is named is there, and fits.

use std::collections::BTreeSet;

use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::spelling;

use super::ask::CloudAsk;
use super::brought::ControllerObject;
use super::facts::{CloudAnswer, CloudFacts, Image, MachineType, Thing, Unanswered};
use super::group::Group;
use super::named::CloudSelector;
use super::reason::{CloudReason, Weight};
use super::words::Words;

/// What kubeadm asks of a machine of a control plane
/// (<https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/install-kubeadm/#before-you-begin>).
const LEAST_CORES: u64 = 2;
const LEAST_RAM_MIB: u64 = 2048;

/// How many ids a message lists if several match.
const MOST_IDS: usize = 5;

/// Reasons, each once.
#[derive(Debug)]
pub(super) struct NameReasons {
    /// What people call things there.
    pub(super) words: &'static Words,
    /// What the folder has made: it may not be there yet.
    pub(super) made: Vec<ControllerObject>,
    pub(super) reasons: Vec<CloudReason>,
}

impl NameReasons {
    /// Whether the folder has that made, as far as anybody can tell.
    fn makes(&self, thing: Thing, named: &CloudSelector) -> bool {
        let is_it = |name: &String| named.means("", name, &[]);
        self.made.iter().any(|made| made.thing == thing && made.name.as_ref().is_none_or(is_it))
    }

    pub(super) fn impossible(
        &mut self,
        kind: &'static str,
        object: &ObjectId,
        field: &FieldPath,
        message: String,
    ) {
        self.add(kind, Weight::Impossible, object, field, message);
    }

    pub(super) fn not_answered(&mut self, object: &ObjectId, field: &FieldPath, message: String) {
        self.add("CloudNotAnswered", Weight::Unknown, object, field, message);
    }

    fn add(
        &mut self,
        kind: &'static str,
        weight: Weight,
        object: &ObjectId,
        field: &FieldPath,
        message: String,
    ) {
        let reason = CloudReason { kind, weight, message, object: object.clone(), field: field.clone() };
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// What was found out; `None` if the cloud did not answer, which is added to the reasons.
    fn known<'f, T>(
        &mut self,
        answer: &'f CloudAnswer<T>,
        what: &str,
        object: &ObjectId,
        field: &FieldPath,
    ) -> Option<&'f T> {
        match answer {
            Ok(facts) => Some(facts),
            Err(Unanswered(why)) => {
                self.not_answered(object, field, format!("it is unknown whether there is {what}: {why}"));
                None
            }
        }
    }
}

pub(super) fn judge(ask: &CloudAsk, facts: &CloudFacts, found: &mut NameReasons) {
    for group in ask.groups.iter().filter(|group| group.makes_machines()) {
        machines(group, facts, found);
    }
    for cluster in &ask.clusters {
        for (network, field) in &cluster.networks {
            self::network(network, &cluster.object, field, facts, found);
        }
        if cluster.finds_external {
            external(&cluster.object, facts, found);
        }
        for (zone, field) in &cluster.zones {
            self::zone(zone, &cluster.object, field, facts, found);
        }
    }
}

fn machines(group: &Group, facts: &CloudFacts, found: &mut NameReasons) {
    let machine = &group.machine;
    let object = &machine.template;
    let machine_type = machine_type(group, facts, found);
    let image = image(group, facts, found);
    if let (Some(machine_type), Some((_, field))) = (machine_type, &machine.machine_type) {
        fits(group, machine_type, image, field, found);
    }
    if let (Some(image), Some(size), Some((_, field))) = (image, machine.root_volume, &machine.image)
        && size < image.min_disk_gib
    {
        let message = format!(
            "the image `{}` needs a disk of {} GiB, but the root volume has {size} GiB: make it larger",
            image.name, image.min_disk_gib
        );
        found.impossible("DiskTooSmall", object, field, message);
    }
    if let Some((name, field)) = &machine.key_pair
        && let Some(all) = found.known(&facts.key_pairs, &format!("a key pair `{name}`"), object, field)
        && !all.contains(name)
        && !found.makes(Thing::KeyPair, &CloudSelector::name(name))
    {
        let near = hint(&CloudSelector::name(name), all.iter().map(String::as_str));
        let message = format!(
            "there is no key pair `{name}`. Key pairs belong to a user: it must be one of this credential's user{near}"
        );
        found.impossible(found.words.not_there(Thing::KeyPair), object, field, message);
    }
    if let Some((group, field)) = &machine.placement_group
        && let Some(all) = found.known(
            &facts.placement_groups,
            &format!("a {} {group}", found.words.placement_group),
            object,
            field,
        )
    {
        let ids = all.iter().filter(|one| group.means(&one.id, &one.name, &[])).map(|one| one.id.as_str());
        let near = hint(group, all.iter().map(|one| one.name.as_str()));
        exactly_one(
            Reference { thing: Thing::PlacementGroup, named: group, object, field },
            ids,
            &near,
            found,
        );
    }
    for (network, field) in &machine.networks {
        self::network(network, object, field, facts, found);
    }
    if let Some((zone, field)) = &group.zone {
        self::zone(zone, &group.owner, field, facts, found);
    }
}

fn machine_type<'f>(
    group: &Group,
    facts: &'f CloudFacts,
    found: &mut NameReasons,
) -> Option<&'f MachineType> {
    let object = &group.machine.template;
    let (named, field) = group.machine.machine_type.as_ref()?;
    let words = found.words;
    let all =
        found.known(&facts.machine_types, &format!("a {} {named}", words.machine_type), object, field)?;
    let one = all.iter().find(|one| named.means(&one.id, &one.name, &[]));
    if one.is_none() && !found.makes(Thing::MachineType, named) {
        let near = hint(named, all.iter().map(|one| one.name.as_str()));
        let message =
            format!("there is no {} {named} that the {} may use{near}", words.machine_type, words.account);
        found.impossible(words.not_there(Thing::MachineType), object, field, message);
    }
    one
}

fn image<'f>(group: &Group, facts: &'f CloudFacts, found: &mut NameReasons) -> Option<&'f Image> {
    let object = &group.machine.template;
    let (named, field) = group.machine.image.as_ref()?;
    let all = found.known(&facts.images, &format!("an image {named}"), object, field)?;
    let mut meant: Vec<&Image> =
        all.iter().filter(|image| named.means(&image.id, &image.name, &image.tags)).collect();
    // If a bootable image matches, ignore those that are not bootable yet or any more.
    if meant.iter().any(|image| image.not_bootable.is_none()) {
        meant.retain(|image| image.not_bootable.is_none());
    }
    let ids = meant.iter().map(|image| image.id.as_str());
    let near = hint(named, all.iter().map(|image| image.name.as_str()));
    if !exactly_one(Reference { thing: Thing::Image, named, object, field }, ids, &near, found) {
        return None;
    }
    let image = meant.first()?;
    if let Some(status) = &image.not_bootable {
        let bootable = found.words.bootable;
        let message = format!(
            "the image {named} is `{status}`, but a machine can only boot an `{bootable}` image: upload it, or wait until it is {bootable}"
        );
        found.impossible("ImageNotActive", object, field, message);
        return None;
    }
    Some(image)
}

/// Whether machines of a type can be made from the image, and become what they are to become.
fn fits(
    group: &Group,
    machine_type: &MachineType,
    image: Option<&Image>,
    field: &FieldPath,
    found: &mut NameReasons,
) {
    let words = found.words;
    let (what, too_small) = (words.machine_type, words.machine_type_reasons[1]);
    let object = &group.machine.template;
    let name = &machine_type.name;
    if group.sized_by_kubeadm && (machine_type.cores < LEAST_CORES || machine_type.ram_mib < LEAST_RAM_MIB) {
        let message = format!(
            "kubeadm refuses the {what} `{name}` for a control plane: it has {} vCPU and {} MiB, but at least {LEAST_CORES} vCPU and {LEAST_RAM_MIB} MiB are required",
            machine_type.cores, machine_type.ram_mib
        );
        found.impossible(too_small, object, field, message);
    }
    if group.machine.root_volume.is_none() {
        if machine_type.disk_gib == 0 {
            let message = format!("the {what} `{name}` has no disk, and {}", words.no_disk);
            found.impossible("DiskTooSmall", object, field, message);
        } else if let Some(image) = image.filter(|image| image.min_disk_gib > machine_type.disk_gib) {
            let message = format!(
                "the image `{}` needs a disk of {} GiB, but the {what} `{name}` has {} GiB: use a larger one, or add a `{}`",
                image.name, image.min_disk_gib, machine_type.disk_gib, words.root_volume
            );
            found.impossible("DiskTooSmall", object, field, message);
        }
    }
    if let Some(image) = image.filter(|image| image.min_ram_mib > machine_type.ram_mib) {
        let message = format!(
            "the image `{}` needs {} MiB of memory, but the {what} `{name}` has {} MiB",
            image.name, image.min_ram_mib, machine_type.ram_mib
        );
        found.impossible(too_small, object, field, message);
    }
}

fn network(
    named: &CloudSelector,
    object: &ObjectId,
    field: &FieldPath,
    facts: &CloudFacts,
    found: &mut NameReasons,
) {
    let Some(all) = found.known(&facts.networks, &format!("a network {named}"), object, field) else {
        return;
    };
    let ids = all.iter().filter(|one| named.means(&one.id, &one.name, &one.tags)).map(|one| one.id.as_str());
    let near = hint(named, all.iter().map(|one| one.name.as_str()));
    exactly_one(Reference { thing: Thing::Network, named, object, field }, ids, &near, found);
}

/// Without a name the provider takes the one external network that there is; none is allowed, several are not.
fn external(object: &ObjectId, facts: &CloudFacts, found: &mut NameReasons) {
    let field = FieldPath::of_keys(["spec"]);
    let Some(all) = found.known(&facts.networks, "one external network", object, &field) else { return };
    let external: Vec<&str> = all.iter().filter(|one| one.external).map(|one| one.id.as_str()).collect();
    if external.len() > 1 {
        let message = format!(
            "the {} sees {} external networks ({}), so the provider does not know which to use: name one in `{}`",
            found.words.account,
            external.len(),
            listed(external.iter().copied()),
            found.words.external_network
        );
        found.impossible("NetworkAmbiguous", object, &field, message);
    }
}

fn zone(zone: &str, object: &ObjectId, field: &FieldPath, facts: &CloudFacts, found: &mut NameReasons) {
    let what = format!("an availability zone `{zone}`");
    let Some(all) = found.known(&facts.zones, &what, object, field) else { return };
    if !all.iter().any(|one| one == zone) {
        let known: BTreeSet<&str> = all.iter().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { listed(known.into_iter()) };
        let message =
            format!("there is no availability zone `{zone}` that can be used now; there is {known}");
        found.impossible("ZoneNotThere", object, field, message);
    }
}

/// `; did you mean `ubuntu-24.04`?`, where something is named like that.
fn hint<'n>(named: &CloudSelector, known: impl Iterator<Item = &'n str>) -> String {
    let CloudSelector::Filter { name: Some(name), .. } = named else { return String::new() };
    spelling::suggestion(name, known.filter(|known| *known != name.as_str()))
}

/// Where an object of the folder names a thing of the cloud.
struct Reference<'r> {
    thing: Thing,
    named: &'r CloudSelector,
    object: &'r ObjectId,
    field: &'r FieldPath,
}

/// Says so where not exactly one thing is meant; where none is, with what is named nearly so.
fn exactly_one<'i>(
    Reference { thing, named, object, field }: Reference<'_>,
    ids: impl Iterator<Item = &'i str>,
    near: &str,
    found: &mut NameReasons,
) -> bool {
    let ids: Vec<&str> = ids.collect();
    let words = found.words;
    let what = words.noun(thing);
    match ids.len() {
        1 => return true,
        0 if found.makes(thing, named) => {}
        0 => {
            let message = format!("there is no {what} {named} that the {} sees{near}", words.account);
            found.impossible(words.not_there(thing), object, field, message);
        }
        several => {
            let message = format!(
                "{several} {what}s match {named} ({}): name one by its id, or remove the others",
                listed(ids.iter().copied())
            );
            found.impossible(words.ambiguous(thing), object, field, message);
        }
    }
    false
}

fn listed<'i>(ids: impl Iterator<Item = &'i str>) -> String {
    let ids: Vec<&str> = ids.collect();
    let mut text = ids.iter().take(MOST_IDS).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    if ids.len() > MOST_IDS {
        text.push_str(&format!(" and {} more", ids.len() - MOST_IDS));
    }
    text
}
