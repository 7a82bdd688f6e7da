//! Views for a plain terminal: cards of calls, questions to a person, lines from a keyboard or a pipe.
//!
//! What is shown is made by pure functions; the rest moves lines in and text out. Keeps the invariant
//! "nothing that a model, a tool or a file says acts on the terminal or hides in it" (`clean`; `exact` and
//! `exact_line` for what a person approves).

mod approver;
mod card;
mod clean;
mod exact;
mod form;
mod judge;
mod lines;
mod question;
mod screen;
mod style;
mod turns;
mod watch;

pub(crate) use approver::{TerminalApprover, YesApprover};
pub(crate) use card::{Card, outcome_line, trace_lines};
pub(crate) use clean::clean;
pub(crate) use exact::exact_line;
pub(crate) use judge::TerminalJudge;
pub(crate) use lines::Lines;
pub(crate) use question::question;
pub(crate) use screen::Screen;
pub(crate) use style::{BOLD, bad, dim, good};
pub(crate) use watch::{CardWatch, Cards, Prose};
