//! What an answer of a workload cluster means for a service.

use capstan_live::services::{Problem, ServiceCause};
use capstan_model::object::ObjectId;
use capstan_ports::LiveError;

/// What an answer of a workload cluster means for a service; `None` where this process leads no more, which says
/// nothing about that cluster.
pub fn problem_of(error: &LiveError, object: Option<&ObjectId>) -> Option<Problem> {
    let problem = match error {
        LiveError::NotLeading { .. } => return None,
        LiveError::Unreachable { reason, .. } => {
            let (cause, words) = if reason.contains("certificate") {
                (
                    ServiceCause::WorkloadCertificate,
                    "the API of the cluster shows a certificate that is not of the authority in its kubeconfig",
                )
            } else {
                (ServiceCause::WorkloadUnreachable, "the API of the cluster does not answer")
            };
            return Some(Problem::plain(cause, format!("{words}: {reason}")));
        }
        LiveError::Refused { refusal, .. } => {
            Problem::plain(ServiceCause::Refused(refusal.kind), refusal.message.clone())
        }
        LiveError::Malformed { reason, .. } => {
            Problem::plain(ServiceCause::ServiceNotRendered, reason.clone())
        }
        LiveError::TooMuch { .. } => Problem::plain(ServiceCause::TooManyObjects, error.to_string()),
    };
    Some(Problem { object: object.cloned(), ..problem })
}

/// Whether a problem is one of the cluster, and so all its services'.
pub const fn is_of_cluster(problem: &Problem) -> bool {
    matches!(problem.cause, ServiceCause::WorkloadUnreachable | ServiceCause::WorkloadCertificate)
}
