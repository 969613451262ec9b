//! How many clusters of a Fleet replace machines at a time.
//!
//! *Rules*: a cluster counts from when it may begin until its machines are done. One that is stuck counts, too, so that
//! a bad change stops with the clusters that it has reached. Those that wait go in the order of their ids, not of their
//! requests. A new cluster replaces no machines, and does not count.

use std::collections::BTreeSet;

use capstan_model::ids::ClusterId;

/// How many names a message lists.
const NAMED: usize = 3;

/// Who replaces machines, and who waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rolling {
    rolling: BTreeSet<ClusterId>,
    waiting: BTreeSet<ClusterId>,
}

/// Whether a cluster may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MayRoll {
    /// It counts from now on.
    Now,
    /// It waits; for what, as a sentence without a full stop.
    Later(String),
}

impl Rolling {
    /// A cluster is about to replace machines. Without a limit it may.
    pub fn ask(&mut self, id: &ClusterId, most: Option<usize>) -> MayRoll {
        if self.rolling.contains(id) {
            return MayRoll::Now;
        }
        self.waiting.insert(id.clone());
        let Some(most) = most else { return self.begin(id) };
        let free = most.saturating_sub(self.rolling.len());
        let before = self.waiting.iter().take_while(|other| *other != id).count();
        if before < free { self.begin(id) } else { MayRoll::Later(self.why(most, before)) }
    }

    fn begin(&mut self, id: &ClusterId) -> MayRoll {
        self.waiting.remove(id);
        self.rolling.insert(id.clone());
        MayRoll::Now
    }

    fn why(&self, most: usize, before: usize) -> String {
        let named: Vec<&str> = self.rolling.iter().take(NAMED).map(ClusterId::as_str).collect();
        let others = self.rolling.len().saturating_sub(NAMED);
        let named = match (named.is_empty(), others) {
            (true, _) => "others start first".to_owned(),
            (false, 0) => format!("machines of {} are replaced", named.join(", ")),
            (false, others) => format!("machines of {} and {others} more are replaced", named.join(", ")),
        };
        let before = match before {
            0 => String::new(),
            1 => ", and 1 cluster is before it".to_owned(),
            before => format!(", and {before} clusters are before it"),
        };
        format!(
            "its machines are replaced later: `guards.maxRollingClusters` of the Fleet is {most}, {named}{before}"
        )
    }

    /// How a look at a cluster ended: whether machines of it are being replaced, and whether it waits for its turn still.
    pub fn ended(&mut self, id: &ClusterId, is_rolling: bool, waits: bool) {
        if is_rolling {
            self.rolling.insert(id.clone());
        } else {
            self.rolling.remove(id);
        }
        if !waits {
            self.waiting.remove(id);
        }
    }

    /// A cluster could not be read: it asks again when it can, and takes no place until then.
    pub fn asks_later(&mut self, id: &ClusterId) {
        self.waiting.remove(id);
    }

    /// Whether machines of a cluster are replaced, as far as was reported.
    pub fn counts(&self, id: &ClusterId) -> bool {
        self.rolling.contains(id)
    }

    /// Forgets clusters that there are no more.
    pub fn keep(&mut self, is_there: impl Fn(&ClusterId) -> bool) {
        self.rolling.retain(&is_there);
        self.waiting.retain(&is_there);
    }

    /// Those that wait and may begin now.
    pub fn next(&self, most: Option<usize>) -> Vec<ClusterId> {
        let free = most.map_or(usize::MAX, |most| most.saturating_sub(self.rolling.len()));
        self.waiting.iter().take(free).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::RepoPath;

    use super::*;

    fn id(text: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(text).unwrap())
    }

    #[test]
    fn so_many_at_a_time_in_the_order_of_their_ids() {
        let mut rolling = Rolling::default();
        let most = Some(2);
        for name in ["a/5", "a/3"] {
            assert_eq!(rolling.ask(&id(name), most), MayRoll::Now, "{name}");
        }
        let later = |words: &str| {
            MayRoll::Later(format!(
                "its machines are replaced later: `guards.maxRollingClusters` of the Fleet is 2, {words}"
            ))
        };
        assert_eq!(rolling.ask(&id("a/4"), most), later("machines of a/3, a/5 are replaced"));
        assert_eq!(
            rolling.ask(&id("a/6"), most),
            later("machines of a/3, a/5 are replaced, and 1 cluster is before it")
        );
        assert_eq!(rolling.ask(&id("a/1"), most), later("machines of a/3, a/5 are replaced"));
        // A cluster that rolls may go on at each request.
        assert_eq!(rolling.ask(&id("a/5"), most), MayRoll::Now);
        assert_eq!(rolling.next(most), []);
        rolling.ended(&id("a/5"), true, false);
        rolling.ended(&id("a/3"), false, false);
        assert_eq!(rolling.next(most), [id("a/1")]);
        assert_eq!(
            rolling.ask(&id("a/6"), most),
            later("machines of a/5 are replaced, and 2 clusters are before it")
        );
        assert_eq!(rolling.ask(&id("a/1"), most), MayRoll::Now);
        // Somebody took the change of a/4 back.
        rolling.ended(&id("a/4"), false, false);
        rolling.ended(&id("a/1"), false, false);
        assert_eq!(rolling.ask(&id("a/6"), most), MayRoll::Now);
    }

    #[test]
    fn without_a_limit_nobody_waits_and_who_is_gone_holds_up_nobody() {
        let mut rolling = Rolling::default();
        for name in ["a/1", "a/2", "a/3", "a/4"] {
            assert_eq!(rolling.ask(&id(name), None), MayRoll::Now);
        }
        let MayRoll::Later(why) = rolling.ask(&id("b"), Some(1)) else { unreachable!("four roll") };
        assert!(why.ends_with("is 1, machines of a/1, a/2, a/3 and 1 more are replaced"), "{why}");
        assert!(matches!(rolling.ask(&id("c"), Some(5)), MayRoll::Later(_)));
        rolling.asks_later(&id("b"));
        assert_eq!(rolling.ask(&id("c"), Some(5)), MayRoll::Now);
        assert!(matches!(rolling.ask(&id("b"), Some(1)), MayRoll::Later(_)));
        rolling.keep(|other| *other == id("b"));
        assert_eq!(rolling.next(Some(1)), [id("b")]);
        assert_eq!(rolling.ask(&id("b"), Some(1)), MayRoll::Now);
    }
}
