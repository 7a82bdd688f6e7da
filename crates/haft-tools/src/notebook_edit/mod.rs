//! `notebook_edit`: one cell of a Jupyter notebook replaced, inserted, deleted or moved.
//!
//! Keeps the invariant that bytes outside an edit's span never change: the file's text is cut at the cells, and
//! only the cell that is meant, and the commas around it, are written anew.

mod input;
mod plan;
mod sequence;
mod step;
mod tool;

pub(crate) use tool::NotebookEditTool;
#[cfg(feature = "fuzzing")]
pub(crate) use {
    plan::plan,
    step::{Action, Kind, Place, Step},
};
