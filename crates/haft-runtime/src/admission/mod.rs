//! When a call may run: places in the order, what each call holds, and who waits for whom.

mod claims;
mod places;
mod queue;
mod seat;
#[cfg(test)]
mod tests;

pub use claims::Claims;
pub use queue::{Queue, RUNNING_MAX};
pub use seat::{Admission, Seat};
