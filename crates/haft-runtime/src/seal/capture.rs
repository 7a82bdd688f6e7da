//! Output of any length in flat memory: head and tail for the model, all of it on disk.

mod lasting;

pub(crate) use lasting::Lasting;

use super::{Masks, Spill, SpillStore, bound, scrub::Scrub};
use haft_core::{Block, CallId, Capture, Captured, OUTPUT_MAX_LINES, Output, Shape, Truncation};
use haft_policy::secrets::StreamMasker;
use std::{
    collections::VecDeque,
    fmt::Write,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The captures of one call. Their content survives a tool that is left behind.
#[derive(Clone)]
pub(crate) struct CaptureSlot {
    spill: SpillStore,
    call: CallId,
    max_bytes: Arc<AtomicUsize>,
    masks: Masks,
    open: Arc<Mutex<Vec<Arc<Mutex<State>>>>>,
}

struct State {
    masker: Option<StreamMasker>,
    shape: Shape,
    max_bytes: usize,
    scrub: Scrub,
    clean: Vec<u8>,
    head: Vec<u8>,
    head_lines: usize,
    tail: VecDeque<u8>,
    /// Of the clean text.
    total_bytes: u64,
    total_lines: u64,
    ends_open: bool,
    /// The raw bytes, until they are too many for memory.
    raw: Vec<u8>,
    raw_total: u64,
    raw_lines: u64,
    spill: Option<Spill>,
    store: SpillStore,
    call: CallId,
    finished: bool,
}

struct Handle(Arc<Mutex<State>>);

impl CaptureSlot {
    pub(crate) fn new(spill: SpillStore, call: CallId, max_bytes: usize) -> Self {
        Self {
            spill,
            call,
            max_bytes: Arc::new(AtomicUsize::new(max_bytes)),
            masks: Masks::default(),
            open: Arc::default(),
        }
    }

    /// The same, with secrets masked in what is captured, also on disk.
    pub(crate) fn masked(mut self, masks: Masks) -> Self {
        self.masks = masks;
        self
    }

    /// The bound of the tool that the call turned out to be for.
    pub(crate) fn set_max_bytes(&self, max_bytes: usize) {
        self.max_bytes.store(max_bytes.min(bound::BYTES_MAX), Ordering::Relaxed);
    }

    /// A stream that outlives the call.
    pub(crate) fn lasting(&self, shape: Shape) -> Lasting {
        Lasting::new(self.state(shape))
    }

    pub(crate) fn open(&self, shape: Shape) -> Box<dyn Capture> {
        let state = Arc::new(Mutex::new(self.state(shape)));
        lock(&self.open).push(Arc::clone(&state));
        Box::new(Handle(state))
    }

    fn state(&self, shape: Shape) -> State {
        State {
            masker: self.masks.stream(),
            shape,
            max_bytes: self.max_bytes.load(Ordering::Relaxed),
            scrub: Scrub::default(),
            clean: Vec::new(),
            head: Vec::new(),
            head_lines: 0,
            tail: VecDeque::new(),
            total_bytes: 0,
            total_lines: 0,
            ends_open: false,
            raw: Vec::new(),
            raw_total: 0,
            raw_lines: 0,
            spill: None,
            store: self.spill.clone(),
            call: self.call.clone(),
            finished: false,
        }
    }

    /// What the captures hold that their tool never finished.
    pub(crate) fn left_behind(&self) -> Option<Output> {
        let mut output = Output::default();
        for state in lock(&self.open).iter() {
            let mut state = lock(state);
            if state.finished {
                continue;
            }
            let captured = state.finish();
            if state.raw_total > 0 {
                output.content.push(Block::text(captured.text));
                output.truncation = output.truncation.or(captured.truncation);
            }
        }
        (!output.content.is_empty()).then_some(output)
    }
}

impl Capture for Handle {
    fn push(&mut self, bytes: &[u8]) {
        lock(&self.0).push(bytes);
    }

    fn finish(self: Box<Self>) -> Captured {
        lock(&self.0).finish()
    }
}

/// Hears the clean text as it comes.
type Hear<'a> = dyn FnMut(&[u8]) + 'a;

impl State {
    fn head_max(&self) -> (usize, usize) {
        match self.shape {
            Shape::Head => (self.max_bytes, OUTPUT_MAX_LINES),
            Shape::HeadTail => (self.max_bytes / 3, OUTPUT_MAX_LINES / 3),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.push_with(bytes, &mut |_| {});
    }

    fn push_with(&mut self, bytes: &[u8], hear: &mut Hear<'_>) {
        if self.finished {
            return;
        }
        match &mut self.masker {
            Some(masker) => {
                let masked = masker.push(bytes);
                self.take_in(&masked, hear);
            }
            None => self.take_in(bytes, hear),
        }
    }

    /// What may be seen and kept.
    fn take_in(&mut self, bytes: &[u8], hear: &mut Hear<'_>) {
        self.keep_raw(bytes);
        let mut clean = std::mem::take(&mut self.clean);
        self.scrub.push(bytes, &mut clean);
        hear(&clean);
        self.take(&clean);
        clean.clear();
        self.clean = clean;
    }

    /// What is held back comes too, though it may go on.
    fn settle(&mut self, hear: &mut Hear<'_>) {
        if self.finished {
            return;
        }
        if let Some(masker) = &mut self.masker {
            let masked = masker.so_far();
            self.take_in(&masked, hear);
        }
        self.end_line(hear);
    }

    /// The stream is over.
    fn end(&mut self, hear: &mut Hear<'_>) {
        if let Some(masker) = self.masker.take() {
            let rest = masker.finish();
            self.take_in(&rest, hear);
        }
        self.finished = true;
        self.end_line(hear);
    }

    fn end_line(&mut self, hear: &mut Hear<'_>) {
        let mut rest = Vec::new();
        self.scrub.finish(&mut rest);
        hear(&rest);
        self.take(&rest);
    }

    fn keep_raw(&mut self, bytes: &[u8]) {
        self.raw_total += wide(bytes.len());
        self.raw_lines += wide(count_lines(bytes));
        if let Some(spill) = &mut self.spill {
            spill.push(bytes);
            return;
        }
        self.raw.extend_from_slice(bytes);
        let lines = self.total_lines.saturating_add(wide(count_lines(bytes)));
        if self.raw.len() > self.max_bytes || lines > wide(OUTPUT_MAX_LINES) {
            self.start_spill();
        }
    }

    fn start_spill(&mut self) {
        if let Ok(mut spill) = self.store.open(&self.call.to_string()) {
            spill.push(&self.raw);
            self.spill = Some(spill);
            self.raw = Vec::new();
        } else if self.raw.len() > self.max_bytes {
            // Nowhere to keep it: head and tail are all there is, and the notice counts the rest.
            self.raw.clear();
        }
    }

    fn take(&mut self, mut clean: &[u8]) {
        if clean.is_empty() {
            return;
        }
        self.total_bytes += wide(clean.len());
        self.total_lines += wide(count_lines(clean));
        self.ends_open = clean.last() != Some(&b'\n');
        let (head_bytes, head_lines) = self.head_max();
        if self.tail.is_empty() && self.head.len() < head_bytes && self.head_lines < head_lines {
            let mut end = clean.len().min(head_bytes - self.head.len());
            let mut lines = 0;
            for (index, byte) in clean.iter().enumerate().take(end) {
                if *byte == b'\n' {
                    lines += 1;
                    if self.head_lines + lines == head_lines {
                        end = index + 1;
                        break;
                    }
                }
            }
            let (now, rest) = clean.split_at(end);
            self.head.extend_from_slice(now);
            self.head_lines += lines;
            clean = rest;
        }
        if clean.is_empty() {
            return;
        }
        // Shape::Head needs no tail, but the rest of a text that fits in all must not be lost.
        let tail_max = self.max_bytes - self.max_bytes / 3;
        let skip = clean.len().saturating_sub(tail_max);
        let kept = clean.get(skip..).unwrap_or_default();
        let over = (self.tail.len() + kept.len()).saturating_sub(tail_max);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(kept);
    }

    fn finish(&mut self) -> Captured {
        self.end(&mut |_| {});
        self.bounded()
    }

    /// What there is, and a new beginning.
    fn cut(&mut self) -> Captured {
        // A character that is still coming belongs to the next part.
        let begun = if self.finished { Vec::new() } else { self.take_begun() };
        let captured = self.bounded();
        self.head.clear();
        self.tail.clear();
        self.raw.clear();
        self.spill = None;
        (self.head_lines, self.ends_open) = (0, false);
        (self.total_bytes, self.total_lines) = (0, 0);
        (self.raw_total, self.raw_lines) = (wide(begun.len()), 0);
        self.take(&begun);
        captured
    }

    /// Takes off the beginning of a character whose rest hasn't come.
    fn take_begun(&mut self) -> Vec<u8> {
        let mut last: Vec<u8> = self.head.iter().chain(&self.tail).rev().take(3).copied().collect();
        last.reverse();
        let whole = cut_back(last.clone()).len();
        let begun = last.split_off(whole);
        for _ in &begun {
            if self.tail.pop_back().is_none() {
                self.head.pop();
            }
        }
        self.total_bytes = self.total_bytes.saturating_sub(wide(begun.len()));
        begun
    }

    /// Head and tail of what there is.
    fn bounded(&mut self) -> Captured {
        let total_lines = self.total_lines + u64::from(self.ends_open);
        let held = wide(self.head.len() + self.tail.len());
        if held == self.total_bytes && held <= wide(self.max_bytes) && total_lines <= wide(OUTPUT_MAX_LINES) {
            let mut whole = std::mem::take(&mut self.head);
            whole.extend(self.tail.drain(..));
            return self.whole(text(whole), total_lines);
        }
        if self.spill.is_none() {
            self.start_spill();
        }
        let (_, head_lines) = self.head_max();
        let head = text(cut_back(std::mem::take(&mut self.head)));
        let tail = match self.shape {
            Shape::Head => String::new(),
            Shape::HeadTail => {
                let bytes: Vec<u8> = self.tail.drain(..).collect();
                last_lines(text(cut_front(&bytes)), OUTPUT_MAX_LINES - head_lines)
            }
        };
        let shown = bound::line_count(&head) + bound::line_count(&tail);
        let truncation = Truncation {
            shown_bytes: wide(head.len() + tail.len()),
            total_bytes: self.raw_total.max(self.total_bytes),
            shown_lines: wide(shown).min(total_lines),
            total_lines: self.raw_lines.max(total_lines),
            path: self.spill.as_ref().map(|spill| spill.path().to_owned()),
        };
        let mut text = bound::joined(&head, &tail, &truncation);
        if let Some(not_kept) = self.spill.as_ref().map(Spill::not_kept).filter(|count| *count > 0) {
            let _ = write!(text, "\n[the last {not_kept} bytes could not be kept on disk]");
        }
        Captured { text, truncation: Some(truncation) }
    }
}

impl State {
    /// All of the clean text fits. Where cleaning took much away, the notice says so and where all of it is.
    fn whole(&self, mut text: String, lines: u64) -> Captured {
        let Some(spill) = &self.spill else { return Captured { text, truncation: None } };
        let truncation = Truncation {
            shown_bytes: wide(text.len()),
            total_bytes: self.raw_total,
            shown_lines: lines,
            total_lines: self.raw_lines.max(lines),
            path: Some(spill.path().to_owned()),
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let (bytes, path) = (self.raw_total, spill.path());
        let _ = write!(text, "[repeats and progress were collapsed; all {bytes} bytes are in {path}]");
        Captured { text, truncation: Some(truncation) }
    }
}

/// The whole bytes as text; what is no UTF-8 is replaced. Looks first whether there is any: that is quicker by far than
/// looking for it piece by piece.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Drops a character that was cut at the end.
fn cut_back(mut bytes: Vec<u8>) -> Vec<u8> {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let Some(byte) = bytes.get(at) else { break };
        if *byte & 0xc0 != 0x80 {
            let needs = match byte {
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => 1,
            };
            if needs > back {
                bytes.truncate(at);
            }
            break;
        }
    }
    bytes
}

/// Drops the rest of a character, and of a line, that was cut at the start.
fn cut_front(bytes: &[u8]) -> Vec<u8> {
    let start = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) if end + 1 < bytes.len() => end + 1,
        _ => bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count(),
    };
    bytes.get(start..).unwrap_or_default().to_vec()
}

fn last_lines(text: String, max: usize) -> String {
    let body = text.strip_suffix('\n').unwrap_or(&text);
    match body.rmatch_indices('\n').nth(max.saturating_sub(1)) {
        Some((index, _)) => text.get(index + 1..).unwrap_or_default().to_owned(),
        None => text,
    }
}

fn count_lines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(shape: Shape, text: &[u8], piece: usize) -> Captured {
        let slot = CaptureSlot::new(SpillStore::new(None, "s"), CallId::outer(1), 51_200);
        let mut capture = slot.open(shape);
        text.chunks(piece).for_each(|bytes| capture.push(bytes));
        capture.finish()
    }

    #[test]
    fn what_fits_comes_back_whole() {
        let text = "é✓\n".repeat(1_000);
        for piece in [1, 7, 5_000] {
            assert_eq!(
                captured(Shape::HeadTail, text.as_bytes(), piece).text,
                "é✓\n".to_owned() + "[the line above came 999 more times]\n"
            );
        }
        let text: String = (0..1_900).map(|n| format!("{n} é\n")).collect();
        for shape in [Shape::Head, Shape::HeadTail] {
            let captured = captured(shape, text.as_bytes(), 13);
            assert_eq!((captured.text, captured.truncation), (text.clone(), None));
        }
    }

    #[test]
    fn case_f26_head_and_tail_show_the_end_of_a_failing_build() {
        let mut text: String = (1..=60_000).map(|n| format!("{n}\n")).collect();
        text.push_str("FAIL: z\n");
        let captured = captured(Shape::HeadTail, text.as_bytes(), 4_096);
        let truncation = captured.truncation.unwrap();
        assert!(captured.text.starts_with("1\n2\n") && captured.text.ends_with("60000\nFAIL: z\n"));
        assert_eq!(truncation.total_lines, 60_001);
        assert_eq!(truncation.shown_lines, 2_000);
        assert!(captured.text.contains("[… 58001 lines ("), "{}", &captured.text[..200]);
    }

    #[test]
    fn case_f26_a_character_split_between_reads_stays_whole() {
        assert_eq!(captured(Shape::HeadTail, "ok ✓\n".as_bytes(), 1).text, "ok ✓\n");
    }

    #[test]
    fn one_endless_line_is_cut_at_characters() {
        let captured = captured(Shape::HeadTail, "✓".repeat(100_000).as_bytes(), 1_000);
        let truncation = captured.truncation.unwrap();
        assert!(!captured.text.contains('\u{fffd}'));
        assert!(captured.text.len() < 52_000);
        assert_eq!((truncation.total_bytes, truncation.total_lines), (300_000, 1));
    }

    #[test]
    fn what_a_tool_leaves_behind_is_kept() {
        let slot = CaptureSlot::new(SpillStore::new(None, "s"), CallId::outer(1), 51_200);
        let mut capture = slot.open(Shape::HeadTail);
        capture.push(b"so far\n");
        assert_eq!(slot.left_behind().unwrap().joined_text(), "so far\n");
        capture.push(b"late\n");
        assert!(slot.left_behind().is_none());
    }
}
