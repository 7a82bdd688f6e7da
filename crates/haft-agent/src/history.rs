//! A history read back after a crash: every call gets exactly one result, and every result has its call.

use crate::{Assistant, CallResult, Message, Results};

/// A line of a recorded history that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the history is no message: {source}")]
pub struct HistoryError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub source: serde_json::Error,
}

/// Reads recorded messages, one JSON object a line; a torn last line is left out.
///
/// # Errors
/// Another line that is no message.
pub fn read_lines(text: &str) -> Result<Vec<Message>, HistoryError> {
    let mut messages = Vec::new();
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
    while let Some((index, line)) = lines.next() {
        match serde_json::from_str(line) {
            Ok(message) => messages.push(message),
            Err(_) if lines.peek().is_none() => {}
            Err(source) => {
                return Err(HistoryError { line: index + 1, source });
            }
        }
    }
    Ok(messages)
}

/// Makes a history fit to be sent: earlier states of a turn go, missing results come from `outcomes` (what
/// the session's log knows, by the provider's call ids) or say that the call was interrupted, and results
/// without a call go.
pub fn mend(messages: Vec<Message>, outcomes: &[CallResult]) -> Vec<Message> {
    let mut latest: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        if is_same_turn(latest.last(), &message) {
            latest.pop();
        }
        latest.push(message);
    }
    let mut mended = Vec::with_capacity(latest.len());
    let mut rest = latest.into_iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::Assistant(assistant) => {
                let known = match rest.next_if(|next| matches!(next, Message::Results(_))) {
                    Some(Message::Results(results)) => results,
                    _ => Results::default(),
                };
                let results = complete(&assistant, known, outcomes);
                mended.push(Message::Assistant(assistant));
                if !results.results.is_empty() || !results.messages.is_empty() {
                    mended.push(Message::Results(results));
                }
            }
            Message::Results(_) => {}
            user @ Message::User { .. } => mended.push(user),
        }
    }
    mended
}

fn is_same_turn(earlier: Option<&Message>, later: &Message) -> bool {
    match (earlier, later) {
        (Some(Message::Assistant(earlier)), Message::Assistant(later)) => earlier.turn == later.turn,
        _ => false,
    }
}

fn complete(assistant: &Assistant, known: Results, outcomes: &[CallResult]) -> Results {
    let Results { results: mut known, messages } = known;
    let results = assistant
        .calls
        .iter()
        .map(|call| {
            // Taken out, so that two calls under one id don't share a result.
            let place = known.iter().position(|result| result.id == call.id);
            place
                .map(|place| known.remove(place))
                .or_else(|| outcomes.iter().rfind(|result| result.id == call.id).cloned())
                .unwrap_or_else(|| CallResult::interrupted(call))
        })
        .collect();
    Results { results, messages }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssistantCall, Dialect};
    use haft_core::Block;

    fn assistant(turn: u64, ids: &[&str]) -> Message {
        let call = |id: &&str| AssistantCall { id: (*id).into(), tool: "t".into(), input: "{}".into() };
        Message::Assistant(Assistant {
            turn,
            dialect: Dialect::Scripted,
            text: String::new(),
            blocks: Vec::new(),
            calls: ids.iter().map(call).collect(),
        })
    }

    fn result(id: &str) -> CallResult {
        let content = vec![Block::text(id)];
        CallResult { id: id.into(), tool: "t".into(), outcome: "completed".into(), content }
    }

    fn outcomes_of(message: &Message) -> Vec<(&str, &str)> {
        match message {
            Message::Results(results) => {
                results.results.iter().map(|one| (one.id.as_str(), one.outcome.as_str())).collect()
            }
            other => panic!("no results: {other:?}"),
        }
    }

    #[test]
    fn each_call_gets_exactly_one_result_in_order() {
        let known = Results { results: vec![result("c"), result("stray")], messages: Vec::new() };
        let messages = vec![
            Message::User { text: "go".into() },
            assistant(1, &["a"]),
            assistant(1, &["a", "b", "c"]),
            Message::Results(known),
            assistant(2, &["d"]),
        ];
        let mended = mend(messages, &[result("a")]);
        assert_eq!(mended.len(), 5);
        assert_eq!(outcomes_of(&mended[2]), [("a", "completed"), ("b", "interrupted"), ("c", "completed")]);
        assert_eq!(outcomes_of(&mended[4]), [("d", "interrupted")]);
        assert_eq!(mend(mended.clone(), &[]), mended);
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_another_is_named() {
        let whole = serde_json::to_string(&assistant(1, &["a"])).unwrap();
        let read = read_lines(&format!("{whole}\n{{\"role\":\"us")).unwrap();
        assert_eq!(read, [assistant(1, &["a"])]);
        assert_eq!(read_lines(&format!("x\n{whole}\n")).unwrap_err().line, 1);
    }
}
