//! What a process calls itself towards others that share its database or its management cluster.
//!
//! A worker that was killed is followed by one of the same name, which takes up what the other held; two that
//! run at the same time never share one. One process a machine and state directory: the machine's name tells
//! replicas apart that have the same layout. Who holds a Lease has a name that no other process ever had.

use std::path::Path;

/// Where Linux tells a machine's, or a container's, name.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";

/// The name of this machine; one that nobody else has where it does not tell one.
pub fn machine() -> String {
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
pub fn worker(machine: &str, state_dir: &Path) -> String {
    format!("capstan@{}", place(machine, state_dir))
}

/// Who gives a command on this machine, as far as the machine knows: for the audit trail.
pub fn person(environment: &dyn Fn(&str) -> Option<String>, machine: &str) -> String {
    let user = ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|name| environment(name));
    let user = user.filter(|user| !user.trim().is_empty()).unwrap_or_else(|| "somebody".to_owned());
    format!("{user}@{machine}")
}

/// Where a process runs outside of a pod.
pub fn place(machine: &str, state_dir: &Path) -> String {
    format!("{machine}:{}", state_dir.display())
}

/// Who holds a Lease: `place` is for people, the rest tells one process from all others.
pub fn holder(place: &str) -> String {
    format!("{place}_{}", ulid::Ulid::generate())
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
    fn who_became_root_is_named_by_the_own_name() {
        let ada = |name: &str| matches!(name, "SUDO_USER").then(|| "ada".to_owned());
        let root = |name: &str| matches!(name, "USER").then(|| "root".to_owned());
        assert_eq!(person(&|name| ada(name).or_else(|| root(name)), "eu-1"), "ada@eu-1");
        assert_eq!(person(&root, "eu-1"), "root@eu-1");
        assert_eq!(person(&|_| None, "eu-1"), "somebody@eu-1");
    }

    #[test]
    fn no_two_processes_hold_a_lease_under_one_name() {
        let (one, next) = (holder("pod-1"), holder("pod-1"));
        assert!(one.starts_with("pod-1_") && next.starts_with("pod-1_"));
        assert_ne!(one, next);
    }

    #[test]
    fn a_process_is_followed_by_one_of_the_same_name() {
        let told = std::fs::read_to_string(HOSTNAME).unwrap();
        assert_eq!(machine(), told.trim());
    }
}
