//! The GraphQL API, as far as Capstan uses it: pull requests beyond what REST tells, and the mutations that REST
//! has not, above all `updateRefs`, which moves references only from where the caller believes them to be.

mod answer;
mod document;
mod error;
mod mutations;
mod nodes;
mod project;

pub(crate) use self::answer::answer;
