//! What would become of a call, without running anything or asking anybody.

use crate::{
    call::{Call, End, shorten_reasons},
    executor::{Executor, Ready},
    hooks::HookEvent,
    seal::{REASON_MAX_BYTES, shorten},
    session::Session,
};
use haft_core::{CallId, Cancel, Request, TraceStep, Why};
use haft_policy::{Verdict, judge, why_not};
use std::sync::Arc;

/// What would become of a call, without running anything.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// `allow`, `ask`, `deny`; `invalid` or `unknown` where it isn't judged at all.
    pub verdict: &'static str,
    /// In words.
    pub reason: String,
    /// The rule that decides.
    pub rule: Option<String>,
    /// Where it is written, `path:line`.
    pub source: Option<String>,
    /// Each step's word.
    pub trace: Vec<TraceStep>,
    /// What would let it run, narrowest first; empty where it runs, and where it isn't judged at all.
    pub why_not: Vec<String>,
}

impl Executor {
    /// Steps 1 to 5, with nothing run and nobody asked. Blocking, where a tool has a word of its own on its input: who can
    /// wait uses [`Executor::explained`].
    pub fn explain(&self, session: &Arc<Session>, request: &Request) -> Explained {
        let mut call = Self::only_looked_at(session, request);
        let ready = Self::resolve(&mut call).and_then(|offer| {
            let input = Self::take_in(&mut call, &offer)?;
            Self::bind_blocking(&mut call, offer, input)
        });
        self.judged_only(call, ready)
    }

    /// As [`Executor::explain`], where a tool's own word on its input is waited for as the call waits for it.
    ///
    /// # Cancellation
    /// Dropping the future lets the tool's word go; nothing else has begun.
    pub async fn explained(&self, session: &Arc<Session>, request: &Request) -> Explained {
        let mut call = Self::only_looked_at(session, request);
        let taken_in = Self::resolve(&mut call).and_then(|offer| {
            let input = Self::take_in(&mut call, &offer)?;
            Ok((offer, input))
        });
        let ready = match taken_in {
            Ok((offer, input)) => Self::bind(&mut call, offer, input).await,
            Err(end) => Err(end),
        };
        self.judged_only(call, ready)
    }

    fn only_looked_at(session: &Arc<Session>, request: &Request) -> Call {
        session.renew();
        Call::new(session, CallId::outer(0), request.clone(), Cancel::new(), None)
    }

    fn judged_only(&self, mut call: Call, ready: Result<Ready, End>) -> Explained {
        let session = Arc::clone(&call.session);
        let stated = ready.and_then(|ready| self.state(&mut call, &ready));
        let mut explained = match stated {
            Err(mut end) => {
                end.shorten();
                Explained {
                    verdict: end.outcome.name(),
                    reason: end.output.joined_text(),
                    rule: None,
                    source: None,
                    trace: call.take_trace(),
                    why_not: Vec::new(),
                }
            }
            Ok(stated) => {
                let policies = session.policies();
                let judgement = judge(&stated.subject, &policies);
                let verdict = judgement.verdict.name();
                let mut why = match &judgement.verdict {
                    Verdict::Allow(why) | Verdict::Deny(why) => why.clone(),
                    Verdict::Ask(all) => {
                        let first = all.first().cloned().unwrap_or_else(|| Why::new("ask", "asked"));
                        let mut reasons: Vec<&str> = Vec::new();
                        for why in all {
                            if !reasons.contains(&why.reason.as_str()) {
                                reasons.push(&why.reason);
                            }
                        }
                        Why { reason: reasons.join("; "), ..first }
                    }
                };
                shorten(&mut why.reason, REASON_MAX_BYTES);
                call.judged(judgement);
                let is_core = stated.subject.is_core();
                let hooks = session.hooks().matching(HookEvent::PreToolUse, &stated.subject.tool, is_core);
                for hook in hooks {
                    call.step(hook.listed());
                }
                Explained {
                    verdict,
                    reason: why.reason,
                    rule: why.rule,
                    source: why.source,
                    trace: call.take_trace(),
                    why_not: why_not(&stated.subject, &policies),
                }
            }
        };
        shorten_reasons(&mut explained.trace);
        explained
    }
}
