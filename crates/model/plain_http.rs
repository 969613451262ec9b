//! Where http without encryption keeps a secret: one rule for the Fleet's definition (`k8s/crd/fleet.rs`) and
//! for clients.

/// In words, for those who are refused.
pub const WHERE: &str = "within the cluster (*.svc) and on this machine";

/// Whether a host is reached without a line that others could listen on: this machine, or a Service of the cluster
/// that the caller runs in. As URLs write it, an IPv6 address in brackets.
pub fn is_private(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]" | "::1")
        || [".svc", ".svc.cluster.local"].iter().any(|end| host.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_the_cluster_and_this_machine_are_private() {
        for (host, private) in [
            ("localhost", true),
            ("127.0.0.1", true),
            ("[::1]", true),
            ("capstan.capstan-system.svc", true),
            ("Capstan.capstan-system.SVC", true),
            ("git.tools.svc.cluster.local", true),
            ("svc", false),
            ("capstan.svc.example.com", false),
            ("capstan-svc", false),
            ("10.0.0.1", false),
            ("127.0.0.1.example.com", false),
            ("", false),
        ] {
            assert_eq!(is_private(host), private, "{host}");
        }
    }
}
