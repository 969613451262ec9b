//! OpenStack's services over HTTP: logs in with what a Secret's `clouds.yaml` says, and reads what a preflight wants to
//! know. Writes application credentials, and nothing else.
//!
//! *Guarantees*: only hosts that are named are called, those of the catalog included. Certificates are always verified,
//! against the Secret's own authority where it has one. Every call is bounded in time and size, and no redirect is
//! followed. No error contains words of an answer or a byte of a credential.
//!
//! Deliberately absent: what is asked and what follows from it ([`capstan_live::cloud`]). So is everything that a
//! `clouds.yaml` may name on its author's machine: files, programs, profiles.
//!
//! | file | |
//! |---|---|
//! | `clouds_yaml` | what a Secret says |
//! | `http` | one bounded way to ask |
//! | `catalog` | where the services of a project are |
//! | `login` | tokens |
//! | `session` | the questions |
//! | `credentials` | application credentials: listed, made, deleted |
//! | `entrance` | how a project is entered, and what those read who work with a credential |
//! | `refusal` | the errors of a Keystone that refuses, or does not answer |

mod catalog;
mod clouds_yaml;
mod credentials;
mod entrance;
mod http;
mod login;
mod refusal;
mod session;

pub use entrance::Entrance;
pub use login::OpenStack;
