//! What tells of a secret: names, texts that hold one, and the forms of known tokens.
//!
//! Deliberately absent: what is done about it. `plan` hides them in what it shows, `inventory` leaves them out of values.

mod forms;
mod names;
mod text;

pub use forms::{has_login_form, has_random_form, has_token_form};
pub use names::{names_secret, words};
pub use text::{is_secret, is_variable, without_secrets};
