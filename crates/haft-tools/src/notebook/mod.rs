//! Jupyter notebooks as text with known places: what `read` shows of one and `notebook_edit` changes in one.
//!
//! Pure. Nothing is ever decoded and written anew as a whole: a cell that isn't changed keeps its bytes.

mod cells;
mod scan;
mod style;

pub(crate) use cells::{Cell, Notebook};
pub(crate) use scan::Parts;
pub(crate) use style::{Json, Style, indent};
