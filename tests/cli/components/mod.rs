//! Components of providers from real registries, from releases of the forge, from packages; and everything that can be
//! wrong with them, by name.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod oci;
mod packages;
mod releases;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_model::tree::RepoPath;
use capstan_ports::{
    AllowedHosts, ComponentSource, FetchError, FetchLimits, SourceCredentials, WantedComponents,
};
use capstan_providers::{ProviderSet, Published};
use capstan_registries::Fetcher;
use capstan_test_support::Files;

use capstan_test_parts::canary;
use capstan_test_parts::components::{COMPONENTS, METADATA, SHA256, limits};

/// An InfrastructureProvider `own` with this spec.
fn set(spec: &str) -> ProviderSet {
    let text = format!(
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfrastructureProvider\nmetadata: {{name: own, namespace: own-system}}\nspec: {spec}\n"
    );
    ProviderSet::read(&Files::new(&[("own.yaml", &text)]), &RepoPath::root()).unwrap()
}

/// Fetches the components of `own` with this spec.
async fn fetched(
    spec: &str,
    hosts: &[&str],
    credentials: SourceCredentials,
) -> Result<Published, FetchError> {
    recorded(spec, hosts, credentials, None).await
}

/// The same where something was recorded.
async fn recorded(
    spec: &str,
    hosts: &[&str],
    credentials: SourceCredentials,
    recorded: Option<&str>,
) -> Result<Published, FetchError> {
    fetched_within(limits(), spec, hosts, credentials, recorded).await
}

/// The same within other limits.
async fn fetched_within(
    limits: FetchLimits,
    spec: &str,
    hosts: &[&str],
    credentials: SourceCredentials,
    recorded: Option<&str>,
) -> Result<Published, FetchError> {
    let set = set(spec);
    let provider = &set.providers()[0];
    let origin = provider.origin().unwrap().unwrap();
    let fetcher = Fetcher::new(AllowedHosts::new(hosts.iter().copied()), limits).unwrap();
    let recorded = recorded.map(str::to_owned);
    let wanted = WantedComponents {
        kind: provider.kind,
        name: provider.name.clone(),
        version: provider.version().map(str::to_owned),
        origin,
        credentials,
        recorded,
    };
    canary::watch_log();
    let fetched = fetcher.fetch(&wanted).await;
    if let Err(error) = &fetched {
        canary::assert_none_in("an error", format!("{error} {error:?}").as_bytes());
    }
    canary::assert_none_in("what is wanted, in a log", format!("{wanted:?}").as_bytes());
    assert_eq!(canary::logged(), [""; 0]);
    fetched
}

/// Credentials by their names.
fn credentials(pairs: &[(&str, &str)]) -> SourceCredentials {
    for (_, secret) in pairs.iter().filter(|(_, value)| value.len() >= 16) {
        canary::plant(secret);
        canary::plant(&STANDARD.encode(format!("{}:{secret}", pairs[0].1)));
    }
    SourceCredentials::read(|name| {
        pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}
