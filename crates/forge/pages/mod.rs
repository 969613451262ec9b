//! Pages for people: repositories, their files, issues with boxes to tick, pull requests with checks, conversation and
//! diff, a box to comment in and a button to merge.
//!
//! A visitor acts as the person with the most rights in the repository: it is a demo's page on one's own
//! machine, not a site. Deliberately absent: sessions, JavaScript, and everything that the demo does not
//! need.

mod answer;
mod diff;
mod files;
mod issue;
mod layout;
mod markdown;
mod page;
mod pull;
mod repository;

pub(crate) use self::answer::answer;
