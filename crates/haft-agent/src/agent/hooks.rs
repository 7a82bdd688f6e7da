//! What hooks hear of the loop: the session's start and end, what a person says, each turn's calls, the last word.

use super::{Agent, AgentEnd, Turn};
use crate::Results;
use haft_core::{Cancel, Ended};
use haft_runtime::hooks::{Notified, SessionEvent, ToolUse};

impl Agent {
    /// Says that the session ends, once.
    pub async fn finish(&mut self, reason: &str) {
        if std::mem::take(&mut self.is_begun) {
            self.tell(SessionEvent::End { reason }, &Cancel::new()).await;
        }
    }

    /// Says that the session begins and what a person said: the text that the model gets, or why it gets none.
    pub(super) async fn hear_prompt(&mut self, task: &str, cancel: &Cancel) -> Result<String, AgentEnd> {
        let mut text = task.to_owned();
        if !self.is_begun {
            self.is_begun = true;
            let source = if self.history.is_empty() { "startup" } else { "resume" };
            let said = self.tell(SessionEvent::Start { source }, cancel).await;
            add(&mut text, said.context);
        }
        let said = self.tell(SessionEvent::Prompt { text: task }, cancel).await;
        if let Some(reason) = said.block.or(said.stop) {
            return Err(AgentEnd::StoppedByHook { reason });
        }
        add(&mut text, said.context);
        Ok(text)
    }

    /// Says that all calls of a turn are over; an end where a hook wants one.
    pub(super) async fn hear_batch(
        &mut self,
        turn: &Turn,
        ended: &[Ended],
        results: &mut Results,
        cancel: &Cancel,
    ) -> Option<AgentEnd> {
        if !self.session.hooks().is_empty() {
            let calls: Vec<ToolUse> = turn.assistant.calls.iter().zip(ended).map(tool_use).collect();
            let said = self.tell(SessionEvent::Batch { calls: &calls }, cancel).await;
            results.messages.extend(said.context);
            if let Some(reason) = said.block.or(said.stop) {
                return Some(AgentEnd::StoppedByHook { reason });
            }
        }
        self.session.take_stop().map(|reason| AgentEnd::StoppedByHook { reason })
    }

    /// Says that the model is done; what it is to go on with where a hook wants more.
    pub(super) async fn hear_stop(&mut self, again: bool, last: &str, cancel: &Cancel) -> Option<String> {
        let said = self.tell(SessionEvent::Stop { again, last }, cancel).await;
        // A hook that ends the run and one that keeps it going: the end holds.
        said.block.filter(|_| said.stop.is_none())
    }

    async fn tell(&mut self, event: SessionEvent<'_>, cancel: &Cancel) -> Notified {
        let hooks = self.session.hooks();
        if hooks.is_empty() {
            return Notified::default();
        }
        let said = hooks.notify(&self.session.hook_session(), event, cancel).await;
        said.warnings.iter().for_each(|warning| self.observer.warning(warning));
        said
    }
}

fn add(text: &mut String, context: Vec<String>) {
    for more in context {
        text.push_str("\n\n[from a hook] ");
        text.push_str(&more);
    }
}

fn tool_use((call, ended): (&crate::AssistantCall, &Ended)) -> ToolUse {
    ToolUse {
        id: call.id.clone(),
        tool: ended.tool.to_string(),
        is_core: ended.owner.as_deref() == Some("core"),
        input: serde_json::from_str(&call.input).unwrap_or_default(),
        response: ended.output.joined_text(),
    }
}
