//! The form of every life: facts, and what follows from them.
//!
//! Facts are gathered whole. A pure function says the next step, or that there is none for now. Somebody performs the step,
//! and gathers the facts again: so a process that dies after any step is followed by one that goes on from what is there.
//! What is not known yet is a fact, too: a step then asks for it.

/// What follows from facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<S, R> {
    /// This is done, and then everything is looked at again.
    Step(S),
    /// Nothing is to be done now.
    Rest(R),
}

/// Everything that one life is decided on.
pub trait Basis {
    /// What may be done. Each step may be performed twice.
    type Step;
    /// What is known when nothing is to be done.
    type Rest;

    /// Decides. The same facts give the same answer.
    fn next(&self) -> Next<Self::Step, Self::Rest>;
}
