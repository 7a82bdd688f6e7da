//! A question to a model beside its conversation: no tools, nothing of the history, one answer.

use crate::{Message, Model, ModelError, ModelEvent, StopReason, TurnRequest};
use futures::StreamExt;

/// What a model answered beside its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// Its text, thinking apart.
    pub text: String,
    /// Why it ended; [`StopReason::TokenLimit`] also where it was cut here.
    pub reason: StopReason,
}

/// Asks a model, once: no turn is sent again. The answer is cut after `max_chars` characters.
///
/// # Errors
/// No whole answer came.
///
/// # Cancellation
/// Dropping the future ends the request.
pub async fn ask_aside(
    model: &dyn Model,
    system: &str,
    messages: &[Message],
    max_chars: usize,
) -> Result<Aside, ModelError> {
    let mut stream = model.turn(&TurnRequest { system, messages, tools: &[] });
    let (mut text, mut left) = (String::new(), max_chars);
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::TextDelta(delta) => {
                let length = delta.chars().count();
                if length > left {
                    text.extend(delta.chars().take(left));
                    return Ok(Aside { text, reason: StopReason::TokenLimit });
                }
                left -= length;
                text.push_str(&delta);
            }
            ModelEvent::Stop { reason, .. } => return Ok(Aside { text, reason }),
            _ => {}
        }
    }
    Err(ModelError::dropped("it has no end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scripted;

    #[tokio::test]
    async fn an_answer_is_the_text_alone_and_is_cut_where_it_is_too_long() {
        let model = Scripted::parse(r#"{"text": "Größe", "calls": [{"tool": "t"}]}"#).unwrap();
        let messages = [Message::User { text: "what?".to_owned() }];
        for (max_chars, text, reason) in [(5, "Größe", StopReason::Calls), (3, "Grö", StopReason::TokenLimit)]
        {
            let aside = ask_aside(&model, "", &messages, max_chars).await.unwrap();
            assert_eq!(aside, Aside { text: text.to_owned(), reason });
        }
    }
}
