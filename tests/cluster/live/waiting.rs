//! Waiting for conditions, with the reason where they do not come about.

use std::time::{Duration, Instant};

/// The pause between two checks of a condition. A check reads this process's memory, so it can be frequent.
const BETWEEN: Duration = Duration::from_millis(100);

/// What a look at a condition found: what was waited for, or why it is not there yet.
pub(crate) type Look<T> = Result<T, String>;

/// Looks until the condition is there.
pub(crate) fn until<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Look<T>) -> T {
    let start = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(why) if start.elapsed() > patience => {
                panic!("{what}: not within {} s: {why}", patience.as_secs())
            }
            Err(_) => std::thread::sleep(BETWEEN),
        }
    }
}

/// A condition without more to say.
pub(crate) fn holds(so: bool, otherwise: impl FnOnce() -> String) -> Look<()> {
    if so { Ok(()) } else { Err(otherwise()) }
}
