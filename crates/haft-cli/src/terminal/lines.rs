//! Lines from standard input: one thread reads, whoever waits may stop waiting without eating a line.

use haft_os::host;
use std::{
    collections::VecDeque,
    io::{self, BufRead, IsTerminal, Read},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// The longest line; what is longer comes in pieces.
const LINE_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// How many lines are read ahead.
const AHEAD_MAX_LINES: usize = 64;

/// Lines in the order in which they came.
pub(crate) struct Lines {
    state: Mutex<State>,
    arrived: Notify,
    taken: Condvar,
    /// Whether a person types them, so that when a line came says what it answers.
    live: bool,
    /// Forgets what was typed and not read yet.
    discard: fn(),
}

/// Since when lines count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(u64);

#[derive(Default)]
struct State {
    waiting: VecDeque<(u64, String)>,
    next: u64,
    ended: bool,
    started: bool,
    /// How many questions were put: a line read before the newest one is none of its answers.
    questions: u64,
    /// A question was withdrawn; what was typed since may still be meant for it.
    withdrawn: Option<Mark>,
    /// Which lines go aside, while somebody hears those.
    aside: Option<fn(&str) -> bool>,
    heard: VecDeque<String>,
}

/// Hears lines that are meant for haft itself while something runs: they are no answers, and nothing that was typed
/// ahead.
pub(crate) struct Aside {
    lines: Arc<Lines>,
}

impl Lines {
    /// Lines of standard input; nothing is read before somebody waits for a line.
    pub(crate) fn of_stdin() -> Arc<Self> {
        Self::new(io::stdin().is_terminal(), host::discard_typed_ahead)
    }

    fn new(live: bool, discard: fn()) -> Arc<Self> {
        let (arrived, taken) = (Notify::new(), Condvar::new());
        Arc::new(Self { state: Mutex::default(), arrived, taken, live, discard })
    }

    /// Whether a person types them.
    pub(crate) fn are_typed(&self) -> bool {
        self.live
    }

    /// Whether no line will come any more.
    pub(crate) fn have_ended(&self) -> bool {
        self.lock().ended
    }

    /// To be called right before a question is shown. What was typed before is no answer to it and is forgotten,
    /// wherever it waits: in the terminal, in the reader's hand, in the queue. Lines of a pipe were written without
    /// seeing any question, so that all of them count.
    pub(crate) fn question(&self) -> Mark {
        let mut state = self.lock();
        state.drop_late();
        if !self.live {
            return Mark(0);
        }
        (self.discard)();
        state.waiting.clear();
        state.questions += 1;
        self.taken.notify_all();
        Mark(state.next)
    }

    /// Says that nobody waits for an answer any more: what is typed until the next prompt leaves no residue.
    pub(crate) fn withdraw(&self, mark: Mark) {
        if self.live {
            self.lock().withdrawn = Some(mark);
        }
    }

    /// The next line since a mark; none at the end.
    ///
    /// # Cancellation
    /// Safe: no line is lost.
    pub(crate) async fn since(self: &Arc<Self>, mark: Mark) -> Option<String> {
        self.start();
        loop {
            // Made before looking, so that a line that comes in between wakes it.
            let arrived = self.arrived.notified();
            {
                let mut state = self.lock();
                if let Some(place) = state.waiting.iter().position(|(number, _)| *number >= mark.0) {
                    let line = state.waiting.remove(place).map(|(_, line)| line);
                    self.taken.notify_all();
                    return line;
                }
                if state.ended {
                    return None;
                }
            }
            arrived.await;
        }
    }

    /// The next line that no question has taken; none at the end.
    ///
    /// # Cancellation
    /// Safe: no line is lost.
    pub(crate) async fn next(self: &Arc<Self>) -> Option<String> {
        self.lock().drop_late();
        self.since(Mark(0)).await
    }

    /// From now on lines like this go aside, until what it gives is dropped.
    pub(crate) fn aside(self: &Arc<Self>, is_meant: fn(&str) -> bool) -> Aside {
        self.lock().aside = Some(is_meant);
        self.start();
        Aside { lines: Arc::clone(self) }
    }

    fn start(self: &Arc<Self>) {
        if std::mem::replace(&mut self.lock().started, true) {
            return;
        }
        let lines = Arc::clone(self);
        let reader = std::thread::Builder::new().name("stdin".to_owned()).spawn(move || lines.read());
        if reader.is_err() {
            self.end();
        }
    }

    fn read(&self) {
        let mut stdin = io::stdin().lock();
        loop {
            let mut bytes = Vec::new();
            match stdin.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut bytes) {
                Ok(0) => break,
                Ok(_) => self.push(&String::from_utf8_lossy(&bytes)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.end();
    }

    fn push(&self, line: &str) {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line).to_owned();
        let mut state = self.lock();
        if state.aside.is_some_and(|is_meant| is_meant(&line)) {
            state.heard.push_back(line);
            state.heard.truncate(AHEAD_MAX_LINES);
            drop(state);
            self.arrived.notify_waiters();
            return;
        }
        let before = state.questions;
        while state.waiting.len() >= AHEAD_MAX_LINES {
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.questions != before {
            return;
        }
        let number = state.next;
        state.next += 1;
        state.waiting.push_back((number, line));
        drop(state);
        self.arrived.notify_waiters();
    }

    fn end(&self) {
        self.lock().ended = true;
        self.arrived.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Aside {
    /// The next such line; never where no line will come any more.
    ///
    /// # Cancellation
    /// Safe: no line is lost.
    pub(crate) async fn next(&self) -> String {
        loop {
            // Made before looking, so that a line that comes in between wakes it.
            let arrived = self.lines.arrived.notified();
            if let Some(line) = self.lines.lock().heard.pop_front() {
                return line;
            }
            arrived.await;
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let mut state = self.lines.lock();
        state.aside = None;
        state.heard.clear();
    }
}

impl State {
    fn drop_late(&mut self) {
        if let Some(mark) = self.withdrawn.take() {
            self.waiting.retain(|(number, _)| *number < mark.0);
        }
    }
}

#[cfg(test)]
impl Lines {
    /// Lines that a test types.
    pub(crate) fn typed() -> Arc<Self> {
        let lines = Self::new(true, || {});
        lines.lock().started = true;
        lines
    }

    /// Types a line.
    pub(crate) fn type_line(&self, line: &str) {
        self.push(line);
    }

    /// Ends the input.
    pub(crate) fn hang_up(&self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn what_was_typed_before_a_question_is_no_answer_to_it() {
        let lines = Lines::typed();
        lines.type_line("next task\r\n");
        let mark = lines.question();
        assert!(lines.since(mark).now_or_never().is_none());
        lines.type_line("o\n");
        assert_eq!(lines.since(mark).await.as_deref(), Some("o"));
        assert!(lines.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn words_for_haft_go_aside_while_somebody_hears_them() {
        let lines = Lines::typed();
        let aside = lines.aside(|line| line == "/background");
        lines.type_line("next task");
        lines.type_line("/background");
        assert_eq!(aside.next().await, "/background");
        assert!(aside.next().now_or_never().is_none());
        drop(aside);
        lines.type_line("/background");
        assert_eq!(lines.next().await.as_deref(), Some("next task"));
        assert_eq!(lines.next().await.as_deref(), Some("/background"));
    }

    #[tokio::test]
    async fn a_late_answer_leaves_no_residue() {
        let lines = Lines::typed();
        let mark = lines.question();
        assert!(lines.since(mark).now_or_never().is_none());
        lines.withdraw(mark);
        lines.type_line("o");
        assert!(lines.next().now_or_never().is_none());
        lines.type_line("next task");
        assert_eq!(lines.next().await.as_deref(), Some("next task"));
    }

    #[tokio::test]
    async fn who_stops_waiting_eats_no_line_and_the_end_is_told() {
        let lines = Lines::typed();
        {
            let mut waiting = std::pin::pin!(lines.next());
            assert!(waiting.as_mut().now_or_never().is_none());
            lines.type_line("a");
        }
        assert_eq!(lines.next().await.as_deref(), Some("a"));
        lines.hang_up();
        assert_eq!(lines.next().await, None);
        assert!(lines.have_ended());
    }
}
