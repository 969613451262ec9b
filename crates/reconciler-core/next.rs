//! The form of every life: facts, and what follows from them.
//!
//! Facts are gathered as a whole. A pure function gives the next step, or says that there is none for now. The caller
//! performs the step, and gathers the facts again. So if a process dies after any step, the next one continues from
//! what is there. What is not known yet is a fact, too: a step then asks for it.

/// What follows from facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<S, R> {
    /// This is done, and then all facts are gathered again.
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
