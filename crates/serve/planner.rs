//! The process that plans for the bot: the generator behind its limits.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::thread;
use std::time::Duration;

use capstan_fleet::generator::{PlanCacheLimits, limit_threads};
use capstan_fleet::planner::Generator;
use capstan_fleet::planner::process::serve;
use capstan_git::OpenedTrees;
use rustix::process::{Resource, Rlimit, getppid, setrlimit};

use super::failure::{ServeError, failed};

/// How often it is looked whether the bot is still there.
const LOOK: Duration = Duration::from_secs(1);

/// Plans what is asked on standard input until that ends, with so much memory for all and stack for each thread, in bytes.
///
/// # Errors
/// Where the limits cannot be set, or nobody takes the answers any more.
pub fn run(memory: u64, stack: usize) -> Result<(), ServeError> {
    // Of what it writes to alone: packs of mirrors are mapped, and may be larger.
    setrlimit(Resource::Data, Rlimit { current: Some(memory), maximum: Some(memory) }).map_err(failed)?;
    // Nobody wants to find the memory of a repository's poison on disk.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).map_err(failed)?;
    // Where the machine runs out of memory, this goes and not the bot. Elsewhere than on Linux there is no such file.
    let _where_there_is_one = std::fs::write("/proc/self/oom_score_adj", "1000");
    let bot = getppid();
    thread::Builder::new()
        .name("bot-watch".to_owned())
        .spawn(move || {
            while getppid() == bot {
                thread::sleep(LOOK);
            }
            // What it works on nobody waits for: it may never come to where it would notice.
            std::process::exit(0);
        })
        .map_err(failed)?;
    let share = usize::try_from(memory / 4).unwrap_or(usize::MAX);
    // Of the memory that it may have, a quarter at most is stacks.
    limit_threads(share / stack.max(1));
    let default = PlanCacheLimits::default();
    let generator = Generator::new(PlanCacheLimits {
        plan_bytes: default.plan_bytes.min(share),
        content_bytes: default.content_bytes.min(share / 4),
        render_bytes: default.render_bytes.min(share / 4),
        read_bytes: default.read_bytes.min(share / 4),
        snapshots: default.snapshots,
        fleets: default.fleets,
    });
    // Not the standard library's own, which buffers by lines and writes the rest after the last line by
    // itself.
    let output = File::from(io::stdout().as_fd().try_clone_to_owned().map_err(failed)?);
    let serving = thread::Builder::new().name("planner".to_owned()).stack_size(stack).spawn(move || {
        let mut requests = io::BufReader::with_capacity(1 << 16, io::stdin());
        let mut answers = io::BufWriter::with_capacity(1 << 16, output);
        serve(&generator, &mut OpenedTrees::default(), &mut requests, &mut answers)
    });
    match serving.map_err(failed)?.join() {
        Ok(served) => served.map_err(failed),
        // The process reports the reason itself; its parent recognises a panic by the exit code.
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
