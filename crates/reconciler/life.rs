//! One performer for every life that facts decide on ([`Basis`]): gathered, decided, performed, until nothing is to be done.

use async_trait::async_trait;
use capstan_reconciler_core::next::{Basis, Next};

/// How the facts of a life are gathered, and how a step is carried out.
#[async_trait]
pub(crate) trait Life: Send {
    /// What is decided on.
    type Facts: Basis<Step: Send, Rest: Send> + Send;
    /// Why it cannot be gone on with.
    type Trouble: Send;

    /// Steps that one look takes at most: more come to no end.
    const MOST_STEPS: usize;

    /// Looks at everything.
    async fn gather(&mut self) -> Result<Self::Facts, Self::Trouble>;

    /// Carries out a step that follows from these facts. It does not repeat what an earlier run or another process has
    /// done.
    async fn perform(
        &mut self,
        step: <Self::Facts as Basis>::Step,
        facts: Self::Facts,
    ) -> Result<(), Self::Trouble>;

    /// The error when [`Self::MOST_STEPS`] steps were not enough.
    fn restless(&self) -> Self::Trouble;
}

/// There is nothing to do now, by these facts.
pub(crate) type Rested<F> = (<F as Basis>::Rest, F);

/// Does whatever is to be done now.
pub(crate) async fn live<L: Life>(life: &mut L) -> Result<Rested<L::Facts>, L::Trouble> {
    for _ in 0..L::MOST_STEPS {
        if let Some(rested) = look(life).await? {
            return Ok(rested);
        }
    }
    Err(life.restless())
}

/// The same; `is_over` says, before each look, whether to stop. `None` where it stopped.
pub(crate) async fn live_unless<L: Life>(
    life: &mut L,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Rested<L::Facts>>, L::Trouble> {
    for _ in 0..L::MOST_STEPS {
        if is_over() {
            return Ok(None);
        }
        if let Some(rested) = look(life).await? {
            return Ok(Some(rested));
        }
    }
    Err(life.restless())
}

async fn look<L: Life>(life: &mut L) -> Result<Option<Rested<L::Facts>>, L::Trouble> {
    let facts = life.gather().await?;
    match facts.next() {
        Next::Step(step) => life.perform(step, facts).await.map(|()| None),
        Next::Rest(rest) => Ok(Some((rest, facts))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts down to nothing.
    struct Count(u32);

    impl Basis for Count {
        type Step = u32;
        type Rest = ();

        fn next(&self) -> Next<u32, ()> {
            if self.0 == 0 { Next::Rest(()) } else { Next::Step(self.0 - 1) }
        }
    }

    struct Counter {
        count: u32,
        looks: u32,
    }

    #[async_trait]
    impl Life for Counter {
        type Facts = Count;
        type Trouble = &'static str;

        const MOST_STEPS: usize = 4;

        async fn gather(&mut self) -> Result<Count, &'static str> {
            self.looks += 1;
            Ok(Count(self.count))
        }

        async fn perform(&mut self, step: u32, _facts: Count) -> Result<(), &'static str> {
            if step == 9 {
                return Err("nine");
            }
            self.count = step;
            Ok(())
        }

        fn restless(&self) -> &'static str {
            "no end"
        }
    }

    #[tokio::test]
    async fn the_facts_are_read_again_after_each_step_until_nothing_is_left() {
        for (count, expected, looks) in
            [(0, Ok(true), 1), (3, Ok(true), 4), (4, Err("no end"), 4), (10, Err("nine"), 1)]
        {
            let mut counter = Counter { count, looks: 0 };
            let lived = live(&mut counter).await.map(|((), facts)| facts.0 == 0);
            assert_eq!((lived, counter.looks), (expected, looks), "{count}");
        }
        for (is_over, looks) in [(true, 0), (false, 4)] {
            let mut counter = Counter { count: 3, looks: 0 };
            let lived = live_unless(&mut counter, &|| is_over).await.unwrap();
            assert_eq!((lived.is_none(), counter.looks), (is_over, looks));
        }
    }
}
