//! One question to a person, and what becomes of the answer.

mod approved;
mod desk;
mod preview;

pub(crate) use approved::{Approved, Now};
pub(crate) use desk::{ANSWER_TIME, Asked, Desk, Settled, denial_text};
pub(crate) use preview::holds;
