//! What preflight says of one provider: the operator's checks, in its order, with its reasons and messages
//! (`internal/controller/preflight_checks.go` of <https://github.com/kubernetes-sigs/cluster-api-operator> at v0.28.0), and
//! those that are Capstan's own.
//!
//! Its seventh check, a call to public GitHub with the token of the config Secret, is left out. With a left-over token,
//! a cluster that cannot reach GitHub would never install. A token that a source refused is reported under the same
//! reason.

use std::sync::LazyLock;

use capstan_model::wording::quoted;
use capstan_providers::{CORE_PROVIDER, ProviderKind, is_known};
use regex::Regex;

/// The annotation that allows Capstan to take over what others installed for a provider object: `take`. Anything else
/// is `preview`.
pub const ADOPT: &str = "capstan.dev/adopt";

/// What the checks look at of one provider object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedProvider<'a> {
    pub kind: ProviderKind,
    pub namespace: &'a str,
    pub name: &'a str,
    /// `spec.version`; `None` where it says none.
    pub version: Option<&'a str>,
    /// `status.installedVersion`; `None` where it says none.
    pub installed: Option<&'a str>,
    /// Whether `spec.fetchConfig` says where its components come from.
    pub has_source: bool,
    /// Whether its condition `Ready` holds.
    pub is_ready: bool,
}

/// Why a provider is not gone on with. `reason` and `message` are those of `PreflightCheckPassed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailedCheck {
    /// `spec.version` is not a semantic version: the parser's words.
    IncorrectVersionFormat(String),
    /// An older minor than the installed one, of that provider.
    UnsupportedProviderDowngrade(String),
    IncorrectCoreProviderName(String),
    /// clusterctl does not know it, and it says no source.
    NoSource,
    /// It says two sources.
    TwoSources,
    /// Its source refused the token.
    InvalidGithubToken,
    /// There is another CoreProvider.
    SecondCore,
    /// There is another one of that kind and name.
    Second(ProviderKind, String),
    /// There is no core provider, or it is not ready.
    WaitingForCoreProviderReady,
    /// Others of the set come first: which, and why they are waited for, in words.
    WaitingForSet(String),
    /// Capstan's service account may not: rule and verb, in words.
    MissingRights(String),
    /// cert-manager is not there, or not ready: what is missing, in words.
    CertManagerNotReady(String),
    /// Others installed it, and the takeover is not allowed yet: what that would change, in words.
    AdoptionNeeded(String),
    /// A rule forbids it: which, and what it says.
    Forbidden(String),
    /// The API server refuses an object of it: which, and its answer.
    ObjectRefused(String),
}

impl FailedCheck {
    /// A CamelCase word; the operator's, where it has one.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::IncorrectVersionFormat(_) => "IncorrectVersionFormat",
            Self::UnsupportedProviderDowngrade(_) => "UnsupportedProviderDowngradeReason",
            Self::IncorrectCoreProviderName(_) => "IncorrectCoreProviderNameReason",
            Self::NoSource | Self::TwoSources => "FetchConfigValidationError",
            Self::InvalidGithubToken => "InvalidGithubTokenError",
            Self::SecondCore | Self::Second(..) => "MoreThanOneExists",
            Self::WaitingForCoreProviderReady => "WaitingForCoreProviderReady",
            Self::WaitingForSet(_) => "WaitingForSet",
            Self::MissingRights(_) => "MissingRights",
            Self::CertManagerNotReady(_) => "CertManagerNotReady",
            Self::AdoptionNeeded(_) => "AdoptionNeeded",
            Self::Forbidden(_) => "Forbidden",
            Self::ObjectRefused(_) => "ObjectRefused",
        }
    }

    /// The operator's message, if it has one. Two are corrected: the one on a downgrade has the provider's name, the
    /// one on a second provider its kind and name.
    pub fn message(&self) -> String {
        match self {
            Self::UnsupportedProviderDowngrade(provider) => {
                format!("Downgrade is not supported for provider {provider}")
            }
            Self::IncorrectCoreProviderName(name) => {
                format!("Incorrect CoreProvider name: {name}. It should be {CORE_PROVIDER}")
            }
            Self::NoSource => {
                "Either Selector, OCI URL or provider URL must be provided for a not predefined provider"
                    .to_owned()
            }
            Self::TwoSources => "Only one of Selector and URL must be provided, not both".to_owned(),
            Self::InvalidGithubToken => {
                "Invalid github token, please check your github token value and its permissions".to_owned()
            }
            Self::SecondCore => "CoreProvider already exists in the cluster. Only one is allowed.".to_owned(),
            Self::Second(kind, name) => {
                format!("There is already a {kind} with name {name} in the cluster. Only one is allowed.")
            }
            Self::WaitingForCoreProviderReady => "Waiting for the CoreProvider to be installed.".to_owned(),
            Self::IncorrectVersionFormat(message)
            | Self::WaitingForSet(message)
            | Self::MissingRights(message)
            | Self::CertManagerNotReady(message)
            | Self::AdoptionNeeded(message)
            | Self::Forbidden(message)
            | Self::ObjectRefused(message) => message.clone(),
        }
    }
}

/// The operator's checks of one provider, beside all provider objects of the cluster (itself may be among them). The
/// first that fails.
///
/// # Errors
/// Why it is not gone on with.
pub fn check(provider: &CheckedProvider<'_>, all: &[CheckedProvider<'_>]) -> Result<(), FailedCheck> {
    if let Some(version) = provider.version.filter(|version| !version.is_empty()) {
        let wanted = semantic(version).map_err(FailedCheck::IncorrectVersionFormat)?;
        // Ignore an installed version that cannot be parsed: the operator stops there, and only its log says so.
        let installed = provider.installed.and_then(|installed| semantic(installed).ok());
        if installed.is_some_and(|installed| wanted < installed) {
            return Err(FailedCheck::UnsupportedProviderDowngrade(provider.kind.label(provider.name)));
        }
    }
    if provider.kind == ProviderKind::Core && provider.name != CORE_PROVIDER {
        return Err(FailedCheck::IncorrectCoreProviderName(provider.name.to_owned()));
    }
    if !provider.has_source && !is_known(provider.kind, provider.name) {
        return Err(FailedCheck::NoSource);
    }
    let is_itself = |other: &CheckedProvider<'_>| {
        other.kind == provider.kind && other.namespace == provider.namespace && other.name == provider.name
    };
    for other in all.iter().filter(|other| other.kind == provider.kind && !is_itself(other)) {
        if provider.kind == ProviderKind::Core {
            return Err(FailedCheck::SecondCore);
        }
        if other.name == provider.name {
            return Err(FailedCheck::Second(provider.kind, provider.name.to_owned()));
        }
    }
    let core_is_ready = || all.iter().any(|other| other.kind == ProviderKind::Core && other.is_ready);
    if provider.kind != ProviderKind::Core && !core_is_ready() {
        return Err(FailedCheck::WaitingForCoreProviderReady);
    }
    Ok(())
}

/// Major and minor of a semantic version, or the words of
/// [`ParseSemantic`](https://pkg.go.dev/k8s.io/apimachinery/pkg/util/version#ParseSemantic).
fn semantic(text: &str) -> Result<(u64, u64), String> {
    static VERSION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\s*v?([0-9]+(?:\.[0-9]+)*)(.*)$").ok());
    static EXTRA: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?\s*$").ok());
    let parts = VERSION.as_ref().and_then(|version| version.captures(text));
    let parts = parts.ok_or_else(|| format!("could not parse {} as version", quoted(text)))?;
    let (numbers, extra) = (&parts[1], &parts[2]);
    let components: Vec<&str> = numbers.split('.').collect();
    let illegal = || format!("illegal version string {}", quoted(text));
    let [major, minor, _] = components[..] else { return Err(illegal()) };
    let zero_prefixed =
        |part: &str| format!("illegal zero-prefixed version component {} in {}", quoted(part), quoted(text));
    let is_padded = |part: &&str| part.len() > 1 && part.starts_with('0');
    if let Some(padded) = components.iter().find(|part| is_padded(part)) {
        return Err(zero_prefixed(padded));
    }
    let number = |part: &str| part.parse::<u64>().map_err(|_| illegal());
    let read = (number(major)?, number(minor)?);
    if !extra.is_empty() {
        let found = EXTRA.as_ref().and_then(|pattern| pattern.captures(extra));
        let found = found.ok_or_else(|| {
            format!("could not parse pre-release/metadata ({extra}) in version {}", quoted(text))
        })?;
        let before = found.get(1).map_or("", |before| before.as_str());
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(padded) = before.split('.').find(|part| is_number(part) && is_padded(part)) {
            return Err(zero_prefixed(padded));
        }
    }
    Ok(read)
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
