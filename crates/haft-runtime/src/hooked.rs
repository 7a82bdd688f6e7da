//! Steps 5 and 11: hooks before a call is judged for good, and after it ran.

use crate::{
    call::{Call, End},
    executor::{Executor, Ready},
    hooks::{HookCall, HookEnd, HookEvent},
    intake::Stated,
};
use haft_core::{Block, Cancel, Outcome, TraceStep};
use haft_policy::{Verdict, judge};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

impl Executor {
    /// What hooks say before a call that the gates don't refuse: once, whatever becomes of the input. A rewritten one
    /// is taken in, bound and stated like the model's own.
    pub(crate) async fn hear_hooks(
        &self,
        call: &mut Call,
        ready: Ready,
        stated: Stated,
    ) -> Result<(Ready, Stated), End> {
        let session = Arc::clone(&call.session);
        if !session.hooks().are_about(HookEvent::PreToolUse, &ready.offer) {
            return Ok((ready, stated));
        }
        if let Verdict::Deny(_) = judge(&stated.subject, &session.policies()).verdict {
            return Ok((ready, stated));
        }
        let (told, id) = (session.hook_session(), call.told_id());
        let about = HookCall {
            session: &told,
            id: &id,
            tool: &ready.offer.name,
            is_core: ready.offer.is_core(),
            input: &ready.input,
        };
        // A hook is somebody else's program: it begins for nothing that the log doesn't know.
        call.unwritten.write();
        let before = session.hooks().before(&about, &call.cancel).await;
        call.hooks_said(before.steps, before.warnings, before.stop);
        call.context.extend(before.context);
        let rewriter = before.rewriter.as_deref();
        let mut ready = match before.input {
            Some(input) => {
                let accepted = Self::accept(call, ready.offer, input).await;
                accepted.map_err(|end| blamed(end, rewriter))?
            }
            None => ready,
        };
        ready.words = before.words;
        let stated = self.state(call, &ready).map_err(|end| blamed(end, rewriter))?;
        Ok((ready, stated))
    }

    /// What hooks say to a result: more for the model, or something else in its place. Says whether the content is
    /// another, to be sealed again.
    pub(crate) async fn hear_hooks_after(
        call: &mut Call,
        input: &Value,
        end: &mut End,
        took: Duration,
    ) -> bool {
        let session = Arc::clone(&call.session);
        let event = HookEvent::of_end(end.outcome != Outcome::Completed);
        let Some(offer) = call.offer.clone().filter(|offer| session.hooks().are_about(event, offer)) else {
            return false;
        };
        let (told, id) = (session.hook_session(), call.told_id());
        let about = HookCall { session: &told, id: &id, tool: &offer.name, is_core: offer.is_core(), input };
        let text = end.output.joined_text();
        let error = (end.outcome != Outcome::Completed).then_some(text.as_str());
        // The call's own may have been cancelled; that it ended is told all the same.
        let after = session
            .hooks()
            .after(&about, &HookEnd { output: &end.output, error, took }, &Cancel::new())
            .await;
        call.hooks_said(after.steps, after.warnings, after.stop);
        call.context.extend(after.context);
        let mut is_other = false;
        if let Some(content) = after.output {
            end.output.content = content;
            end.output.structured = None;
            end.output.foreign = None;
            is_other = true;
        }
        is_other
    }
}

/// Says of an input that isn't usable that a hook made it so, where one did.
fn blamed(mut end: End, rewriter: Option<&str>) -> End {
    if let Some(hook) = rewriter {
        let text = end.output.joined_text();
        end.output.content = vec![Block::text(format!(
            "{text}\nThis is about the input as rewritten by the {hook}; the input as you gave it wasn't at fault. The \
             user must mend the hook: don't send the same call again, do it another way or tell the user."
        ))];
    }
    end
}

impl Call {
    /// The id that hooks are told: the model provider's own where there is one.
    pub(crate) fn told_id(&self) -> String {
        self.request.foreign_id.clone().unwrap_or_else(|| self.id.to_string())
    }

    /// Writes down what hooks came to.
    pub(crate) fn hooks_said(&mut self, steps: Vec<TraceStep>, warnings: Vec<String>, stop: Option<String>) {
        for step in steps {
            self.step(step);
        }
        for warning in warnings {
            self.warn(warning);
        }
        if let Some(reason) = stop {
            self.session.ask_to_stop(reason);
        }
    }

    /// What hooks want the model to know, beside the result.
    pub(crate) fn add_context(&mut self, end: &mut End) {
        for mut text in std::mem::take(&mut self.context) {
            self.session.masks().text(&mut text);
            end.output.add_text(format!("[from a hook] {text}"));
        }
    }
}
