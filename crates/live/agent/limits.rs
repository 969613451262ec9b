//! How much either side takes of the other.

/// Bytes of an enrolment.
pub const ENROL_BYTES: usize = 4 << 10;
/// Bytes of a post of reports, or of a preflight's answer.
pub const POST_BYTES: usize = 2 << 20;
pub const REPORTS_PER_POST: usize = 64;
/// Machines that one report names; further ones are counted.
pub const MACHINES: usize = 500;
/// Reasons that one report, or one cluster's answer to a preflight, names.
pub const REASONS: usize = 20;
/// Live names of templates that one report carries.
pub const NAMES: usize = 500;
/// Clusters that one preflight asks about.
pub const PREFLIGHT_CLUSTERS: usize = 500;
/// Questions about heads that are still to be merged, of one repository and management cluster.
pub const STANDING_PREFLIGHTS: usize = 5_000;
/// Bytes of a file with a key for a cluster's owners, in base64.
pub const KUBECONFIG_BASE64: usize = 192 << 10;
/// Owners of a cluster.
pub const OWNERS: usize = 50;
/// Characters of a text that an API server or a person wrote.
pub const WORDS: usize = 512;
/// Seconds that a long poll may wait.
pub const WAIT_SECONDS: u32 = 50;
/// Seconds that a token may live.
pub const TOKEN_SECONDS: i64 = 300;
/// Seconds that two clocks may differ.
pub const CLOCK_SECONDS: i64 = 60;
/// Seconds that a join code is good for.
pub const JOIN_CODE_SECONDS: i64 = 3600;
/// Bytes of an archive as it travels.
pub const ARCHIVE_BYTES: u64 = 256 << 20;
/// Bytes of all files of an archive, unpacked.
pub const UNPACKED_BYTES: u64 = 1 << 30;
pub const ARCHIVE_FILES: usize = 500_000;
