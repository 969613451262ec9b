//! Why something is not done, with the object, the field and the file that it speaks of.

use capstan_kustomize::render::{PatchUse, RenderedObject};
use capstan_live::applying::{ApiRefusal, ForeignObject, GuardBroken};
use capstan_model::finding::{Place, Severity};
use capstan_model::object::{FieldPath, ObjectId};

use crate::resources::PlaceStatus;
use capstan_fleet::generator::Refused;
use capstan_ports::LiveError;

/// The kind of a reason that says nothing of the commit: the API server does not answer now.
pub const AWAY: &str = "ManagementClusterAway";
/// The kind of a reason that says nothing of the commit: the API server did not answer, and will not in a moment.
pub const NOT_ANSWERED: &str = "NotAnswered";
/// A control plane does not get the version of Kubernetes that Git says, which a person has to allow.
pub const KUBERNETES_NOT_ALLOWED: &str = "KubernetesNotAllowed";
/// Its machines are replaced later, because enough other clusters replace theirs.
pub const ROLLS_LATER: &str = "RollsLater";
/// Others applied objects before, and nobody allowed that they are taken over.
pub const ADOPTION_NEEDED: &str = "AdoptionNeeded";
/// A cluster was deleted, with everything that was made for it.
pub const REMOVED: &str = "Removed";

/// One reason. Holds no values of Secrets, files or data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// How bad: an error refuses, a warning tells.
    pub severity: Severity,
    /// A CamelCase word of a closed set, or the id of a rule.
    pub kind: &'static str,
    /// One or two sentences: what was found and what to do.
    pub message: String,
    pub object: Option<ObjectId>,
    pub field: Option<FieldPath>,
    /// Where it is set.
    pub place: Option<Place>,
}

/// The API server said nothing of the objects.
pub fn not_answered(error: &LiveError) -> Reason {
    let kind = if error.worth_retrying() { AWAY } else { NOT_ANSWERED };
    Reason { severity: Severity::Warning, ..Reason::plain(kind, error.to_string()) }
}

impl Reason {
    /// A reason that no file is to blame for.
    pub fn plain(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            kind,
            message: message.into(),
            object: None,
            field: None,
            place: None,
        }
    }

    /// Why a folder cannot be read or rendered.
    pub fn of_refused(kind: &'static str, refused: Refused) -> Self {
        Self { place: refused.place, ..Self::plain(kind, refused.message) }
    }

    /// Something that a folder may not bring.
    pub fn of_outside(outside: &ForeignObject) -> Self {
        Self {
            object: Some(outside.object.clone()),
            field: Some(outside.field.clone()),
            ..Self::plain(outside.reason(), outside.to_string())
        }
        .written(outside.written.clone())
    }

    /// What a render would do to the live cluster that no cluster survives.
    pub fn of_guard(broken: &GuardBroken) -> Self {
        Self {
            object: Some(broken.object.clone()),
            field: Some(broken.field.clone()),
            ..Self::plain(broken.reason(), broken.to_string())
        }
        .written(broken.written.clone())
    }

    /// A patch that could not be applied; `None` for one that could.
    pub fn of_lost_patch(patch: &PatchUse) -> Option<Self> {
        let lost = patch.lost.as_ref()?;
        let message =
            format!("the patch of {} is lost: {lost}. Correct its target, or remove it", patch.target);
        Some(Self::plain("PatchLost", message).written(Place::from(&patch.place)))
    }

    /// Something about a field of a rendered object, with the place that sets it.
    pub fn of_object(
        kind: &'static str,
        message: impl Into<String>,
        object: &RenderedObject,
        field: &FieldPath,
    ) -> Self {
        Self { object: Some(object.id.clone()), field: Some(field.clone()), ..Self::plain(kind, message) }
            .written(object.written_at(field))
    }

    /// What the API server answered about a rendered object.
    pub fn of_refusal(refusal: &ApiRefusal, object: &RenderedObject) -> Self {
        let (field, written) = refusal.place(object);
        Self {
            object: Some(object.id.clone()),
            field: Some(field),
            ..Self::plain(refusal.kind.as_str(), refusal.message.clone())
        }
        .written(written)
    }

    /// With the place where it was written.
    #[must_use]
    pub fn written(self, written: Place) -> Self {
        Self { place: Some(written), ..self }
    }

    /// The reason, as a status holds it.
    pub fn to_status(&self) -> PlaceStatus {
        PlaceStatus {
            reason: self.kind.to_owned(),
            message: self.message.clone(),
            object: self.object.as_ref().map(ToString::to_string),
            field: self.field.as_ref().filter(|field| !field.is_root()).map(ToString::to_string),
            file: self.place.as_ref().map(|place| place.file().to_string()),
            line: self.place.as_ref().and_then(Place::line),
        }
    }

    /// One line: `gauss/peu01/base/cp.yaml:7: KubeadmControlPlane my-org/peu01: cannot …`.
    pub fn line(&self) -> String {
        let mut text = String::new();
        if let Some(place) = &self.place {
            text.push_str(&format!("{}: ", place.clone().without_column()));
        }
        if let Some(object) = &self.object {
            text.push_str(&format!("{object}: "));
        }
        text.push_str(&self.message);
        text
    }
}
