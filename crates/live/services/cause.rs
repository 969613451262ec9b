//! Why a service is not ready.

use capstan_model::finding::Place;
use capstan_model::object::ObjectId;

use super::state::ServiceState;
use crate::applying::RefusalKind;

/// Why a service is not ready. Each has one word, which `docs/troubleshooting.md` explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceCause {
    /// The API of the cluster is not there yet.
    ControlPlaneNotInitialized,
    /// A service that comes before it is not ready.
    WaitsForService,
    /// Machines roll, and its turn comes later.
    WaitsForRollout,
    /// Cluster API has not written the kubeconfig yet.
    WaitsForKubeconfig,
    /// The kubeconfig holds what may not count.
    KubeconfigRefused,
    /// Another Cluster's kubeconfig leads to the same API server.
    WorkloadShared,
    /// The API of the cluster does not answer.
    WorkloadUnreachable,
    /// The API of the cluster shows a certificate that the kubeconfig's authority did not sign.
    WorkloadCertificate,
    /// Its folder, or the list of services, cannot be used.
    ServiceNotRendered,
    /// Another service of the cluster has the object.
    TwoServices,
    /// Another network of pods is there, and its switch is not allowed.
    CniSwitchRefused,
    /// Others applied the object.
    AdoptionNeeded,
    /// The API of the cluster refuses an object.
    Refused(RefusalKind),
    /// There are too many objects to be looked through.
    TooManyObjects,
    /// An object is not there.
    ObjectMissing,
    /// An object is not ready yet.
    ObjectNotReady,
    /// An object has failed, by what its controller says.
    ObjectFailed,
    /// Pods of a workload do not come to run.
    PodFailing,
    /// What its role promises is not so yet.
    RoleNotMet,
    CheckFalse,
    /// A check cannot be evaluated.
    CheckInvalid,
    /// It is switched off, and objects of it are going.
    ServiceGoes,
    /// It is switched off, and objects of it are kept.
    ServiceKept,
}

impl ServiceCause {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ControlPlaneNotInitialized => "ControlPlaneNotInitialized",
            Self::WaitsForService => "WaitsForService",
            Self::WaitsForRollout => "WaitsForRollout",
            Self::WaitsForKubeconfig => "WaitsForKubeconfig",
            Self::KubeconfigRefused => "KubeconfigRefused",
            Self::WorkloadShared => "WorkloadShared",
            Self::WorkloadUnreachable => "WorkloadUnreachable",
            Self::WorkloadCertificate => "WorkloadCertificate",
            Self::ServiceNotRendered => "ServiceNotRendered",
            Self::TwoServices => "TwoServices",
            Self::CniSwitchRefused => "CniSwitchRefused",
            Self::AdoptionNeeded => "AdoptionNeeded",
            Self::Refused(kind) => kind.as_str(),
            Self::TooManyObjects => "TooManyObjects",
            Self::ObjectMissing => "ObjectMissing",
            Self::ObjectNotReady => "ObjectNotReady",
            Self::ObjectFailed => "ObjectFailed",
            Self::PodFailing => "PodFailing",
            Self::RoleNotMet => "RoleNotMet",
            Self::CheckFalse => "CheckFalse",
            Self::CheckInvalid => "CheckInvalid",
            Self::ServiceGoes => "ServiceGoes",
            Self::ServiceKept => "ServiceKept",
        }
    }

    /// The state of a service for that cause alone.
    pub const fn state(self) -> ServiceState {
        match self {
            Self::ControlPlaneNotInitialized
            | Self::WaitsForService
            | Self::WaitsForRollout
            | Self::WaitsForKubeconfig => ServiceState::Waiting,
            Self::WorkloadUnreachable | Self::WorkloadCertificate => ServiceState::Unknown,
            Self::KubeconfigRefused
            | Self::WorkloadShared
            | Self::ServiceNotRendered
            | Self::TwoServices
            | Self::CniSwitchRefused
            | Self::AdoptionNeeded
            | Self::TooManyObjects
            | Self::ObjectFailed
            | Self::CheckInvalid => ServiceState::Failed,
            Self::Refused(kind) => match kind {
                RefusalKind::Conflict
                | RefusalKind::Terminating
                | RefusalKind::StillCompleting
                | RefusalKind::TooManyRequests
                | RefusalKind::Webhook
                | RefusalKind::Server => ServiceState::Progressing,
                _ => ServiceState::Failed,
            },
            Self::ObjectMissing
            | Self::ObjectNotReady
            | Self::PodFailing
            | Self::RoleNotMet
            | Self::CheckFalse => ServiceState::Progressing,
            Self::ServiceGoes | Self::ServiceKept => ServiceState::Removing,
        }
    }
}

/// One thing that keeps a service from being ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Why.
    pub cause: ServiceCause,
    /// The object that it is about.
    pub object: Option<ObjectId>,
    /// What was found, in its controller's words where it has any, at most 512 characters of them; and what to do.
    pub words: String,
    /// Which of the `checks`, from 0.
    pub check: Option<usize>,
    /// The file that is to blame, where no rendered object says it.
    pub place: Option<Place>,
}

impl Problem {
    /// One that no object is to blame for.
    pub fn plain(cause: ServiceCause, words: impl Into<String>) -> Self {
        Self { cause, object: None, words: words.into(), check: None, place: None }
    }

    /// One of an object.
    pub fn of(cause: ServiceCause, object: &ObjectId, words: impl Into<String>) -> Self {
        Self { object: Some(object.clone()), ..Self::plain(cause, words) }
    }

    /// `DaemonSet kube-system/cilium: 0 of 3 pods are ready`, or `services/cilium/values.yaml:3: this is not YAML: …`.
    pub fn line(&self) -> String {
        let place = self.place.as_ref().map(|place| format!("{}: ", place.clone().without_column()));
        let object = self.object.as_ref().map(|object| format!("{object}: "));
        [place, object, Some(self.words.clone())].into_iter().flatten().collect()
    }
}
