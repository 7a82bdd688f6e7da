//! Command lines, as far as they can be read without a shell parser.
//!
//! [`plain_argv`] is exact and reads little: what allows a command builds on it alone. [`Reading`] reads
//! everything by best effort: only what restricts may build on it.

mod argv;
mod reading;

pub use argv::plain_argv;
pub(crate) use argv::quoted;
pub(crate) use reading::{Reading, innermost};
