//! What a workload cluster answers, and whose problem it is.

use capstan_live::applying::{ApiRefusal, RefusalKind};
use capstan_live::services::{Problem, ServiceCause};
use capstan_model::object::ObjectId;
use capstan_ports::LiveError;

use super::problem::{is_of_cluster, problem_of};

fn pod() -> ObjectId {
    ObjectId {
        group: String::new(),
        kind: "Pod".to_owned(),
        namespace: Some("shop".to_owned()),
        name: "a".to_owned(),
    }
}

fn away(reason: &str) -> LiveError {
    LiveError::Unreachable { doing: "listing Pod".to_owned(), reason: reason.to_owned() }
}

fn refused(kind: RefusalKind) -> LiveError {
    let refusal = ApiRefusal { status: 403, kind, message: "may not".to_owned(), causes: Vec::new() };
    LiveError::Refused { doing: "listing Pod".to_owned(), refusal }
}

#[test]
fn a_process_that_leads_no_more_says_nothing_of_the_cluster() {
    assert_eq!(problem_of(&LiveError::NotLeading { doing: "applying".to_owned() }, Some(&pod())), None);
}

#[test]
fn an_api_that_does_not_answer_is_the_problem_of_no_object() {
    for (reason, cause) in [
        ("timeout", ServiceCause::WorkloadUnreachable),
        ("", ServiceCause::WorkloadUnreachable),
        ("invalid peer certificate: UnknownIssuer", ServiceCause::WorkloadCertificate),
    ] {
        let problem = problem_of(&away(reason), Some(&pod())).unwrap();
        assert_eq!(
            (problem.cause, problem.object.is_none(), is_of_cluster(&problem)),
            (cause, true, true),
            "{reason}"
        );
    }
}

#[test]
fn a_refusal_is_the_problem_of_its_object() {
    let malformed = LiveError::Malformed { doing: "applying".to_owned(), reason: "no name".to_owned() };
    let too_much = LiveError::TooMuch { doing: "listing Pod".to_owned(), what: "100 pages".to_owned() };
    for (error, cause, message) in [
        (refused(RefusalKind::Forbidden), ServiceCause::Refused(RefusalKind::Forbidden), "may not"),
        (refused(RefusalKind::Webhook), ServiceCause::Refused(RefusalKind::Webhook), "may not"),
        (malformed, ServiceCause::ServiceNotRendered, "no name"),
        (too_much, ServiceCause::TooManyObjects, "listing Pod: 100 pages, which is too much to read"),
    ] {
        let problem = problem_of(&error, Some(&pod())).unwrap();
        assert_eq!((problem.cause, problem.words.as_str(), &problem.object), (cause, message, &Some(pod())));
        assert!(!is_of_cluster(&problem), "{error}");
    }
}

#[test]
fn a_service_that_waits_is_not_the_problem_of_its_cluster() {
    for cause in [ServiceCause::WaitsForKubeconfig, ServiceCause::WorkloadShared, ServiceCause::ObjectMissing]
    {
        assert!(!is_of_cluster(&Problem::plain(cause, "")), "{cause:?}");
    }
}
