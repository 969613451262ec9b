//! Who leads: the number by which a leader knows that it leads still.
//!
//! A process can be stopped for longer than its Lease holds, and go on in the middle of what it did: no clock of its
//! own tells it. So it looks at the Lease before each write. The holder is a process, never two; the number of
//! transitions tells one term from the next.

use serde_json::Value;

/// One term of one leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fencing {
    /// `spec.holderIdentity`: no other process, earlier or later, has the same.
    pub holder: String,
    /// `spec.leaseTransitions` of that term.
    pub transitions: i64,
}

impl Fencing {
    /// What a Lease says.
    pub fn of(lease: &Value) -> Self {
        let text = |pointer: &str| lease.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        Self {
            holder: text("/spec/holderIdentity").to_owned(),
            transitions: lease.pointer("/spec/leaseTransitions").and_then(Value::as_i64).unwrap_or(0),
        }
    }

    /// Whether that Lease is held in this term still.
    pub fn holds(&self, lease: &Value) -> bool {
        !self.holder.is_empty() && *self == Self::of(lease)
    }
}

/// Whether a Lease may be taken before it has run out: it has no holder, or its holder is a process that is known to be
/// dead.
pub fn is_free(holder: &str, dead: &[String]) -> bool {
    holder.is_empty() || dead.iter().any(|dead| dead == holder)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_term_is_over_when_anybody_else_has_led_since() {
        let lease = |holder: &str, transitions: i64| json!({"spec": {"holderIdentity": holder, "leaseTransitions": transitions}});
        let term = Fencing::of(&lease("pod-1_4711", 3));
        assert!(term.holds(&lease("pod-1_4711", 3)));
        assert!(!term.holds(&lease("pod-2_4712", 4)));
        assert!(!term.holds(&lease("pod-1_4711", 5)), "it leads again, and another one led between");
        assert!(!term.holds(&lease("", 3)), "given away");
        assert!(!term.holds(&json!({})), "the Lease was made anew");
        assert!(!Fencing::of(&json!({})).holds(&json!({})), "nobody leads");
    }

    #[test]
    fn a_lease_of_the_dead_need_not_run_out() {
        let dead = ["pod-1_4700".to_owned(), "pod-1_4711".to_owned()];
        assert!(is_free("", &[]));
        assert!(is_free("pod-1_4711", &dead));
        assert!(is_free("pod-1_4700", &dead));
        assert!(!is_free("pod-1_4712", &dead));
        assert!(!is_free("pod-1_4711", &[]));
    }
}
