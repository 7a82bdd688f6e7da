//! Secrets in text: where they stand, what stands for them, and how they come back.
//!
//! A [`Detector`] knows the published forms of credentials and the exact values that a configuration holds. A
//! [`Masker`] puts a [`Placeholder`] in the place of each secret, in a whole text or, as a [`StreamMasker`], in
//! one that arrives in pieces; [`restore`] turns placeholders back into the bytes of the file they came from.
//!
//! Pure and synchronous. Which texts are masked, where the key of a session comes from and what is done with an
//! edit that names an unknown placeholder is left to others. Keeps the invariants "a text masked in pieces is
//! the text masked at once" and "a placeholder tells nothing about its value".

mod assigned;
mod border;
mod find;
mod kinds;
mod known;
mod list;
mod mask;
mod pem;
mod placeholder;
mod rows;
mod stream;
mod value;
mod variable;
mod words;

pub use find::{Detector, DetectorError, Found};
pub use mask::{Masked, MaskedSecret, Masker};
pub use placeholder::{Placeholder, UnknownPlaceholder, placeholders, restore};
pub use stream::StreamMasker;
pub use variable::is_credential;

/// The names of all kinds, for help texts and tests.
pub fn kind_names() -> impl Iterator<Item = &'static str> {
    kinds::KINDS.iter().map(|kind| kind.name)
}
