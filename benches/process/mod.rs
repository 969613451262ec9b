//! What the kernel counts of this process.

use std::fs;

/// CPU seconds of this process, its own and the kernel's for it, and the peak of its memory in MiB.
pub(crate) fn usage() -> (f64, f64, f64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kib: f64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    (seconds("self", 11), seconds("self", 12), kib / 1024.0)
}

/// CPU seconds of a process, by its number among the fields of `/proc/<process>/stat` behind the name: 11 its own, 12 the
/// kernel's for it, 13 and 14 the same of its children that ended.
pub(crate) fn seconds(process: &str, field: usize) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[field].parse::<f64>().unwrap() / 100.0
}
