//! A person at the terminal who is asked, and `--yes`, which answers for them.
//!
//! Leaves to the runtime how long an answer may take and what becomes of it. Keeps the invariant "the answer
//! was typed after its question was shown".

use super::{
    Lines, Screen,
    clean::{clean, one_line},
    form::{self, Field},
    lines::Mark,
    question::{self, Saves, Typed},
    style::dim,
    turns::Turns,
};
use haft_core::{Answer, Approver, BoxFuture, Filled, Form, Question, exact};
use serde_json::{Map, Value};
use std::{
    io::{self, IsTerminal},
    sync::Arc,
};

/// How much of an answer is repeated.
const ECHO_MAX_CHARS: usize = 200;

/// Asks at the terminal, one question after another.
#[derive(Clone)]
pub(crate) struct TerminalApprover {
    lines: Arc<Lines>,
    screen: Screen,
    /// Whether a person sees the questions.
    seen: bool,
    /// Whether the session goes on after the call, so that an answer can hold for it.
    has_session: bool,
    /// Whose question is open.
    turns: Arc<Turns>,
}

impl TerminalApprover {
    /// Asks on standard error and reads answers from standard input; nobody is there unless both are a
    /// terminal.
    pub(crate) fn new() -> Self {
        Self::sharing(&Lines::of_stdin())
    }

    /// The same, where somebody else reads lines too.
    pub(crate) fn sharing(lines: &Arc<Lines>) -> Self {
        Self {
            lines: Arc::clone(lines),
            screen: Screen::stderr(),
            seen: io::stderr().is_terminal(),
            has_session: true,
            turns: Arc::default(),
        }
    }

    /// For a process that makes one call: its session ends with it, so no answer can hold for longer.
    pub(crate) fn for_one_call() -> Self {
        Self { has_session: false, ..Self::new() }
    }

    /// Asks something of one line; none where the input has ended. Waits until no other question is open.
    pub(crate) async fn ask_line(&self, text: &str) -> Option<String> {
        if !self.is_present() {
            return None;
        }
        let _turn = self.turns.take(None).await;
        let mut open = Open::new(self, "the question");
        let line = self.line(text, open.mark).await;
        open.settled = true;
        line
    }

    async fn put(&self, mut question: Question) -> Answer {
        if !self.has_session {
            question.session = None;
        }
        let _turn = self.turns.take(Some(&question.call)).await;
        let mut open = Open::new(self, &question.label);
        self.screen.show(&question::question(&question));
        let answer = self.answer(&question, open.mark).await;
        open.settled = true;
        answer
    }

    async fn put_form(&self, form: Form) -> Filled {
        let _turn = self.turns.take(Some(&form.call)).await;
        let mut open = Open::new(self, &form.source);
        let filled = self.filled(&form, open.mark).await;
        open.settled = true;
        filled.unwrap_or(Filled::Dismissed)
    }

    /// What becomes of a form; none where the input has ended.
    async fn filled(&self, form: &Form, mark: Mark) -> Option<Filled> {
        self.screen.show(&form::head(form));
        let fields = if form.url.is_some() { Vec::new() } else { form::fields(&form.schema) };
        let answer = self.line(&form::consent(form, fields.len()), mark).await?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Some(Filled::Declined);
        }
        let mut content = Map::new();
        for field in &fields {
            if let form::Typed::Value(value) = self.field(field, mark).await? {
                content.insert(field.name.clone(), value);
            }
        }
        Some(Filled::Accepted(Value::Object(content)))
    }

    /// What stands in one field in the end; none where the input has ended.
    async fn field(&self, field: &Field, mark: Mark) -> Option<form::Typed> {
        loop {
            match field.read(&self.line(&field.prompt(), mark).await?) {
                form::Typed::Again(why) => self.screen.line(&form::again(&why)),
                typed => return Some(typed),
            }
        }
    }

    /// The line that is typed after a prompt; none where the input has ended.
    async fn line(&self, prompt: &str, mark: Mark) -> Option<String> {
        self.screen.prompt(prompt);
        let line = self.lines.since(mark).await;
        match &line {
            Some(_) => self.screen.typed(),
            None => self.screen.end_prompt(),
        }
        line
    }

    /// The rule to save, chosen from those that are shown.
    async fn rule(&self, question: &Question, saves: Saves, mark: Mark) -> Chosen {
        let Some(line) = self.line(&question::rules(&question.rules, saves), mark).await else {
            return Chosen::Gone;
        };
        question::chosen(&line, &question.rules).map_or(Chosen::Back, |rule| Chosen::Rule(rule.clone()))
    }

    /// Reads until there is an answer.
    async fn answer(&self, question: &Question, mark: Mark) -> Answer {
        loop {
            let Some(line) = self.line(&question::menu(question), mark).await else {
                return Answer::Dismissed;
            };
            match Typed::parse(&line) {
                Typed::Once => return Answer::Once,
                Typed::Session if question.session.is_some() => return Answer::Session,
                Typed::Always if !question.rules.is_empty() => {
                    match self.rule(question, Saves::Allow, mark).await {
                        Chosen::Rule(rule) => return Answer::Always { rule },
                        Chosen::Back => {}
                        Chosen::Gone => return Answer::Dismissed,
                    }
                }
                Typed::Never if !question.rules.is_empty() => {
                    match self.rule(question, Saves::Deny, mark).await {
                        Chosen::Rule(rule) => return Answer::DenyAlways { rule },
                        Chosen::Back => {}
                        Chosen::Gone => return Answer::Dismissed,
                    }
                }
                Typed::Deny => return Answer::Deny { feedback: None },
                Typed::Feedback(Some(feedback)) => return Answer::Deny { feedback: Some(feedback) },
                Typed::Feedback(None) => {
                    let prompt = "  What to do instead (an empty line goes back) > ";
                    let Some(line) = self.line(prompt, mark).await else { return Answer::Dismissed };
                    if !line.trim().is_empty() {
                        return Answer::Deny { feedback: Some(line.trim().to_owned()) };
                    }
                }
                Typed::Session if !self.has_session => {
                    let text = "the session ends with this call, so no answer can hold for it";
                    self.screen.line(&format!("  {}", dim(text)));
                }
                Typed::Session | Typed::Always | Typed::Never => {
                    let text = "no rule covers just this, so the answer can't hold for longer than this call";
                    self.screen.line(&format!("  {}", dim(text)));
                }
                Typed::Other if line.trim().is_empty() => {}
                Typed::Other => {
                    let shown = one_line(&exact(&line), ECHO_MAX_CHARS);
                    self.screen.line(&format!("  {}", dim(&format!("\"{shown}\" is none of the answers"))));
                }
            }
        }
    }
}

/// What a person made of the rules that were shown.
enum Chosen {
    /// This one.
    Rule(String),
    /// None of them: back to the question.
    Back,
    /// Nobody is there any more.
    Gone,
}

impl Approver for TerminalApprover {
    fn is_present(&self) -> bool {
        self.seen && self.lines.are_typed() && !self.lines.have_ended()
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(self.put(question))
    }

    fn fill(&self, form: Form) -> BoxFuture<'_, Filled> {
        Box::pin(self.put_form(form))
    }
}

/// A question that is shown. Dropped before it is settled, it was withdrawn: a person is told, and what they
/// type for it meanwhile is forgotten.
struct Open<'a> {
    approver: &'a TerminalApprover,
    mark: Mark,
    what: String,
    settled: bool,
}

impl<'a> Open<'a> {
    fn new(approver: &'a TerminalApprover, what: &str) -> Self {
        Self { approver, mark: approver.lines.question(), what: clean(what), settled: false }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.approver.lines.withdraw(self.mark);
            let text = format!("{} needs no answer any more", self.what);
            self.approver.screen.line(&format!("  {}", dim(&text)));
        }
    }
}

/// Answers every question with "allow once".
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct YesApprover;

impl Approver for YesApprover {
    fn ask(&self, _: Question) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::ready(Answer::Once))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use haft_core::{CallId, Effects, Preview, Why};
    use serde_json::json;
    use std::sync::Mutex as Shared;

    struct Seat {
        approver: TerminalApprover,
        lines: Arc<Lines>,
        shown: Arc<Shared<String>>,
    }

    fn seat() -> Seat {
        let (lines, shown) = (Lines::typed(), Arc::new(Shared::new(String::new())));
        let sink = Arc::clone(&shown);
        let screen = Screen::new(move |text| sink.lock().unwrap().push_str(text));
        let approver = TerminalApprover {
            lines: Arc::clone(&lines),
            screen,
            seen: true,
            has_session: true,
            turns: Arc::default(),
        };
        Seat { approver, lines, shown }
    }

    fn about(label: &str, rules: &[&str]) -> Question {
        Question {
            call: CallId::outer(1),
            tool: "bash".into(),
            label: label.to_owned(),
            input: Arc::default(),
            effects: Effects::none(),
            mutates: true,
            why: vec![Why::new("default", "it asks first")],
            preview: Preview::default(),
            session: rules.first().map(|rule| (*rule).to_owned()),
            rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        }
    }

    /// What the lines answer; nothing else may be left.
    async fn answer(lines: &[&str], rules: &[&str]) -> Answer {
        let seat = seat();
        let mut asked = seat.approver.ask(about("Bash", rules));
        assert!((&mut asked).now_or_never().is_none());
        for line in lines {
            seat.lines.type_line(line);
        }
        asked.await
    }

    #[tokio::test]
    async fn each_answer_is_understood() {
        let rules = ["bash(ls)", "bash"];
        let denied = |text: &str| Answer::Deny { feedback: Some(text.to_owned()) };
        assert_eq!(answer(&["o"], &rules).await, Answer::Once);
        assert_eq!(answer(&["what?", "", "s"], &rules).await, Answer::Session);
        assert_eq!(answer(&["a", "2"], &rules).await, Answer::Always { rule: "bash".to_owned() });
        assert_eq!(answer(&["a", "b", "d"], &rules).await, Answer::Deny { feedback: None });
        assert_eq!(answer(&["x", "1"], &rules).await, Answer::DenyAlways { rule: "bash(ls)".to_owned() });
        assert_eq!(
            answer(&["x", "", "never", "2"], &rules).await,
            Answer::DenyAlways { rule: "bash".to_owned() }
        );
        assert_eq!(answer(&["f", " use grep "], &rules).await, denied("use grep"));
        assert_eq!(answer(&["f", "", "f no"], &rules).await, denied("no"));
        assert_eq!(answer(&["s", "a", "x", "o"], &[]).await, Answer::Once);
    }

    #[tokio::test]
    async fn a_form_is_filled_in_field_by_field_or_refused() {
        let schema = json!({"required": ["name"], "properties": {
            "name": {"type": "string", "title": "Your name"},
            "age": {"type": "integer"},
            "team": {"type": "string", "default": "red"},
        }});
        let about = |schema: Value| Form {
            call: CallId::outer(1),
            source: "the server x".into(),
            message: "Who are you?".to_owned(),
            schema,
            url: None,
        };
        let name_only = json!({"name": "Ada", "team": "red"});
        for (lines, filled) in [
            (&["y", "", "Ada", "", ""][..], Filled::Accepted(name_only)),
            (&["n"][..], Filled::Declined),
            (&[""][..], Filled::Declined),
        ] {
            let seat = seat();
            let mut asked = seat.approver.fill(about(schema.clone()));
            assert!((&mut asked).now_or_never().is_none());
            for line in lines {
                seat.lines.type_line(line);
            }
            assert_eq!(asked.await, filled);
            assert!(seat.shown.lock().unwrap().contains("Who are you?"));
        }
        let seat = seat();
        let asked = seat.approver.fill(about(schema));
        seat.lines.hang_up();
        assert_eq!(asked.await, Filled::Dismissed);
        assert_eq!(YesApprover.fill(about(json!({}))).await, Filled::Declined, "yes is no answer to a form");
    }

    #[tokio::test]
    async fn questions_are_asked_one_after_another() {
        let seat = seat();
        let mut first = seat.approver.ask(about("First", &[]));
        let mut second = seat.approver.ask(about("Second", &[]));
        assert!((&mut first).now_or_never().is_none());
        assert!((&mut second).now_or_never().is_none());
        assert!(!seat.shown.lock().unwrap().contains("Second"));
        seat.lines.type_line("o");
        assert_eq!(first.await, Answer::Once);
        assert!((&mut second).now_or_never().is_none());
        seat.lines.type_line("d");
        assert_eq!(second.await, Answer::Deny { feedback: None });
    }

    #[tokio::test]
    async fn waiting_questions_come_in_the_order_of_their_calls() {
        let seat = seat();
        let ask = |call: u64, label: &str| {
            seat.approver.ask(Question { call: CallId::outer(call), ..about(label, &[]) })
        };
        let (mut first, mut third, mut second) = (ask(1, "First"), ask(3, "Third"), ask(2, "Second"));
        for asked in [&mut first, &mut third, &mut second] {
            assert!(asked.now_or_never().is_none());
        }
        seat.lines.type_line("o");
        assert_eq!(first.await, Answer::Once);
        assert!((&mut third).now_or_never().is_none());
        assert!((&mut second).now_or_never().is_none());
        assert!(!seat.shown.lock().unwrap().contains("Third"));
        seat.lines.type_line("d");
        assert_eq!(second.await, Answer::Deny { feedback: None });
        assert!((&mut third).now_or_never().is_none());
        assert!(seat.shown.lock().unwrap().contains("Third"));
    }

    #[tokio::test]
    async fn a_process_of_one_call_offers_no_session() {
        let Seat { approver, lines, shown } = seat();
        let approver = TerminalApprover { has_session: false, ..approver };
        let mut asked = approver.ask(about("Bash", &["bash(ls)"]));
        assert!((&mut asked).now_or_never().is_none());
        assert!(!shown.lock().unwrap().contains("ession"));
        lines.type_line("s");
        lines.type_line("o");
        assert_eq!(asked.await, Answer::Once);
    }

    #[tokio::test]
    async fn a_withdrawn_question_vanishes_and_a_late_answer_settles_nothing() {
        let seat = seat();
        let mut first = seat.approver.ask(about("First", &[]));
        assert!((&mut first).now_or_never().is_none());
        drop(first);
        assert!(seat.shown.lock().unwrap().contains("First needs no answer any more"));
        seat.lines.type_line("o");
        let mut second = seat.approver.ask(about("Second", &[]));
        assert!((&mut second).now_or_never().is_none());
        seat.lines.type_line("d");
        assert_eq!(second.await, Answer::Deny { feedback: None });
        assert!(seat.lines.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn the_end_of_input_is_no_denial_and_then_nobody_is_there() {
        let seat = seat();
        let asked = seat.approver.ask(about("Bash", &[]));
        seat.lines.hang_up();
        assert_eq!(asked.await, Answer::Dismissed);
        assert!(!seat.approver.is_present());
    }
}
