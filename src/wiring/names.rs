//! What a process calls itself towards others that share its database or its management cluster.
//!
//! A process that was killed is followed by one of the same name, which takes up what the other held; two that
//! run at the same time never share one. One process a machine and state directory: the machine's name tells
//! replicas apart that have the same layout.

use std::path::Path;

/// Where Linux tells a machine's, or a container's, name.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";

/// The name of this machine; one that nobody else has where it does not tell one.
pub(super) fn machine() -> String {
    named(&std::fs::read_to_string(HOSTNAME).unwrap_or_default())
}

fn named(told: &str) -> String {
    match told.trim() {
        // Two that do not know their names must not take each other's work: then leases run out by themselves.
        "" => ulid::Ulid::generate().to_string(),
        name => name.to_owned(),
    }
}

/// Who holds jobs of the queue.
pub(super) fn worker(machine: &str, state_dir: &Path) -> String {
    format!("capstan@{}", holder(machine, state_dir))
}

/// Who holds a Lease outside of a pod.
pub(super) fn holder(machine: &str, state_dir: &Path) -> String {
    format!("{machine}:{}", state_dir.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_machines_never_have_the_same_worker() {
        let state_dir = Path::new("/var/lib/capstan");
        assert_eq!(worker(&named("eu-1\n"), state_dir), "capstan@eu-1:/var/lib/capstan");
        assert_eq!(worker(&named("eu-2\n"), state_dir), "capstan@eu-2:/var/lib/capstan");
        assert_ne!(worker(&named(""), state_dir), worker(&named(" \n"), state_dir), "neither knows its name");
    }

    #[test]
    fn a_process_is_followed_by_one_of_the_same_name() {
        let told = std::fs::read_to_string(HOSTNAME).unwrap();
        assert_eq!(machine(), told.trim());
    }
}
