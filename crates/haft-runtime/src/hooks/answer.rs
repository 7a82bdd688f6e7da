//! What all hooks of one event came to, put together: for the judge, the model, the person and the trace.

use super::{HookOutcome, decision::HookRun, names::Told};
use haft_core::{Block, TraceStep};
use haft_policy::{Action, HookWord};
use serde_json::Value;

/// What hooks say before a call runs.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// Their words for the judge, those of rewriting hooks first, then in declared order.
    pub(crate) words: Vec<HookWord>,
    /// The input as rewritten, where it was.
    pub(crate) input: Option<Value>,
    /// The hook that rewrote it last, with where it is declared.
    pub(crate) rewriter: Option<String>,
    /// A line for each.
    pub(crate) steps: Vec<TraceStep>,
    /// What the model is to be told beside the result.
    pub(crate) context: Vec<String>,
    /// What a person is to be told.
    pub(crate) warnings: Vec<String>,
    /// Why the run is to stop after this call, which is then refused as well.
    pub(crate) stop: Option<String>,
}

/// What hooks say after a call.
#[derive(Debug, Default)]
pub(crate) struct After {
    /// What stands in place of the tool's content, not sealed yet.
    pub(crate) output: Option<Vec<Block>>,
    /// What the model is to be told beside the result.
    pub(crate) context: Vec<String>,
    /// A line for each.
    pub(crate) steps: Vec<TraceStep>,
    /// What a person is to be told.
    pub(crate) warnings: Vec<String>,
    /// Why the run is to stop.
    pub(crate) stop: Option<String>,
}

/// What hooks say to a question that is about to be put.
#[derive(Debug, Default)]
pub(crate) struct Permitted {
    /// The strictest word. An allow counts only where no guard asks.
    pub(crate) word: Option<HookWord>,
    /// A line for each.
    pub(crate) steps: Vec<TraceStep>,
    /// What a person is to be told.
    pub(crate) warnings: Vec<String>,
    /// Why the run is to stop.
    pub(crate) stop: Option<String>,
}

/// What hooks say to an event of the session.
#[derive(Debug, Default)]
pub struct Notified {
    /// Why it is not to go on: the prompt isn't sent, the model doesn't stop yet, the conversation isn't
    /// shortened.
    pub block: Option<String>,
    /// What the model is to be told.
    pub context: Vec<String>,
    /// A line for each.
    pub steps: Vec<TraceStep>,
    /// What a person is to be told.
    pub warnings: Vec<String>,
    /// Why the run is to stop.
    pub stop: Option<String>,
}

impl Before {
    /// Adds one hook's answer; `sent` is what it was told of the call.
    pub(super) fn take(&mut self, mut run: HookRun<'_>, sent: &Told, tool: (&str, bool)) {
        let denies = run.action() == Some(Action::Deny);
        let new = run.said.input.take().filter(|new| !denies && *new != sent.input);
        match new {
            None => self.words.extend(run.word()),
            Some(new) if run.hook.rewrites() => {
                // What an earlier hook allowed is not what would run now.
                self.words.retain(|word| word.action != Action::Allow);
                self.words.extend(run.word());
                self.input = Some(run.hook.names.heard(tool, new));
                self.rewriter = Some(format!("{}{}", run.hook.shown(), run.hook.place()));
                run.outcome = HookOutcome::Rewrote;
            }
            Some(_) => {
                // It may allow only what it made of the input, and that isn't what will run.
                run.outcome = HookOutcome::Asked;
                let why = "it wants to change the input, but isn't declared with rewrite = true";
                run.reason = Some(why.to_owned());
                self.words.push(run.word_of(Action::Ask));
            }
        }
        if let Some(reason) = run.said.stop.take() {
            run.outcome = HookOutcome::Denied;
            run.reason = Some(reason.clone());
            self.words.push(run.word_of(Action::Deny));
            self.stop.get_or_insert(reason);
        }
        self.steps.push(run.step());
        self.warnings.extend(run.warnings());
        self.context.extend(run.said.context);
    }
}

impl After {
    pub(super) fn take(&mut self, mut run: HookRun<'_>) {
        if run.action() == Some(Action::Deny) {
            // Nothing is left to be refused: the model hears what it has against the result.
            let told = if run.is_trouble() { &mut self.warnings } else { &mut self.context };
            told.push(run.text());
        }
        if let Some(output) = run.said.output.take() {
            self.output = Some(blocks(output));
        }
        self.steps.push(run.step());
        self.warnings.extend(run.warnings());
        self.context.extend(run.said.context);
        self.stop = self.stop.take().or(run.said.stop);
    }
}

impl Permitted {
    pub(super) fn take(&mut self, mut run: HookRun<'_>, sent: &Told) {
        let changes = run.said.input.take().is_some_and(|new| new != sent.input);
        if changes && run.action() == Some(Action::Allow) {
            run.outcome = HookOutcome::Nothing;
            run.reason = Some("it allows another input than the one that would run".to_owned());
            self.warnings.push(run.text());
        }
        // A question is about to be put anyway.
        let word = run.word().filter(|word| word.action != Action::Ask);
        if let Some(word) = word
            && self.word.as_ref().is_none_or(|known| known.action < word.action)
        {
            self.word = Some(word);
        }
        self.steps.push(run.step());
        self.warnings.extend(run.warnings());
        self.stop = self.stop.take().or(run.said.stop);
    }
}

impl Notified {
    pub(super) fn take(&mut self, run: HookRun<'_>) {
        if run.action() == Some(Action::Deny) {
            if run.hook.event.can_block() {
                self.block.get_or_insert_with(|| run.text());
            } else {
                self.warnings.push(run.text());
            }
        }
        self.steps.push(run.step());
        self.warnings.extend(run.warnings());
        self.context.extend(run.said.context);
        self.stop = self.stop.take().or(run.said.stop);
    }
}

/// What a hook put in place of a result: text, content blocks, or an object that holds one of these.
fn blocks(value: Value) -> Vec<Block> {
    let inner = ["content", "text", "stdout"].iter().find_map(|key| value.get(key)).unwrap_or(&value);
    match inner {
        Value::String(text) => vec![Block::text(text.as_str())],
        Value::Array(_) => match serde_json::from_value(inner.clone()) {
            Ok(blocks) => blocks,
            Err(_) => vec![Block::text(value.to_string())],
        },
        _ => vec![Block::text(value.to_string())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_replaced_result_is_read_in_every_form() {
        for value in [
            json!("a"),
            json!([{"type": "text", "text": "a"}]),
            json!({"content": [{"type": "text", "text": "a"}]}),
            json!({"stdout": "a", "stderr": ""}),
        ] {
            assert_eq!(blocks(value.clone()), [Block::text("a")], "{value}");
        }
        assert_eq!(blocks(json!({"n": 1})), [Block::text("{\"n\":1}")]);
        assert_eq!(blocks(json!([1])), [Block::text("[1]")]);
    }
}
