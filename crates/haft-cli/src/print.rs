//! Printing for people and for programs. A reader that has gone is no fault.

use crate::terminal::clean;
use haft_core::Block;
use serde::Serialize;
use std::{
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

/// The first fault of standard output.
static FAULT: OnceLock<String> = OnceLock::new();

/// Takes note of how a write to standard output went. Whoever closed the pipe has read enough; any other fault
/// means that the result is lost.
pub(crate) fn written(done: io::Result<()>) {
    if let Err(error) = done
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = FAULT.set(error.to_string());
    }
}

/// Why standard output could not be written, if so.
pub(crate) fn fault() -> Option<&'static str> {
    FAULT.get().map(String::as_str)
}

/// Prints a line for people; styles go where it isn't a terminal.
pub(crate) fn line(text: &str) {
    let mut out = anstream::stdout();
    written(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// Prints one JSON object on one line.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    raw(&text);
    Ok(())
}

/// Prints a text as it is.
pub(crate) fn raw(text: &str) {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Prints what a call returned: as it is into a pipe, without control characters on a terminal.
pub(crate) fn result(content: &[Block]) {
    let mut text = shown(content);
    if text.is_empty() {
        return;
    }
    if io::stdout().is_terminal() {
        text = clean(&text);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    raw(&text);
}

/// Tells people what isn't the result.
pub(crate) fn note(text: &str) {
    let mut err = anstream::stderr();
    let _ = writeln!(err, "{}", clean(text.trim_end()));
}

/// The text of blocks; what isn't text is named.
pub(crate) fn shown(content: &[Block]) -> String {
    let parts: Vec<String> = content
        .iter()
        .map(|block| match block {
            Block::Text { text } => text.clone(),
            Block::Image { media_type, data, .. } => {
                format!("[image, {media_type}, {} bytes in base64]", data.len())
            }
            Block::Audio { media_type, data } => {
                format!("[audio, {media_type}, {} bytes in base64]", data.len())
            }
            Block::ResourceLink { uri, name } => format!("[link] {name}: {uri}"),
            _ => "[content of another kind]".to_owned(),
        })
        .collect();
    parts.join("\n")
}

/// The first line, cut to `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let first = clean(text.trim().lines().next().unwrap_or_default());
    if first.chars().count() <= max {
        return first;
    }
    let mut cut: String = first.chars().take(max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Columns as wide as their widest cell; the last one isn't padded.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let last = row.len().saturating_sub(1);
            let cells = row.iter().zip(widths.iter().copied()).enumerate();
            let padded = cells.map(
                |(index, (cell, width))| {
                    if index == last { cell.clone() } else { format!("{cell:<width$}") }
                },
            );
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect();
    lines.join("\n")
}

/// Milliseconds or seconds, whichever reads better.
pub(crate) fn time(ms: u64) -> String {
    if ms < 1_000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1_000, ms % 1_000 / 100) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_is_ragged() {
        let rows = [vec!["a".to_owned(), "x".to_owned()], vec!["bcd".to_owned(), "longer".to_owned()]];
        assert_eq!(table(&rows), "a    x\nbcd  longer");
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn the_first_line_is_cut_with_a_mark() {
        assert_eq!(one_line("one two\nthree", 5), "one …");
        assert_eq!(one_line("one\ntwo", 5), "one");
    }
}
