use super::*;

fn asked<'a>(kind: ProviderKind, namespace: &'a str, name: &'a str) -> CheckedProvider<'a> {
    CheckedProvider {
        kind,
        namespace,
        name,
        version: Some("v1.13.4"),
        installed: None,
        has_source: true,
        is_ready: false,
    }
}

/// Reasons and messages as the operator v0.28.0 writes them, but for the two that it leaves unfilled or fills wrongly.
#[test]
fn the_operators_checks_have_its_reasons_and_messages() {
    use ProviderKind::{Core, Infrastructure, Ipam};
    let core = CheckedProvider { is_ready: true, ..asked(Core, "capi-system", "cluster-api") };
    let aws = asked(Infrastructure, "capa-system", "aws");
    for (provider, beside, reason, message) in [
        (
            CheckedProvider { version: Some("latest"), ..core },
            vec![],
            "IncorrectVersionFormat",
            r#"could not parse "latest" as version"#,
        ),
        (
            CheckedProvider { version: Some("v1.13"), ..core },
            vec![],
            "IncorrectVersionFormat",
            r#"illegal version string "v1.13""#,
        ),
        (
            CheckedProvider { version: Some("v1.013.0"), ..core },
            vec![],
            "IncorrectVersionFormat",
            r#"illegal zero-prefixed version component "013" in "v1.013.0""#,
        ),
        (
            CheckedProvider { version: Some("v1.13.0_1"), ..core },
            vec![],
            "IncorrectVersionFormat",
            r#"could not parse pre-release/metadata (_1) in version "v1.13.0_1""#,
        ),
        (
            CheckedProvider { installed: Some("v1.14.0"), ..core },
            vec![],
            "UnsupportedProviderDowngradeReason",
            "Downgrade is not supported for provider cluster-api",
        ),
        (
            CheckedProvider { installed: Some("v2.0.0"), ..aws },
            vec![core],
            "UnsupportedProviderDowngradeReason",
            "Downgrade is not supported for provider infrastructure-aws",
        ),
        (
            asked(Core, "capi-system", "capi"),
            vec![],
            "IncorrectCoreProviderNameReason",
            "Incorrect CoreProvider name: capi. It should be cluster-api",
        ),
        (
            CheckedProvider { has_source: false, ..asked(Infrastructure, "own-system", "own") },
            vec![core],
            "FetchConfigValidationError",
            "Either Selector, OCI URL or provider URL must be provided for a not predefined provider",
        ),
        (
            core,
            vec![core, asked(Core, "other-system", "cluster-api")],
            "MoreThanOneExists",
            "CoreProvider already exists in the cluster. Only one is allowed.",
        ),
        (
            aws,
            vec![core, aws, asked(Infrastructure, "other-system", "aws")],
            "MoreThanOneExists",
            "There is already a InfrastructureProvider with name aws in the cluster. Only one is allowed.",
        ),
        (
            asked(Ipam, "ipam-system", "in-cluster"),
            vec![asked(Core, "capi-system", "cluster-api")],
            "WaitingForCoreProviderReady",
            "Waiting for the CoreProvider to be installed.",
        ),
        (aws, vec![], "WaitingForCoreProviderReady", "Waiting for the CoreProvider to be installed."),
    ] {
        let refused = check(&provider, &beside).unwrap_err();
        assert_eq!((refused.reason(), refused.message().as_str()), (reason, message));
    }
    assert_eq!(FailedCheck::InvalidGithubToken.reason(), "InvalidGithubTokenError");
    assert_eq!(
        FailedCheck::InvalidGithubToken.message(),
        "Invalid github token, please check your github token value and its permissions"
    );
    assert_eq!(FailedCheck::TwoSources.reason(), "FetchConfigValidationError");
    assert_eq!(FailedCheck::TwoSources.message(), "Only one of Selector and URL must be provided, not both");
}

#[test]
fn what_the_operator_lets_pass_passes() {
    use ProviderKind::{Bootstrap, Core, Infrastructure};
    let core = CheckedProvider { is_ready: true, ..asked(Core, "capi-system", "cluster-api") };
    for (provider, beside) in [
        (core, vec![core]),
        // A patch level down.
        (CheckedProvider { installed: Some("v1.13.9"), ..core }, vec![core]),
        (CheckedProvider { version: None, installed: Some("v9.0.0"), ..core }, vec![]),
        (CheckedProvider { version: Some("1.13.4-rc.1+build.5"), ..core }, vec![]),
        // clusterctl knows where it is released.
        (CheckedProvider { has_source: false, ..asked(Bootstrap, "b", "kubeadm") }, vec![core]),
        // One name, two kinds.
        (asked(Infrastructure, "i", "kubeadm"), vec![core, asked(Bootstrap, "b", "kubeadm")]),
    ] {
        assert_eq!(check(&provider, &beside), Ok(()), "{provider:?}");
    }
}
