//! The desk: puts a question, waits, and takes whatever settles it first.

use super::{Approved, preview};
use crate::{
    admission::Seat,
    hooks::{HookCall, Permitted},
    intake::Stated,
    run::Stopwatch,
    session::{Keep, Session},
};
use haft_core::{
    Answer, Bound, Cancel, Cx, Event, Failure, Outcome, OwnCheck, Preview, Question, RealPath, Touch, Why,
};
use haft_policy::{Judgement, Policy, Subject, Verdict, judge, rule_choices, ways_out};
use std::{
    fmt::Write,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::sleep;

/// How long a person may take; then it is a denial that says so.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(300);

/// Everything a question needs.
pub(crate) struct Desk<'a> {
    pub(crate) session: &'a Session,
    pub(crate) seat: &'a Seat,
    pub(crate) bound: &'a dyn Bound,
    /// A world that can't be written, made only where a question needs it.
    pub(crate) cx: &'a (dyn Fn(&Stated) -> Cx + Sync),
    pub(crate) outer: Option<&'a Stopwatch>,
    /// The gates' words while a question is open, for the trace of a call that is cancelled meanwhile.
    pub(crate) open: &'a Mutex<Option<Judgement>>,
    /// The call's id as hooks are told.
    pub(crate) id: String,
}

/// What came of judging and asking.
pub(crate) enum Settled {
    /// It may run.
    Approved(Approved),
    /// What it touches changed while it waited; it must be judged anew.
    Changed(Stated),
    /// It may not.
    Refused(Outcome, String),
}

/// What the desk did, for the trace.
pub(crate) struct Asked {
    pub(crate) settled: Settled,
    pub(crate) judgement: Judgement,
    /// What became of the question, where there was one.
    pub(crate) answer: Option<(&'static str, String)>,
}

/// What a person was asked.
struct AskedFor {
    why: Vec<Why>,
    shown: Preview,
    /// The rule that an answer for the session makes.
    session: Option<String>,
}

/// The gate whose questions are answered for a way out, not by a rule.
const TAINT: &str = "taint";
/// The gate whose questions a grant for just this tool answers.
const FIRST_USE: &str = "first-use";
/// The gate whose questions an answer for the session settles, since the path is a root from then on.
const OUTSIDE: &str = "outside";

enum Step {
    Answered(Answer),
    Late,
    PolicyChanged,
    Voided,
}

impl Desk<'_> {
    /// Judges, and asks if need be; with it what hooks came to that heard of the question, however it ended.
    /// `again` states the effects anew, for when names may have moved.
    pub(crate) async fn settle(
        &self,
        stated: Stated,
        again: impl Fn() -> Result<Stated, Failure>,
    ) -> (Result<Asked, Failure>, Permitted) {
        let mut said = Permitted::default();
        let asked = self.put(stated, again, &mut said).await;
        (asked, said)
    }

    /// Lets hooks answer before a person is asked: their word is one more for the gates.
    async fn hear_hooks(&self, stated: &mut Stated, said: &mut Permitted) {
        let hooks = self.session.hooks();
        if hooks.is_empty() {
            return;
        }
        let told = self.session.hook_session();
        let subject = &stated.subject;
        let about = HookCall {
            session: &told,
            id: &self.id,
            tool: &subject.tool,
            is_core: subject.is_core(),
            input: &subject.input,
        };
        *said = hooks.permission_request(&about, &Cancel::new()).await;
        if let Some(word) = said.word.take() {
            let mut heard = Subject::clone(subject);
            heard.hooks.push(word);
            stated.subject = Arc::new(heard);
        }
    }

    async fn put(
        &self,
        mut stated: Stated,
        again: impl Fn() -> Result<Stated, Failure>,
        said: &mut Permitted,
    ) -> Result<Asked, Failure> {
        let mut changes = self.session.policy_changes();
        let mut policies = self.session.policies();
        let mut judgement = judge(&stated.subject, &policies);
        if let Verdict::Ask(_) = judgement.verdict {
            let before = stated.subject.hooks.len();
            self.hear_hooks(&mut stated, said).await;
            if stated.subject.hooks.len() > before {
                policies = self.session.policies();
                judgement = judge(&stated.subject, &policies);
            }
        }
        self.publish(&judgement);
        let why = match &judgement.verdict {
            Verdict::Allow(_) => return Ok(Asked::by_gates(stated, judgement, policies)),
            Verdict::Deny(why) => return Ok(Asked::denied(why.clone(), None, judgement)),
            Verdict::Ask(why) => why.clone(),
        };
        let workspace = self.session.policy().workspace.clone();
        if !self.session.approver().is_present_for(self.seat.call()) {
            return Ok(Asked::denied(nobody(&stated, &why, &workspace), None, judgement));
        }
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(judgement.clone());
        let _paused = self.outer.map(Stopwatch::pause);
        let shown = match self.preview(&stated, &why, &again).await? {
            Ok(shown) => shown,
            Err(now) => {
                return Ok(Asked { settled: Settled::Changed(now), judgement, answer: None });
            }
        };
        let call = self.seat.call().clone();
        self.session.bus().publish(|| Event::Asked { call: call.clone() });
        let mut question = question(&stated, why, &shown, &workspace);
        let masks = self.session.masks();
        masks.text(&mut question.preview.text);
        masks.value(Arc::make_mut(&mut question.input));
        let session = question.session.clone();
        let why = question.why.clone();
        let mut asked = pin!(self.session.approver().ask(question));
        let mut late = pin!(sleep(ANSWER_TIME));
        loop {
            let step = tokio::select! {
                biased;
                answer = &mut asked => Step::Answered(answer),
                () = &mut late => Step::Late,
                () = changes.next() => Step::PolicyChanged,
                () = self.seat.voided() => Step::Voided,
            };
            match step {
                Step::Answered(answer) => {
                    let asked = AskedFor { why, shown, session };
                    let (settled, answer) = self.answered(answer, stated, asked);
                    return Ok(Asked { settled, judgement, answer: Some(answer) });
                }
                Step::Late => {
                    self.answer("timed-out");
                    let why = Why::new("approval", "nobody answered within 5 minutes");
                    return Ok(Asked::denied(why, Some(("timed-out", String::new())), judgement));
                }
                // Somebody's answer to another question may settle this one.
                Step::PolicyChanged => {
                    policies = self.session.policies();
                    judgement = judge(&stated.subject, &policies);
                    match &judgement.verdict {
                        Verdict::Ask(_) => {}
                        Verdict::Allow(_) => {
                            self.answer("settled");
                            return Ok(Asked::by_gates(stated, judgement, policies));
                        }
                        Verdict::Deny(why) => {
                            self.answer("settled");
                            return Ok(Asked::denied(why.clone(), None, judgement));
                        }
                    }
                }
                Step::Voided => {
                    let now = again()?;
                    if !now.agrees_with(&stated) {
                        self.answer("withdrawn");
                        return Ok(Asked { settled: Settled::Changed(now), judgement, answer: None });
                    }
                    self.seat.declare(crate::executor::claims(&stated));
                }
            }
        }
    }

    /// What a person is shown. What can't be previewed now may be once earlier calls have ended that this one waits
    /// for in any case: an edit of a file that is yet to be written. The inner error is what it touches by then.
    async fn preview(
        &self,
        stated: &Stated,
        why: &[Why],
        again: &impl Fn() -> Result<Stated, Failure>,
    ) -> Result<Result<Preview, Stated>, Failure> {
        loop {
            let waits = self.seat.is_waiting();
            let failure = match preview::take(self.bound, &(self.cx)(stated)).await {
                Ok(shown) => return Ok(Ok(shown)),
                Err(failure) => failure,
            };
            if waits {
                self.seat.turn().await;
                let now = again()?;
                if !now.agrees_with(stated) {
                    return Ok(Err(now));
                }
                self.seat.declare(crate::executor::claims(stated));
                continue;
            }
            // It would fail for sure, so nobody need be asked. But where a gate restricts what may be looked at, even
            // the reason may say too much: then only the person sees it.
            if why.iter().all(|why| is_settler(&why.gate)) {
                return Err(failure);
            }
            return Ok(Ok(Preview {
                text: format!("As it stands it would fail: {failure}"),
                digest: Vec::new(),
            }));
        }
    }

    /// What an answer comes to, and its name and detail for the trace.
    fn answered(&self, answer: Answer, stated: Stated, asked: AskedFor) -> (Settled, (&'static str, String)) {
        let AskedFor { why, shown, session } = asked;
        let word = match answer {
            Answer::Once => ("once", String::new()),
            // No rule lets data out; the answer covers the ways of this call, for what the session holds now.
            Answer::Session if why.iter().any(|why| why.gate == TAINT) => {
                let ways = ways_out(&stated.subject);
                self.session.cover(&ways);
                ("session", format!("sending to {}", ways.join(", ")))
            }
            Answer::Session => match session {
                Some(rule) => ("session", self.save(&stated, rule, Keep::Session)),
                None => ("once", "no rule is narrow enough to hold for the session".to_owned()),
            },
            Answer::Always { rule } => ("always", self.save(&stated, rule, Keep::Always)),
            Answer::Deny { feedback } => {
                self.answer("deny");
                let why = Why::new("user", format!("Tool use denied by user: {}", stated.subject.tool));
                let text = denial_text(&why, feedback.as_deref());
                let detail = feedback.clone().unwrap_or_default();
                return (Settled::Refused(Outcome::Denied { why, feedback }, text), ("deny", detail));
            }
            Answer::DenyAlways { rule } => {
                self.answer("deny");
                let detail = match self.session.deny_always(&rule) {
                    Ok(()) => rule,
                    Err(failure) => {
                        (self.cx)(&stated).warn(format!("the refusal holds for this call only: {failure}"));
                        format!("not saved: {failure}")
                    }
                };
                let why = Why::new("user", format!("Tool use denied by user: {}", stated.subject.tool));
                let text = denial_text(&why, None);
                return (Settled::Refused(Outcome::Denied { why, feedback: None }, text), ("deny", detail));
            }
            Answer::Dismissed => {
                self.answer("dismissed");
                let tool = &stated.subject.tool;
                let text = format!("The question about {tool} was closed without an answer; nothing ran.");
                return (Settled::Refused(Outcome::Cancelled, text), ("dismissed", String::new()));
            }
        };
        self.answer(word.0);
        (Settled::Approved(Approved::by_person(stated, shown, why, self.session.policies())), word)
    }

    /// Saves the answer and says what holds now; where it can't be saved, it holds for this call.
    fn save(&self, stated: &Stated, rule: String, keep: Keep) -> String {
        match self.session.grant(&rule, stated.subject.tool_hash.clone(), keep) {
            Ok(()) => {
                if keep == Keep::Session {
                    self.widen(stated);
                }
                rule
            }
            Err(failure) => {
                (self.cx)(stated).warn(format!("the answer holds for this call only: {failure}"));
                format!("not saved: {failure}")
            }
        }
    }

    /// An outside path that a person approved for the session is a root of its own from then on.
    fn widen(&self, stated: &Stated) {
        let outside = stated.subject.paths.iter().filter(|path| path.real.is_outside());
        let roots: Vec<String> = outside.map(|path| path.real.absolute()).collect();
        if !roots.is_empty() {
            self.session.change_policy(|policy| policy.roots.extend(roots));
        }
    }

    fn answer(&self, answer: &'static str) {
        let call = self.seat.call().clone();
        self.session.bus().publish(|| Event::Answered { call, answer });
    }

    fn publish(&self, judgement: &Judgement) {
        let call = self.seat.call().clone();
        self.session.bus().publish(|| Event::Judged {
            call,
            verdict: judgement.verdict.name(),
            why: match &judgement.verdict {
                Verdict::Allow(why) | Verdict::Deny(why) => vec![why.clone()],
                Verdict::Ask(why) => why.clone(),
            },
        });
    }
}

/// Whether the word came from a settler, not from a guard.
fn is_settler(gate: &str) -> bool {
    matches!(gate, "mode" | "default")
}

fn nobody(stated: &Stated, why: &[Why], workspace: &RealPath) -> Why {
    let reasons: Vec<&str> = why.iter().map(|why| why.reason.as_str()).collect();
    if let Some(guard) = why.iter().find(|why| !is_settler(&why.gate)) {
        let what = guard
            .rule
            .as_ref()
            .map_or_else(|| format!("guard \"{}\"", guard.gate), |rule| format!("rule {rule}"));
        let way = if guard.gate == FIRST_USE {
            let tool = &stated.subject.tool;
            format!("make it once where somebody can answer, or run `haft permissions pin {tool}`")
        } else {
            "make the call where somebody can answer, or change that".to_owned()
        };
        let reason = format!(
            "it needs a person's word ({}), and nobody is there to give it. No allow rule beats the {what}: the \
             operator has to {way}",
            reasons.join("; ")
        );
        return Why { gate: "approval".into(), reason, ..guard.clone() };
    }
    let advice = match rule_choices(&stated.subject, workspace).into_iter().next() {
        Some(rule) => {
            let rule = serde_json::to_string(&rule).unwrap_or(rule);
            format!("The operator can allow it with permissions.allow = [{rule}]")
        }
        // A line with several commands, substitutions or redirections: only the whole tool would cover it.
        None => "No rule covers just this: make it one plain command that a rule can name".to_owned(),
    };
    let reasons = reasons.join("; ");
    Why::new(
        "approval",
        format!("it needs a person's word ({reasons}), and nobody is there to give it. {advice}"),
    )
}

fn question(stated: &Stated, why: Vec<Why>, shown: &Preview, workspace: &RealPath) -> Question {
    let subject = &stated.subject;
    let mut rules = rule_choices(subject, workspace);
    let mut why = why;
    let session = if why.iter().any(|why| why.gate == TAINT) {
        let ways = ways_out(subject).join(", ");
        Some(format!(
            "sending to {ways}, until further private data, or the words of a further stranger, are read"
        ))
    } else if why.iter().all(|why| lifts(why, subject) || is_widened(why, subject)) {
        session_rule(subject, &rules)
    } else {
        None
    };
    if !why.iter().all(|why| lifts(why, subject)) && !rules.is_empty() {
        // A saved rule would be asked about all the same.
        rules.clear();
        let reason = "no saved rule beats a guard, so \"always\" isn't offered";
        why.push(Why::new("approval", reason));
    }
    Question {
        call: subject.call.clone(),
        tool: Arc::clone(&subject.tool),
        label: subject.spec.label(),
        input: Arc::clone(&subject.input),
        effects: subject.effects.clone(),
        mutates: subject.mutates,
        why,
        preview: shown.clone(),
        session,
        rules,
    }
}

/// Whether a grant answers this reason, so that the next call like it isn't asked for it.
fn lifts(why: &Why, subject: &Subject) -> bool {
    let is_own = || matches!(&subject.own, Some(OwnCheck::Ask(own)) if own == why);
    is_settler(&why.gate) || subject.tool_hash.is_some() && (why.gate == FIRST_USE || is_own())
}

/// Whether an answer for the session makes roots of what it is about.
fn is_widened(why: &Why, subject: &Subject) -> bool {
    why.gate == OUTSIDE && subject.lines.is_empty() && subject.paths.iter().any(|path| path.real.is_outside())
}

/// The rule that covers just calls like this one: of a tool that names paths or commands, those and no others.
fn session_rule(subject: &Subject, rules: &[String]) -> Option<String> {
    let names = |touch: &Touch<RealPath>| touch.path().is_some() || matches!(touch, Touch::Command(_));
    let is_exact = |rule: &&String| {
        !subject.effects.touches().iter().any(names) || rule.contains('(') && !rule.contains('*')
    };
    rules.first().filter(is_exact).cloned()
}

impl Asked {
    fn by_gates(stated: Stated, judgement: Judgement, policies: Vec<Arc<Policy>>) -> Self {
        let approved = Approved::by_gates(stated, &judgement, policies);
        let settled = match approved {
            Some(approved) => Settled::Approved(approved),
            None => Settled::Refused(Outcome::Cancelled, "the gates gave no word".to_owned()),
        };
        Self { settled, judgement, answer: None }
    }

    fn denied(why: Why, answer: Option<(&'static str, String)>, judgement: Judgement) -> Self {
        let text = denial_text(&why, None);
        Self { settled: Settled::Refused(Outcome::Denied { why, feedback: None }, text), judgement, answer }
    }
}

/// What a model reads about a denial.
pub(crate) fn denial_text(why: &Why, feedback: Option<&str>) -> String {
    if why.gate == "user" {
        return match feedback {
            Some(feedback) => format!("{}. They said: {feedback}", why.reason),
            None => why.reason.clone(),
        };
    }
    let mut text = format!("Not allowed: {}", why.reason);
    if let Some(rule) = &why.rule {
        let _ = write!(text, " (rule {rule}");
        if let Some(source) = &why.source {
            let _ = write!(text, ", {source}");
        }
        text.push(')');
    }
    text.push_str(". Nothing ran. Don't repeat the call; find another way or tell the user what you need.");
    text
}
