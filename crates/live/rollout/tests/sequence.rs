//! In which steps a MachineDeployment replaces its machines.
//!
//! [`plan`] decides at one look what the rollout planner of Cluster API v1.14.2 decides (`planRollingUpdate` and
//! `planOnDelete` in `core/reconcilers/machinedeployment`), and is held against the sequences of its tests.
//!
//! Deliberately absent: updates in place, which an extension of the management cluster decides.

use crate::rollout::numbers::while_rolling;
use capstan_test_support::go_modules;

/// The replicas of a MachineSet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Set {
    /// `spec.replicas`
    wanted: u32,
    /// Those that are there.
    machines: u32,
    /// Those of them that are available.
    available: u32,
}

/// How a MachineDeployment replaces machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strategy {
    RollingUpdate { surge: u32, unavailable: u32 },
    OnDelete,
}

/// A MachineDeployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Deployment {
    replicas: u32,
    strategy: Strategy,
}

/// What each MachineSet is to want after one look. The last is the current one, the others are ordered by age, the oldest
/// first.
fn plan(deployment: Deployment, sets: &[Set]) -> Vec<u32> {
    let Some((current, old)) = sets.split_last() else { return Vec::new() };
    let mut targets: Vec<u32> = sets.iter().map(|set| set.wanted).collect();
    let target = current_target(deployment, sets, *current);
    if let Some(last) = targets.last_mut() {
        *last = target;
    }
    match deployment.strategy {
        Strategy::RollingUpdate { unavailable, .. } => {
            let least = deployment.replicas.saturating_sub(unavailable);
            scale_old_down(least, sets, *current, &mut targets);
            unblock(sets, *current, &mut targets);
        }
        Strategy::OnDelete => drop_deleted(deployment.replicas, old, target, &mut targets),
    }
    targets
}

fn sum(sets: &[Set], of: fn(&Set) -> u32) -> u32 {
    sets.iter().fold(0, |sum, set| sum.saturating_add(of(set)))
}

/// `reconcileNewMachineSet`
fn current_target(deployment: Deployment, sets: &[Set], current: Set) -> u32 {
    let replicas = deployment.replicas;
    if current.wanted >= replicas {
        return replicas;
    }
    let total = sum(sets, |set| set.wanted.max(set.machines));
    match deployment.strategy {
        Strategy::RollingUpdate { surge, .. } => {
            let room = replicas.saturating_add(surge).saturating_sub(total);
            current.wanted + room.min(replicas - current.wanted)
        }
        Strategy::OnDelete => current.wanted.saturating_add(replicas.saturating_sub(total)),
    }
}

/// `reconcileOldMachineSetsRollingUpdate`: no more than `least` allows, of which unavailable machines of the current set
/// and what is being deleted are taken off.
fn scale_old_down(least: u32, sets: &[Set], current: Set, targets: &mut [u32]) {
    let deleting = sets.iter().zip(targets.iter());
    let deleting: u32 =
        deleting.map(|(set, target)| set.machines.saturating_sub(set.wanted.min(*target))).sum();
    let unavailable = current.wanted.saturating_sub(current.available);
    let mut room = sum(sets, |set| set.wanted)
        .saturating_sub(deleting)
        .saturating_sub(least)
        .saturating_sub(unavailable);
    let mut available = sum(sets, |set| set.available);
    for unavailable_alone in [true, false] {
        for (set, target) in sets[..sets.len() - 1].iter().zip(targets.iter_mut()) {
            let most = if unavailable_alone { target.saturating_sub(set.available) } else { *target };
            let mut fewer = most.min(room);
            if fewer == 0 {
                continue;
            }
            // It is unknown which machine the MachineSet deletes: the worst is an available one.
            if set.available > 0 {
                let mut deleted = set.machines.saturating_sub(*target - fewer);
                let spare = available.saturating_sub(least);
                if spare < deleted {
                    let left = (set.machines - spare).min(*target);
                    fewer = *target - left;
                    deleted = set.machines.saturating_sub(left);
                }
                available = available.saturating_sub(deleted.min(set.available));
            }
            *target -= fewer;
            room -= fewer;
        }
    }
}

/// `reconcileDeadlockBreaker`: where nothing else moves, an old set with unavailable machines loses one.
fn unblock(sets: &[Set], current: Set, targets: &mut [u32]) {
    let moves = sets
        .iter()
        .zip(targets.iter())
        .any(|(set, target)| set.wanted != set.machines || *target != set.wanted);
    if moves || current.available != current.machines {
        return;
    }
    let mut old = sets[..sets.len() - 1].iter().zip(targets);
    let stuck = old.find(|(set, _)| set.available != set.machines && set.wanted > 0);
    if let Some((_, target)) = stuck {
        *target -= 1;
    }
}

/// `reconcileOldMachineSetsOnDelete`: a deleted machine is not made again, and a surplus goes.
fn drop_deleted(replicas: u32, old: &[Set], current: u32, targets: &mut [u32]) {
    let mut surplus = sum(old, |set| set.wanted).saturating_add(current).saturating_sub(replicas);
    for (set, target) in old.iter().zip(targets.iter_mut()) {
        let deleted = set.wanted.saturating_sub(set.machines);
        *target -= deleted;
        surplus = surplus.saturating_sub(deleted);
    }
    for (set, target) in old.iter().zip(targets) {
        let fewer = surplus.min(*target);
        if fewer > 0 {
            *target = set.wanted - fewer;
            surplus -= fewer;
        }
    }
}

fn set(wanted: u32, machines: u32, available: u32) -> Set {
    Set { wanted, machines, available }
}

/// What each set wants, look by look, where each machine becomes available.
fn looks(deployment: Deployment, mut wanted: Vec<u32>) -> String {
    let mut told = Vec::new();
    loop {
        let sets: Vec<Set> = wanted.iter().map(|count| set(*count, *count, *count)).collect();
        let next = plan(deployment, &sets);
        if next == wanted {
            return told.join(" ");
        }
        told.push(next.iter().map(ToString::to_string).collect::<Vec<_>>().join("+"));
        wanted = next;
    }
}

const fn rolling(replicas: u32, surge: u32, unavailable: u32) -> Deployment {
    Deployment { replicas, strategy: Strategy::RollingUpdate { surge, unavailable } }
}

#[test]
fn machines_are_replaced_step_by_step() {
    assert_eq!(looks(rolling(3, 1, 0), vec![3, 0]), "3+1 2+1 2+2 1+2 1+3 0+3");
    assert_eq!(looks(rolling(3, 0, 1), vec![3, 0]), "2+0 2+1 1+1 1+2 0+2 0+3");
    // Scaled too: nothing is made before the old ones are few enough.
    assert_eq!(looks(rolling(2, 1, 0), vec![4, 0]), "2+0 2+1 1+1 1+2 0+2");
    let on_delete = Deployment { replicas: 3, strategy: Strategy::OnDelete };
    assert_eq!(looks(on_delete, vec![3, 0]), "");
    assert_eq!(looks(on_delete, vec![5, 0]), "3+0");
    // Somebody deleted one; then the other one comes.
    assert_eq!(plan(on_delete, &[set(3, 2, 2), set(0, 0, 0)]), [2, 0]);
    assert_eq!(plan(on_delete, &[set(2, 2, 2), set(0, 0, 0)]), [2, 1]);
}

#[test]
fn unavailable_machines_hold_a_rollout_or_go_first() {
    // A new machine that never becomes available.
    assert_eq!(plan(rolling(3, 1, 0), &[set(3, 3, 3), set(1, 1, 0)]), [3, 1]);
    // An old one is unavailable: the deadlock is broken once the new one is there.
    assert_eq!(plan(rolling(3, 1, 0), &[set(3, 3, 2), set(1, 1, 1)]), [2, 1]);
    assert_eq!(plan(rolling(3, 1, 0), &[set(3, 3, 2), set(1, 1, 0)]), [3, 1]);
}

/// How many machines there are at most and at least while these old ones are replaced, look by look, if each new one
/// becomes available.
fn counted(deployment: Deployment, old: u32) -> (u32, u32) {
    let mut sets = [set(old, old, old), set(0, 0, 0)];
    let (mut most, mut least) = (old, old);
    loop {
        let targets = plan(deployment, &sets);
        let counts = || sets.iter().zip(&targets).map(|(set, target)| (set.machines, *target));
        if counts().all(|(machines, target)| machines == target) {
            return (most, least);
        }
        most = most.max(counts().map(|(machines, target)| machines.max(target)).sum());
        least = least.min(counts().map(|(machines, target)| machines.min(target)).sum());
        for (one, target) in sets.iter_mut().zip(targets) {
            *one = set(target, target, target);
        }
    }
}

#[test]
fn the_most_and_the_fewest_machines_of_a_rollout() {
    for (before, after, surge, unavailable, bounds) in [
        (3, 3, 1, 0, (4, 3)),
        (3, 3, 0, 1, (3, 2)),
        (4, 2, 1, 0, (4, 2)),
        (4, 6, 1, 0, (7, 4)),
        (5, 20_000, 1, 0, (20_001, 5)),
    ] {
        let found = while_rolling(before, after, surge, unavailable);
        assert_eq!(found, bounds, "{before} {after} {surge} {unavailable}");
    }
    for (before, after) in (0..8).flat_map(|before| (0..8).map(move |after| (before, after))) {
        for (surge, unavailable) in (0..5).flat_map(|surge| (0..5).map(move |fewer| (surge, fewer))) {
            if (surge, unavailable) != (0, 0) {
                let found = while_rolling(before, after, surge, unavailable);
                let looked = counted(rolling(after, surge, unavailable), before);
                assert_eq!(found, looked, "{before} {after} {surge} {unavailable}");
            }
        }
    }
}

/// `9/6` of `ms1: 9/6 replicas`: there, and wanted.
fn counts(text: &str) -> (u32, u32) {
    let (machines, wanted) = text.split_once('/').unwrap();
    let wanted = wanted.split([' ', ',']).next().unwrap();
    (machines.parse().unwrap(), wanted.parse().unwrap())
}

/// A block of the planner: each set before, and what it wants after.
fn decision(block: &[&str]) -> (u32, Vec<(Set, u32)>) {
    let mut replicas = 0;
    let mut sets = Vec::new();
    for (at, line) in block.iter().enumerate().filter(|(_, line)| !line.starts_with("      ")) {
        let (name, rest) = line.trim().split_once(": ").unwrap();
        if name == "md" {
            replicas = counts(rest.strip_prefix("md: ").unwrap()).1;
            continue;
        }
        let available = rest.split(", ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let is_created = block.get(at + 1).is_some_and(|next| next.contains("created, it is now"));
        let (before, after) = match rest.strip_prefix("from ").and_then(|rest| rest.split_once(" to ")) {
            Some((before, after)) => (counts(before), counts(after)),
            None => (counts(rest), counts(rest)),
        };
        let wanted = if is_created { 0 } else { before.1 };
        sets.push((set(wanted, before.0, available), after.1));
    }
    (replicas, sets)
}

#[test]
fn the_planner_of_cluster_api_decides_the_same() {
    let golden = "sigs.k8s.io/cluster-api@v1.14.2/core/reconcilers/machinedeployment/testdata";
    let Some(folder) = go_modules::folder(golden) else { return };
    let mut blocks = 0;
    let folders = ["ondelete", "rollingupdate"].map(|name| std::fs::read_dir(folder.join(name)).unwrap());
    for file in folders.into_iter().flatten().map(|entry| entry.unwrap().path()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("in-place") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let number = |key: &str| -> Option<u32> {
            let header = lines.iter().find(|line| line.starts_with("[Test] Rollout"))?;
            header.split(&[' ', ','][..]).find_map(|word| word.strip_prefix(key))?.parse().ok()
        };
        let strategy = match (number("MaxSurge="), number("MaxUnavailable=")) {
            (Some(surge), Some(unavailable)) => Strategy::RollingUpdate { surge, unavailable },
            _ => Strategy::OnDelete,
        };
        assert_eq!(strategy == Strategy::OnDelete, file.parent().unwrap().ends_with("ondelete"), "{name}");
        for (at, _) in
            lines.iter().enumerate().filter(|(_, line)| line.ends_with("Result of rollout planner"))
        {
            let block: Vec<&str> =
                lines[at + 1..].iter().take_while(|line| line.starts_with("    ")).copied().collect();
            let (replicas, decided) = decision(&block);
            let sets: Vec<Set> = decided.iter().map(|(set, _)| *set).collect();
            let expected: Vec<u32> = decided.iter().map(|(_, target)| *target).collect();
            assert_eq!(plan(Deployment { replicas, strategy }, &sets), expected, "{name}:{}", at + 1);
            blocks += 1;
        }
    }
    assert_eq!(blocks, 264);
}
