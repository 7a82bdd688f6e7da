//! `tree`: what is in a folder, at a glance.
//!
//! Where there is too much, what lies higher is shown first; what is left out is counted at its folder.

mod hidden;
mod input;
mod render;
mod tool;

pub(crate) use tool::TreeTool;
