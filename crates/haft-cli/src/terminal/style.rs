//! The few styles there are; what prints them leaves them out where there is no terminal or no colour is
//! wanted.

use anstyle::{AnsiColor, Color, Style};

/// What matters less.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What matters more.
pub(crate) const BOLD: Style = Style::new().bold();
/// What went well, and lines that are added.
pub(crate) const GOOD: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green)));
/// What didn't, and lines that go.
pub(crate) const BAD: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red)));
/// What waits for a person.
pub(crate) const ASKS: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));

/// A text as what went well.
pub(crate) fn good(text: &str) -> String {
    format!("{GOOD}{text}{GOOD:#}")
}

/// A text as what didn't.
pub(crate) fn bad(text: &str) -> String {
    format!("{BAD}{text}{BAD:#}")
}

/// A text as what matters less.
pub(crate) fn dim(text: &str) -> String {
    format!("{DIM}{text}{DIM:#}")
}
