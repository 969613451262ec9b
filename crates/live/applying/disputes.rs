//! Objects that a folder renders and has not applied, and that are perhaps another's: a folder's beside it, or a
//! folder's of another Fleet.
//!
//! If two folders render an object that neither has applied, their states decide. A folder that is refused for another
//! reason owns nothing, so the other may have the object. If neither is refused, neither gets it.

use super::inventory::AppliedInventory;
use capstan_kustomize::render::RenderedObject;
use capstan_model::ids::ClusterId;
use capstan_model::object::FieldPath;
use capstan_plan::boundary::{Beyond, ForeignObject};

/// The state of the other folder that renders the same object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rival {
    /// It has applied the object meanwhile.
    HasApplied,
    /// Its present content has not been checked yet.
    Untried,
    /// It is refused, and not for the object.
    Refused,
    /// Nothing else keeps it from applying the object.
    Able,
}

/// What becomes of an object that two folders render.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dispute {
    /// It is this folder's to apply.
    Won,
    /// It is not.
    Lost(ForeignObject),
    /// That is not known yet: it passes by itself.
    Open(ForeignObject),
}

/// Settles what [`boundary()`](super::boundary()) found to be rendered by two folders.
pub fn settle(found: ForeignObject, rival: Rival) -> Dispute {
    let Beyond::TwoFolders(other) = found.why.clone() else { return Dispute::Lost(found) };
    match rival {
        Rival::HasApplied => Dispute::Lost(ForeignObject { why: Beyond::AnothersObject(other), ..found }),
        Rival::Untried => Dispute::Open(found),
        Rival::Refused => Dispute::Won,
        Rival::Able => Dispute::Lost(found),
    }
}

/// What a folder of another Fleet has applied, or is about to.
#[derive(Debug, Clone)]
pub struct OtherFleet {
    /// The Fleet's name.
    pub fleet: String,
    pub folder: ClusterId,
    /// What it has applied.
    pub inventory: AppliedInventory,
}

/// The objects of a render that folders of other Fleets have. What this folder has applied itself is its own.
/// `rendered` may have the names in Git or the live ones.
pub fn of_other_fleets(
    rendered: &[RenderedObject],
    inventory: &AppliedInventory,
    elsewhere: &[OtherFleet],
) -> Vec<ForeignObject> {
    let new = rendered.iter().filter(|object| is_new(object, inventory));
    let found = new.filter_map(|object| {
        let has = |other: &&OtherFleet| {
            let mut entries = other.inventory.objects().iter();
            entries.any(|entry| entry.id() == object.id || entry.logical_id() == object.id)
        };
        let other = elsewhere.iter().find(has)?;
        let why = Beyond::AnotherFleets { fleet: other.fleet.clone(), folder: other.folder.clone() };
        Some(ForeignObject::of(object, FieldPath::root(), why))
    });
    found.collect()
}

/// Whether a folder has not applied an object yet, as far as its inventory tells.
pub fn is_new(object: &RenderedObject, inventory: &AppliedInventory) -> bool {
    !inventory
        .objects()
        .iter()
        .any(|entry| entry.uid.is_some() && (entry.id() == object.id || entry.logical_id() == object.id))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{id, objects};
    use super::*;
    use capstan_model::tree::RepoPath;

    fn folder(id: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(id).unwrap())
    }

    const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: org}\n";

    fn applied() -> AppliedInventory {
        let mut inventory = AppliedInventory::default();
        inventory.intend(&id("ConfigMap org/shared"), "v1", "shared");
        inventory.applied(&id("ConfigMap org/shared"), "uid");
        inventory
    }

    #[test]
    fn who_is_refused_otherwise_loses_the_object_that_two_render() {
        let object = &objects(MAP)[0];
        let found = ForeignObject::of(object, FieldPath::root(), Beyond::TwoFolders(folder("two")));
        let anothers = ForeignObject::of(object, FieldPath::root(), Beyond::AnothersObject(folder("two")));
        assert_eq!(settle(found.clone(), Rival::Refused), Dispute::Won);
        assert_eq!(settle(found.clone(), Rival::Untried), Dispute::Open(found.clone()));
        assert_eq!(settle(found.clone(), Rival::Able), Dispute::Lost(found.clone()));
        assert_eq!(settle(found, Rival::HasApplied), Dispute::Lost(anothers));
    }

    #[test]
    fn what_a_folder_of_another_fleet_has_is_not_taken() {
        let other = |inventory| OtherFleet { fleet: "other".to_owned(), folder: folder("theirs"), inventory };
        let found = |own: &AppliedInventory, theirs: AppliedInventory| -> Vec<String> {
            of_other_fleets(&objects(MAP), own, &[other(theirs)]).iter().map(ToString::to_string).collect()
        };
        let said = "ConfigMap org/shared belongs to the Fleet other, which applies it from the folder theirs. An object belongs to one folder: rename it, or remove it there first";
        assert_eq!(found(&AppliedInventory::default(), applied()), [said]);
        let mut intended = AppliedInventory::default();
        intended.intend(&id("ConfigMap org/shared"), "v1", "shared");
        assert_eq!(
            found(&AppliedInventory::default(), intended.clone()),
            [said],
            "whoever is about to apply it has it"
        );
        assert_eq!(found(&intended, applied()), [said], "who only meant to apply it has it not");
        assert_eq!(found(&applied(), AppliedInventory::default()), [""; 0]);
        assert_eq!(found(&applied(), applied()), [""; 0], "nobody is taken what it has");
    }
}
