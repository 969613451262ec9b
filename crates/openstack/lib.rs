//! OpenStack's services over HTTP: logs in with what a Secret's `clouds.yaml` says, and reads what a preflight wants to
//! know. Writes application credentials, and nothing else.
//!
//! *Guarantees*: only hosts that are named are spoken to, those of the catalog included; certificates are always
//! verified, against the Secret's own authority where it has one; every call is bounded in time and size, and nothing
//! leads elsewhere; no answer's words and no byte of a credential stand in an error.
//!
//! Deliberately absent: what is asked and what follows from it ([`capstan_live::cloud`]), and everything that a
//! `clouds.yaml` may name on the machine of whoever wrote it: files, programs, profiles.
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
//! | `refusal` | what is told of a Keystone that says no, or nothing |

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
