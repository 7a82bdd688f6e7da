//! What a command says on stderr: bounded like its output, with the end at hand for failures.

use haft_core::{Block, Capture, Captured, Cx, Output, Shape};

/// How much of the end is kept for a failure's text, and shown where the output is long too.
const TAIL_MAX_BYTES: usize = 4 * 1024;
const HEADING: &str = "[stderr]";

/// Standard error while it comes, and after.
pub(super) struct Stderr {
    capture: Option<Box<dyn Capture>>,
    captured: Captured,
    tail: Vec<u8>,
    total: usize,
}

impl Stderr {
    pub(super) fn new(cx: &Cx) -> Self {
        let capture = Some(cx.sink.capture(Shape::HeadTail));
        Self { capture, captured: Captured::default(), tail: Vec::new(), total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if let Some(capture) = &mut self.capture {
            capture.push(bytes);
        }
        self.total = self.total.saturating_add(bytes.len());
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 2 * TAIL_MAX_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_MAX_BYTES);
        }
    }

    pub(super) fn finish(mut self) -> Self {
        if let Some(capture) = self.capture.take() {
            self.captured = capture.finish();
            self.captured.text.truncate(self.captured.text.len() - ends(&self.captured.text));
        }
        self
    }

    /// Whether the kept end is all there is.
    pub(super) fn is_in_tail(&self) -> bool {
        self.total <= TAIL_MAX_BYTES
    }

    /// The end, under the heading and on lines of its own; nothing where nothing was said.
    pub(super) fn tail_section(&self) -> String {
        under_heading(&self.tail_text())
    }

    /// All of it as far as it is bounded, as [`Stderr::tail_section`].
    pub(super) fn section(&self) -> String {
        under_heading(&self.captured.text)
    }

    /// A block for the model, where anything was said.
    pub(super) fn block(&self) -> Option<Block> {
        let section = self.section();
        (!section.is_empty()).then(|| Block::text(section.trim_start()))
    }

    /// The output with this under it. Where both are long, only the end of this is shown, so that the whole
    /// stays near one bound.
    pub(super) fn under(self, out: Captured) -> Output {
        let is_cut = out.truncation.is_some() || self.captured.truncation.is_some();
        let both_long = out.text.len() > TAIL_MAX_BYTES && self.captured.text.len() > TAIL_MAX_BYTES;
        let section = if is_cut && both_long { self.tail_section() } else { self.section() };
        let text = format!("{}{section}", out.text);
        let text = if out.text.is_empty() { text.trim_start_matches('\n').to_owned() } else { text };
        let truncation = out.truncation.or(self.captured.truncation);
        Output { shape: Shape::HeadTail, truncation, ..Output::text(text) }
    }

    fn tail_text(&self) -> String {
        let start = self.tail.len().saturating_sub(TAIL_MAX_BYTES);
        let text = String::from_utf8_lossy(self.tail.get(start..).unwrap_or_default()).into_owned();
        let text = text.trim_end();
        if self.is_in_tail() {
            return text.to_owned();
        }
        let whole = text.split_once('\n').map_or(text, |(_, lines)| lines);
        let path = self.captured.truncation.as_ref().and_then(|cut| cut.path.as_deref());
        let place = path.map(|path| format!("; the whole is in {path}")).unwrap_or_default();
        format!("[the end of {} bytes{place}]\n{whole}", self.total)
    }
}

fn under_heading(text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!("\n{HEADING}\n{text}") }
}

/// The length of the one line end at the end of a text.
pub(super) fn ends(text: &str) -> usize {
    match text.as_bytes() {
        [.., b'\r', b'\n'] => 2,
        [.., b'\n'] => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::Truncation;

    fn stderr(text: &str, truncation: Option<Truncation>) -> Stderr {
        let captured = Captured { text: text.to_owned(), truncation };
        let start = text.len().saturating_sub(TAIL_MAX_BYTES + 9);
        Stderr { capture: None, captured, tail: text.as_bytes()[start..].to_vec(), total: text.len() }
    }

    #[test]
    fn a_long_stderr_shows_its_end_and_where_the_whole_is() {
        let long = "line of text\n".repeat(1_000);
        let cut = Truncation { path: Some("/spill/e".into()), ..Truncation::default() };
        let tail = stderr(&long, Some(cut)).tail_section();
        assert!(
            tail.starts_with(
                "\n[stderr]\n[the end of 13000 bytes; the whole is in /spill/e]\nline of text\n"
            )
        );
        assert!(tail.len() < TAIL_MAX_BYTES + 100);
        assert_eq!(stderr("short\n", None).tail_section(), "\n[stderr]\nshort");
    }

    #[test]
    fn two_long_streams_stay_near_one_bound() {
        let long = "line of text\n".repeat(1_000);
        let cut = || Some(Truncation::default());
        let out = Captured { text: long.clone(), truncation: cut() };
        let text = stderr(&long, cut()).under(out).joined_text();
        assert!(text.len() < long.len() + TAIL_MAX_BYTES + 100);
        let short = Captured { text: "short".into(), truncation: None };
        assert!(stderr(&long, cut()).under(short).joined_text().len() > long.len());
    }
}
