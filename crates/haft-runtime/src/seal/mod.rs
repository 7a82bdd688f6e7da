//! What comes back: bounded, clean for the model, and whole on disk.

mod bound;
mod budget;
mod capture;
mod mask;
mod scrub;
mod short;
mod spill;

pub(crate) use bound::{Limits, bound};
pub use budget::{TURN_MAX_CHARS, fit_turn};
pub(crate) use capture::{CaptureSlot, Lasting, text};
pub(crate) use mask::Masks;
pub(crate) use short::{NAME_MAX_BYTES, REASON_MAX_BYTES, REFUSAL_MAX_BYTES, shorten, shortened};
pub use spill::SPILL_FOLDER;
pub(crate) use spill::{Spill, SpillStore, spill_folder};
