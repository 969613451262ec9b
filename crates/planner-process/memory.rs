//! What the processes may take together, where the container that they run in has a limit.
//!
//! If a container runs out of memory, the kernel ends all that runs in it, whichever process took the memory. The
//! program that started the processes then dies with them, and meets the same content at its next start.

use std::fs;
use std::path::Path;

/// Less is of no use: opening a repository takes some of it.
const LEAST: u64 = 128 << 20;

/// Where a container sees the limits of its own control group.
const CONTROL_GROUP: &str = "/sys/fs/cgroup";

/// What one of `count` processes may take, in bytes: `wanted`, or less where all of them would take more than half of what
/// the container may have; 128 MiB at least.
pub fn share_of_memory(wanted: u64, count: usize) -> u64 {
    let share = share(limit(Path::new(CONTROL_GROUP)), wanted, count);
    if share < wanted {
        let (wanted, share) = (wanted >> 20, share >> 20);
        tracing::warn!(
            wanted,
            share,
            count,
            "the container has too little memory for what its processes may use: in MiB"
        );
    }
    share
}

fn share(limit: Option<u64>, wanted: u64, count: usize) -> u64 {
    let fits = limit.map_or(u64::MAX, |limit| limit / 2 / u64::try_from(count.max(1)).unwrap_or(u64::MAX));
    wanted.min(fits.max(LEAST))
}

/// The container's limit, in bytes; `None` where there is none, or nobody says.
fn limit(group: &Path) -> Option<u64> {
    // Of the second version of control groups, and of the first.
    let files = ["memory.max", "memory/memory.limit_in_bytes"];
    files.iter().find_map(|file| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_processes_together_take_half_of_what_the_container_may_have() {
        const GIB: u64 = 1 << 30;
        for (limit, wanted, count, expected) in [
            (None, GIB, 4, GIB),
            (Some(16 * GIB), GIB, 4, GIB),
            (Some(2 * GIB), GIB, 4, GIB / 4),
            (Some(GIB), GIB / 2, 1, GIB / 2),
            (Some(GIB / 4), GIB, 4, 128 << 20),
            (Some(GIB / 4), 96 << 20, 1, 96 << 20),
        ] {
            assert_eq!(share(limit, wanted, count), expected, "{limit:?} {count}");
        }
        let group = tempfile::tempdir().unwrap();
        assert_eq!(limit(group.path()), None);
        fs::write(group.path().join("memory.max"), "max\n").unwrap();
        assert_eq!(limit(group.path()), None);
        fs::write(group.path().join("memory.max"), "1073741824\n").unwrap();
        assert_eq!(limit(group.path()), Some(GIB));
    }
}
