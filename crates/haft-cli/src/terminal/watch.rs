//! Looks on while an agent works: its text as it comes, a card for each call.

use super::{
    Card, Screen,
    card::{outcome_line, reasons},
    clean::clean,
    style::{bad, dim},
};
use haft_agent::{AgentObserver, RetryNotice};
use haft_core::{CallId, Ended, Spec};
use haft_runtime::{Resolved, Session};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Shows a line when a call starts and one when it ends.
pub(crate) struct Cards {
    session: Arc<Session>,
    screen: Screen,
    reasons: bool,
    /// Labels of the calls that run.
    open: Mutex<BTreeMap<CallId, String>>,
    /// The call whose start is the last line that was shown.
    last: Mutex<Option<CallId>>,
}

impl Cards {
    /// Cards of one session's calls.
    pub(crate) fn new(session: &Arc<Session>, screen: &Screen) -> Self {
        Self {
            session: Arc::clone(session),
            screen: screen.clone(),
            reasons: false,
            open: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// Also says why each call was allowed, asked or refused.
    #[must_use]
    pub(crate) fn with_reasons(mut self) -> Self {
        self.reasons = true;
        self
    }

    /// A call starts.
    pub(crate) fn started(&self, id: &CallId, tool: &str, input: &str) {
        let card = Card::of(self.spec(tool).as_deref(), tool, input);
        self.screen.line(&card.line());
        lock(&self.open).insert(id.clone(), card.label);
        *lock(&self.last) = Some(id.clone());
    }

    /// A call ended.
    pub(crate) fn ended(&self, ended: &Ended) {
        let label = lock(&self.open).remove(&ended.call).unwrap_or_else(|| clean(&ended.tool));
        let is_below = lock(&self.last).take().is_some_and(|last| last == ended.call);
        // Elsewhere the line above is another call's, or a question about one.
        let whose = if is_below && !self.screen.has_prompt() { String::new() } else { format!("{label} ") };
        self.screen.line(&format!("  {whose}{}", outcome_line(ended)));
        if self.reasons {
            for reason in reasons(&ended.trace) {
                self.screen.line(&format!("    {}", dim(&reason)));
            }
        }
    }

    fn spec(&self, tool: &str) -> Option<Arc<Spec>> {
        match self.session.snapshot().resolve(tool) {
            Resolved::Tool(offer, _) => Some(Arc::clone(offer.spec())),
            Resolved::Gone(_) | Resolved::Unknown(_) => None,
        }
    }
}

/// Text that comes in pieces.
pub(crate) struct Prose {
    screen: Screen,
    /// Whether a line was begun.
    begun: Mutex<bool>,
}

impl Prose {
    /// Text on that screen.
    pub(crate) fn new(screen: &Screen) -> Self {
        Self { screen: screen.clone(), begun: Mutex::default() }
    }

    /// Shows a piece. An escape sequence that is split between two pieces loses its ESC and acts no more.
    pub(crate) fn push(&self, delta: &str) {
        let text = clean(delta);
        if !text.is_empty() {
            *lock(&self.begun) = !text.ends_with('\n');
            self.screen.show(&text);
        }
    }

    /// Ends the line that was begun.
    pub(crate) fn end_line(&self) {
        if std::mem::take(&mut *lock(&self.begun)) {
            self.screen.show("\n");
        }
    }
}

/// Shows an agent's run to people: text where somebody reads it, cards and notes.
pub(crate) struct CardWatch {
    text: Option<Prose>,
    cards: Option<Cards>,
    notes: Screen,
}

impl CardWatch {
    /// Without text or cards: only what a person should know.
    pub(crate) fn new(notes: &Screen) -> Self {
        Self { text: None, cards: None, notes: notes.clone() }
    }

    /// Also shows the text as it comes.
    #[must_use]
    pub(crate) fn with_text(mut self, text: Prose) -> Self {
        self.text = Some(text);
        self
    }

    /// Also shows a card for each call.
    #[must_use]
    pub(crate) fn with_cards(mut self, cards: Cards) -> Self {
        self.cards = Some(cards);
        self
    }

    /// Ends a line of text, so that something else can be shown.
    pub(crate) fn end_line(&self) {
        if let Some(text) = &self.text {
            text.end_line();
        }
    }

    fn note(&self, text: &str) {
        self.end_line();
        self.notes.line(&dim(&clean(text)));
    }
}

impl AgentObserver for CardWatch {
    fn text(&self, delta: &str) {
        if let Some(text) = &self.text {
            text.push(delta);
        }
    }

    fn call_started(&self, id: &CallId, tool: &str, input: &str) {
        self.end_line();
        if let Some(cards) = &self.cards {
            cards.started(id, tool, input);
        }
    }

    fn call_ended(&self, ended: &Ended) {
        self.end_line();
        if let Some(cards) = &self.cards {
            cards.ended(ended);
        }
    }

    fn retry(&self, notice: &RetryNotice) {
        let dropped = if notice.text_dropped { "; the text above no longer counts" } else { "" };
        self.note(&format!(
            "{} (try {} of {}, again in {:.1} s){dropped}",
            notice.reason,
            notice.attempt,
            notice.tries,
            notice.wait.as_secs_f64(),
        ));
    }

    fn loop_detected(&self, what: &str) {
        self.note(&format!("goes round in circles: {what}"));
    }

    fn warning(&self, text: &str) {
        self.end_line();
        self.notes.line(&bad(&clean(text)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_pieces_is_clean_and_its_line_ends_once() {
        let shown = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&shown);
        let prose = Prose::new(&Screen::new(move |text| sink.lock().unwrap().push_str(text)));
        for piece in ["a", "\u{1b}", "[31m", "b"] {
            prose.push(piece);
        }
        prose.end_line();
        prose.end_line();
        assert_eq!(*shown.lock().unwrap(), "a[31mb\n");
    }
}
