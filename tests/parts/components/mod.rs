//! Components of providers: what a test publishes, and servers that hand it out.

pub mod registry;
pub mod serving;

use std::time::Duration;

use capstan_ports::FetchLimits;

pub const METADATA: &str = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 1, minor: 0, contract: v1beta2}]\n";
pub const COMPONENTS: &str =
    "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: manager, namespace: own-system}\n";
/// `sha256sum` of the components.
pub const SHA256: &str = "a0100a3365cce338591e6982fe985d36a3812dc8e40e04f19deb74b067772a0f";

/// Limits that a test can wait for.
pub fn limits() -> FetchLimits {
    FetchLimits {
        timeout: Duration::from_secs(20),
        whole: Duration::from_secs(60),
        longest_wait: Duration::from_secs(3),
        redirects: 3,
        pages: 3,
    }
}
