//! The view of bytes as text that the file tools share: encodings, line ends, look-alikes, diffs, and how
//! paths are written.
//!
//! All of it is pure but [`whole`] and a look for similar [`names`], through [`haft_core::Files`], and [`foreign`] and
//! [`unmasked`], which ask the session. Nothing here turns decoded text back into a whole file: a view always knows
//! which bytes it shows.

pub(crate) mod agreed;
pub(crate) mod binary;
pub(crate) mod coding;
pub(crate) mod diff;
pub(crate) mod ends;
pub(crate) mod foreign;
pub(crate) mod names;
pub(crate) mod paths;
pub(crate) mod projection;
pub(crate) mod size;
pub(crate) mod splice;
pub(crate) mod unmasked;
pub(crate) mod view;
pub(crate) mod visible;
pub(crate) mod whole;

pub(crate) use coding::Coding;
pub(crate) use ends::{Ends, LineEnd};
pub(crate) use projection::Projection;
pub(crate) use size::{grouped, size};
pub(crate) use unmasked::unmasked;
pub(crate) use view::View;
