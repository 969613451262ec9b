//! Which Kubernetes a release of Cluster API runs on and manages.

use crate::version::{KubernetesMinor, ReleaseVersion};

/// One minor of Cluster API: the first minor of Kubernetes that management clusters may run, the first and the last that
/// workload clusters may run (the last is the same for both), and patches of Cluster API that some of them need.
struct Support {
    minor: u64,
    management: u64,
    workload: u64,
    last: u64,
    needs: &'static [(u64, u64)],
}

const fn support(
    minor: u64,
    management: u64,
    workload: u64,
    last: u64,
    needs: &'static [(u64, u64)],
) -> Support {
    Support { minor, management, workload, last, needs }
}

/// The tables of `docs/book/src/reference/versions.md` in Cluster API's releases, each minor as the last release has it
/// that names it: <https://cluster-api.sigs.k8s.io/reference/versions>.
const MATRIX: &[Support] = &[
    support(0, 19, 18, 23, &[]),
    support(1, 19, 18, 24, &[]),
    support(2, 20, 18, 26, &[]),
    support(3, 20, 18, 26, &[]),
    support(4, 23, 21, 27, &[(27, 2)]),
    support(5, 24, 22, 28, &[(28, 1)]),
    support(6, 25, 23, 29, &[(29, 1)]),
    support(7, 26, 24, 30, &[(30, 1)]),
    support(8, 27, 25, 31, &[(31, 1)]),
    support(9, 28, 26, 32, &[(32, 1)]),
    support(10, 29, 27, 33, &[(33, 1)]),
    support(11, 30, 28, 34, &[(34, 1)]),
    support(12, 31, 29, 36, &[(35, 1), (36, 8)]),
    support(13, 32, 30, 37, &[(36, 1), (37, 6)]),
    support(14, 33, 31, 37, &[(37, 1)]),
];

/// What a cluster is to Cluster API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClusterRole {
    /// It runs the providers.
    Management,
    /// The providers manage it.
    Workload,
}

/// What a version of Cluster API says of a minor of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubernetesSupport {
    /// It supports it, or the table does not know this Cluster API.
    Supported,
    /// It supports these minors of Kubernetes 1.
    OutOf { first: u64, last: u64 },
    /// It does from this patch on.
    NeedsPatch(u64),
}

/// Whether a version of Cluster API supports a cluster of that minor.
pub fn supports(core: &ReleaseVersion, role: ClusterRole, kubernetes: KubernetesMinor) -> KubernetesSupport {
    let known = MATRIX.iter().find(|row| core.major() == 1 && row.minor == core.minor());
    let Some(row) = known.filter(|_| kubernetes.major == 1) else { return KubernetesSupport::Supported };
    let first = match role {
        ClusterRole::Management => row.management,
        ClusterRole::Workload => row.workload,
    };
    if !(first..=row.last).contains(&kubernetes.minor) {
        return KubernetesSupport::OutOf { first, last: row.last };
    }
    match row.needs.iter().find(|(minor, _)| *minor == kubernetes.minor) {
        Some((_, patch)) if core.patch() < *patch => KubernetesSupport::NeedsPatch(*patch),
        _ => KubernetesSupport::Supported,
    }
}

#[cfg(test)]
mod tests {
    use super::ClusterRole::{Management, Workload};
    use super::*;

    #[test]
    fn the_matrix_says_what_runs_on_what() {
        let out_of = |first, last| KubernetesSupport::OutOf { first, last };
        for (core, role, minor, expected) in [
            ("v1.12.8", Management, 30, out_of(31, 36)),
            ("v1.12.8", Management, 31, KubernetesSupport::Supported),
            ("v1.12.8", Workload, 28, out_of(29, 36)),
            ("v1.12.8", Workload, 29, KubernetesSupport::Supported),
            ("v1.12.0", Workload, 35, KubernetesSupport::NeedsPatch(1)),
            ("v1.12.7", Management, 36, KubernetesSupport::NeedsPatch(8)),
            ("v1.12.8", Management, 36, KubernetesSupport::Supported),
            ("v1.12.8", Management, 37, out_of(31, 36)),
            ("v1.13.0", Management, 32, KubernetesSupport::Supported),
            ("v1.13.0", Management, 31, out_of(32, 37)),
            ("v1.13.0", Workload, 30, KubernetesSupport::Supported),
            ("v1.13.0", Workload, 36, KubernetesSupport::NeedsPatch(1)),
            ("v1.13.5", Workload, 37, KubernetesSupport::NeedsPatch(6)),
            ("v1.14.0", Management, 32, out_of(33, 37)),
            ("v1.14.0", Management, 36, KubernetesSupport::Supported),
            ("v1.14.0", Workload, 31, KubernetesSupport::Supported),
            ("v1.10.10", Management, 28, out_of(29, 33)),
            ("v1.15.0", Management, 20, KubernetesSupport::Supported),
            ("v2.12.0", Management, 20, KubernetesSupport::Supported),
        ] {
            let core = ReleaseVersion::parse(core).unwrap();
            let kubernetes = KubernetesMinor { major: 1, minor };
            assert_eq!(supports(&core, role, kubernetes), expected, "{core} {role:?} 1.{minor}");
        }
    }
}
