//! The language of filters.
//!
//! ```text
//! query := term, separated by blanks: all must hold
//! term  := ["-"] [key ":"] value {"," value}: one must hold; "-": none may
//! value := text, "text" with blanks and commas, * for any text; of keys with an order also > >= < <= and units
//! ```
//!
//! A term without key searches its text in name, id, serial numbers, MAC and IP addresses, maker, model, management controller, switch,
//! port and reason. The value of a key is the whole text, unless it has wildcards (`model:*r750*`). Case does not matter. `key:*` holds
//! for hosts with any value, `key:""` for those without one.

mod error;
mod key;
mod lex;
mod mac;
mod matches;
mod parse;
mod pattern;
mod quantity;
mod term;
mod value;
mod values;

pub use error::{Problem, QueryError, QueryErrors};
pub use key::Key;
pub use lex::{MAX_QUERY_BYTES, MAX_TERMS, MAX_VALUE_BYTES, MAX_VALUES};
pub(super) use mac::{digits as mac_digits, part as mac_part};
pub(super) use pattern::fold;
pub use pattern::quoted;
pub use term::{Query, Term};
pub(super) use values::each_kept;
