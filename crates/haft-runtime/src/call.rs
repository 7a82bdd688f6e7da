//! One call on its way: its trace, its end, and what is written down of it.

use crate::{
    catalogue::Offer,
    run::{CallSink, Ran, Stopwatch},
    seal::{CaptureSlot, REASON_MAX_BYTES, REFUSAL_MAX_BYTES, shorten, shortened},
    session::{LogEntry, Session},
};
use haft_core::{
    Block, CallId, Cancel, Effects, Ended, Event, Failure, FailureKind, Input, Outcome, Output, Progress,
    RealPath, Request, Spec, TraceStep, Truncation,
};
use haft_policy::Judgement;
use serde_json::Value;
use std::{
    fmt::Write,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

/// A call on its way.
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) session: Arc<Session>,
    pub(crate) request: Request,
    pub(crate) cancel: Cancel,
    pub(crate) outer: Option<Arc<Stopwatch>>,
    pub(crate) watch: Option<Stopwatch>,
    pub(crate) sink: Arc<CallSink>,
    pub(crate) unwritten: Arc<Unwritten>,
    pub(crate) captures: CaptureSlot,
    pub(crate) offer: Option<Offer>,
    /// What hooks want the model to know.
    pub(crate) context: Vec<String>,
    /// The last judgement of a question that is still open.
    pub(crate) open: Mutex<Option<Judgement>>,
    /// Whether a person was told what a gate warned of.
    warned: bool,
    /// What it is about, until the start is written down.
    about: Option<(Arc<Value>, Option<Effects<RealPath>>)>,
    began: Instant,
    steps: Vec<TraceStep>,
    /// The last judgement's; an earlier one is void.
    gates: Vec<TraceStep>,
    gates_at: usize,
}

/// The request of a call until it is written down, with the next line of the call or as soon as the call has to wait:
/// most go on at once, for which one write does. Of a call that breaks off it is written too.
pub(crate) struct Unwritten {
    session: Arc<Session>,
    call: CallId,
    entry: Mutex<Option<LogEntry>>,
}

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.write();
    }
}

impl Unwritten {
    /// Writes it down, unless it is.
    pub(crate) fn write(&self) {
        if let Some(entry) = self.take() {
            self.add([entry]);
        }
    }

    /// Does some work of the call, and writes it down where that has to wait.
    pub(crate) async fn written_while<F: Future>(&self, mut work: Pin<&mut F>) -> F::Output {
        poll_fn(|cx| {
            let polled = work.as_mut().poll(cx);
            if polled.is_pending() {
                self.write();
            }
            polled
        })
        .await
    }

    /// Adds a line after it.
    fn write_with(&self, entry: LogEntry) {
        self.add(self.take().into_iter().chain([entry]));
    }

    fn take(&self) -> Option<LogEntry> {
        self.entry.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A log that can't be written doesn't stop the call, but a person is told.
    fn add(&self, entries: impl IntoIterator<Item = LogEntry>) {
        if let Err(failure) = self.session.record_all(entries) {
            self.warn(format!("the session log couldn't be written: {failure}"));
        }
    }

    fn warn(&self, text: String) {
        let told = || Event::Progress { call: self.call.clone(), progress: Progress::Warning(text) };
        self.session.bus().publish(told);
    }
}

/// Writes notes on a call into its session's log, as long as there is one.
#[derive(Clone)]
pub(crate) struct Notes {
    session: Weak<Session>,
    call: CallId,
}

impl Notes {
    pub(crate) fn write(&self, text: String) {
        if let Some(session) = self.session.upgrade() {
            // A note that can't be written is lost; the outcome is what counts.
            let _ = session.record(LogEntry::Note { call: self.call.clone(), text });
        }
    }
}

/// How a call ends, before it is written down.
pub(crate) struct End {
    pub(crate) outcome: Outcome,
    pub(crate) output: Output,
    pub(crate) failure: Option<Failure>,
}

impl Call {
    pub(crate) fn new(
        session: &Arc<Session>,
        id: CallId,
        request: Request,
        cancel: Cancel,
        outer: Option<Arc<Stopwatch>>,
    ) -> Self {
        // Before anything of the call is written or shown.
        session.renew_masks();
        let max_bytes = haft_core::OUTPUT_MAX_BYTES;
        let captures =
            CaptureSlot::new(session.spill().clone(), id.clone(), max_bytes).masked(session.masks().clone());
        let sink = Arc::new(
            CallSink::new(id.clone(), session.bus().clone(), captures.clone())
                .masked(session.masks().clone()),
        );
        let unwritten = Unwritten { session: Arc::clone(session), call: id.clone(), entry: Mutex::default() };
        Self {
            id,
            unwritten: Arc::new(unwritten),
            session: Arc::clone(session),
            request,
            cancel,
            outer,
            watch: None,
            sink,
            captures,
            offer: None,
            context: Vec::new(),
            open: Mutex::default(),
            warned: false,
            about: None,
            began: Instant::now(),
            steps: Vec::with_capacity(12),
            gates: Vec::new(),
            gates_at: 0,
        }
    }

    /// Says that the call came in. The line of the log is left to whoever has the next one, or lets the call wait.
    pub(crate) fn begin(&mut self) {
        let raw = match &self.request.input {
            Input::Text(text) | Input::CutOff(text) => text,
        };
        self.session.bus().publish(|| Event::Requested {
            call: self.id.clone(),
            tool: self.request.tool.as_str().into(),
            input: raw.as_str().into(),
        });
        if self.session.is_recorded() {
            let entry = LogEntry::Requested {
                call: self.id.clone(),
                run: self.session.run_number(),
                tool: self.request.tool.clone(),
                raw: raw.clone(),
                turn: self.request.turn,
                foreign_id: self.request.foreign_id.clone(),
            };
            *self.unwritten.entry.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
        }
    }

    pub(crate) fn resolved(&mut self, offer: &Offer, how: &'static str) {
        self.captures.set_max_bytes(offer.spec().max_output_bytes);
        self.offer = Some(offer.clone());
        self.step(TraceStep::new("resolve", "ok").because(how));
    }

    /// Says which tool the call turned out to be for.
    pub(crate) fn announce(&self, offer: &Offer) {
        self.session.bus().publish(|| Event::Resolved {
            call: self.id.clone(),
            tool: Arc::clone(&offer.name),
            owner: Arc::clone(&offer.owner),
        });
    }

    /// What the call is about, for the log of one that never starts.
    pub(crate) fn about(&mut self, input: &Arc<Value>, effects: Option<&Effects<RealPath>>) {
        if self.session.is_recorded() {
            self.about = Some((Arc::clone(input), effects.cloned()));
        }
    }

    pub(crate) fn step(&mut self, step: TraceStep) {
        self.steps.push(step);
    }

    pub(crate) fn judged(&mut self, judgement: Judgement) {
        let verdict = judgement.verdict.name();
        self.gates = judgement.trace;
        self.steps.retain(|step| step.step != "judge");
        self.gates_at = self.steps.len();
        self.steps.push(TraceStep::new("judge", verdict));
    }

    /// Tells people what the gates warn of, once for the call however often it is judged.
    pub(crate) fn pass_on_warnings(&mut self, judgement: &Judgement) {
        let mut warnings = judgement.trace.iter().filter(|step| step.verdict == "warn");
        if let Some(warning) = warnings.find_map(|step| step.reason.as_deref()).filter(|_| !self.warned) {
            self.warned = true;
            self.warn(format!("it runs, but {warning}"));
        }
    }

    /// The steps in order, the gates' words before the judgement they led to.
    pub(crate) fn take_trace(&mut self) -> Vec<TraceStep> {
        let mut steps = std::mem::take(&mut self.steps);
        let at = self.gates_at.min(steps.len());
        steps.splice(at..at, self.gates.drain(..));
        steps
    }

    pub(crate) fn invalid(&mut self, step: &'static str, text: String) -> End {
        self.step(TraceStep::new(step, "invalid").because(text.clone()));
        End::refused(Outcome::Invalid, text)
    }

    pub(crate) fn started(&mut self, offer: &Offer, input: &Arc<Value>, effects: &Effects<RealPath>) {
        self.about = None;
        if self.session.is_recorded() {
            self.unwritten.write_with(LogEntry::Started {
                call: self.id.clone(),
                tool: Arc::clone(&offer.name),
                owner: Arc::clone(&offer.owner),
                input: Arc::clone(input),
                effects: effects.clone(),
            });
        }
        self.session.bus().publish(|| Event::Started { call: self.id.clone() });
        self.step(TraceStep::new("run", "started"));
    }

    /// Tells people that a result was cut.
    pub(crate) fn warn_cut(&self, cut: &Truncation) {
        let lines = cut.total_lines.saturating_sub(cut.shown_lines);
        let bytes = cut.total_bytes.saturating_sub(cut.shown_bytes);
        let place = cut.path.as_ref().map(|path| format!("; all of it is in {path}")).unwrap_or_default();
        self.warn(format!("{lines} lines ({bytes} bytes) of the result were left out for the model{place}"));
    }

    /// A way to write down what happens to the call after or beside its end.
    pub(crate) fn notes(&self) -> Notes {
        Notes { session: Arc::downgrade(&self.session), call: self.id.clone() }
    }

    /// Applies the session's changes and writes the end down: the one terminal event.
    pub(crate) fn record(mut self, end: End) -> Ended {
        let End { mut outcome, output, mut failure } = end;
        self.session.apply(&output);
        let masks = self.session.masks().clone();
        masks.outcome(&mut outcome);
        if let Outcome::Denied { why, .. } = &mut outcome {
            shorten(&mut why.reason, REASON_MAX_BYTES);
        }
        if let Some(failure) = &mut failure {
            masks.failure(failure);
            shorten(&mut failure.text, REFUSAL_MAX_BYTES);
        }
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(judgement) = open.filter(|_| self.gates.is_empty()) {
            self.judged(judgement);
        }
        self.step(TraceStep::new("record", outcome.name()));
        let tool = self
            .offer
            .as_ref()
            .map_or_else(|| self.request.tool.as_str().into(), |offer| Arc::clone(&offer.name));
        let duration = self.began.elapsed();
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut trace = self.take_trace();
        masks.trace(&mut trace);
        // Only now: a secret that is cut isn't known for one.
        shorten_reasons(&mut trace);
        if self.session.is_recorded() {
            let bytes: usize = output.content.iter().filter_map(Block::as_text).map(str::len).sum();
            let (input, effects) = self.about.take().unzip();
            self.unwritten.write_with(LogEntry::Ended {
                call: self.id.clone(),
                input,
                effects: effects.flatten(),
                tool: Arc::clone(&tool),
                outcome: outcome.clone(),
                trace: trace.clone(),
                duration_ms,
                bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
                truncation: output.truncation.clone(),
                diagnostic: failure.as_ref().and_then(|failure| failure.diagnostic.clone()),
                files: output.files.clone(),
                session: output.session.clone(),
                seen: output.seen.clone(),
            });
        }
        self.session.bus().publish(|| Event::Ended {
            call: self.id.clone(),
            tool: Arc::clone(&tool),
            outcome: outcome.clone(),
            duration_ms,
        });
        Ended {
            call: self.id.clone(),
            tool,
            owner: self.offer.as_ref().map(|offer| Arc::clone(&offer.owner)),
            outcome,
            output,
            failure,
            trace,
            duration,
        }
    }

    /// Past the sink, which ends before the call does.
    pub(crate) fn warn(&self, text: String) {
        self.unwritten.warn(text);
    }
}

impl End {
    pub(crate) fn refused(outcome: Outcome, text: String) -> Self {
        Self { outcome, output: Output::text(text), failure: None }
    }

    /// Bounds what a call that never ran is answered with.
    pub(crate) fn shorten(&mut self) {
        for block in &mut self.output.content {
            if let Block::Text { text } = block {
                shorten(text, REFUSAL_MAX_BYTES);
            }
        }
    }

    pub(crate) fn cancelled() -> Self {
        Self::refused(
            Outcome::Cancelled,
            "The call was cancelled before it ran; nothing was changed.".to_owned(),
        )
    }

    pub(crate) fn failed(mut failure: Failure) -> Self {
        let inner = failure.inner.take().filter(|inner| !inner.is_completed());
        let outcome = match (inner, failure.kind) {
            (Some(inner), _) => *inner,
            (None, FailureKind::Cancelled) => Outcome::Cancelled,
            (None, FailureKind::Timeout) => Outcome::TimedOut,
            (None, kind) => Outcome::Failed { kind },
        };
        let output = with_text(failure.text.clone(), failure.partial.take().map(|partial| *partial));
        // A call that was refused has no failure beside its text, whether it was refused itself or the one inside.
        let is_refused = matches!(outcome, Outcome::Denied { .. } | Outcome::Invalid | Outcome::Unknown);
        Self { outcome, output, failure: (!is_refused).then_some(failure) }
    }

    /// From what the run came to; `left` is what its captures held when it was left behind.
    pub(crate) fn of(ran: Ran, spec: &Spec, left: Option<Output>) -> Self {
        match ran {
            Ran::Returned(output) => Self { outcome: Outcome::Completed, output, failure: None },
            Ran::Failed(mut failure) => {
                failure.partial = failure.partial.or(left.map(Box::new));
                Self::failed(failure)
            }
            Ran::TimedOut(word) => {
                let text = format!(
                    "timed out after {}. What it had printed until then follows, if anything; do less at once, or ask \
                     for more time where the tool takes a timeout.",
                    seconds(spec.timeout())
                );
                Self::stopped(Outcome::TimedOut, FailureKind::Timeout, text, word, left)
            }
            Ran::Cancelled(word) => {
                let text = "cancelled while it ran; what it did until then stays".to_owned();
                Self::stopped(Outcome::Cancelled, FailureKind::Cancelled, text, word, left)
            }
        }
    }

    fn stopped(
        outcome: Outcome,
        kind: FailureKind,
        text: String,
        word: Option<Failure>,
        left: Option<Output>,
    ) -> Self {
        let diagnostic = word.as_ref().and_then(|word| word.diagnostic.clone());
        let partial = word.and_then(|word| word.partial).map(|partial| *partial).or(left);
        let failure = Failure { diagnostic, ..Failure::new(kind, text.clone()) };
        Self { outcome, output: with_text(text, partial), failure: Some(failure) }
    }

    /// The structured output breaks the tool's own schema: a failure that keeps what came.
    pub(crate) fn misfit(&mut self, tool: &str, problems: &str) {
        let mut text = String::new();
        let _ = write!(
            text,
            "the result of \"{tool}\" breaks the tool's own outputSchema: {problems}\nWhat it returned follows."
        );
        self.outcome = Outcome::Failed { kind: FailureKind::Internal };
        self.failure = Some(Failure::internal(text.clone()).diagnose(problems));
        self.output.structured = None;
        self.output.foreign = None;
        self.output.content.insert(0, Block::text(text));
    }
}

/// Bounds the reasons of a trace, which repeat what the input names, however long that is.
pub(crate) fn shorten_reasons(trace: &mut [TraceStep]) {
    for reason in trace.iter_mut().filter_map(|step| step.reason.as_mut()) {
        if let Some(short) = shortened(reason, REASON_MAX_BYTES) {
            *reason = short.into();
        }
    }
}

fn with_text(text: String, partial: Option<Output>) -> Output {
    let mut output = partial.unwrap_or_default();
    output.content.retain(|block| block.as_text().is_none_or(|text| !text.is_empty()));
    output.content.insert(0, Block::text(text));
    output
}

fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}
