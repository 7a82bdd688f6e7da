//! Secrets out of everything that leaves a call: results, progress, failures, the log, what people are shown.

use haft_core::{Block, Failure, Outcome, Output, Progress, TraceStep};
use haft_policy::secrets::{Masker, Placeholder, StreamMasker, placeholders, restore};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
};

/// What masks the texts of a session; nothing is masked without a masker. All its copies follow when it learns
/// of further secrets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Masks(Option<Arc<RwLock<Arc<Masker>>>>);

impl Masks {
    pub(crate) fn new(masker: Option<Arc<Masker>>) -> Self {
        Self(masker.map(|masker| Arc::new(RwLock::new(masker))))
    }

    /// Masks with this one from now on, where anything is masked at all; streams that have begun end as they began.
    pub(crate) fn replace(&self, masker: Arc<Masker>) {
        if let Some(shared) = &self.0 {
            *shared.write().unwrap_or_else(PoisonError::into_inner) = masker;
        }
    }

    fn masker(&self) -> Option<Arc<Masker>> {
        let shared = self.0.as_ref()?;
        Some(Arc::clone(&shared.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// What masks a stream that comes in pieces.
    pub(crate) fn stream(&self) -> Option<StreamMasker> {
        self.masker().map(StreamMasker::new)
    }

    pub(crate) fn text(&self, text: &mut String) {
        let Some(masker) = self.masker() else { return };
        if let Cow::Owned(masked) = masker.mask(text.as_bytes()).text {
            // Between whole characters, so that it stays text.
            *text = String::from_utf8_lossy(&masked).into_owned();
        }
    }

    pub(crate) fn output(&self, output: &mut Output) {
        if self.0.is_none() {
            return;
        }
        for block in &mut output.content {
            match block {
                Block::Text { text } => self.text(text),
                Block::ResourceLink { uri, name } => {
                    self.text(uri);
                    self.text(name);
                }
                _ => {}
            }
        }
        for value in output.structured.iter_mut().chain(&mut output.metadata) {
            self.value(value);
        }
        if let Some(foreign) = &mut output.foreign {
            let known: HashSet<&str> = output.content.iter().filter_map(Block::as_text).collect();
            self.foreign(foreign, &known);
        }
        for text in &mut output.messages {
            self.text(text);
        }
    }

    /// Every text in a result of another protocol, but not encoded pictures and files, in which a find would be chance,
    /// nor what is as one of `masked`, texts that were looked at.
    fn foreign(&self, value: &mut Value, masked: &HashSet<&str>) {
        match value {
            Value::Array(items) => {
                for item in items {
                    self.foreign(item, masked);
                }
            }
            Value::Object(fields) => {
                let (has_type, has_uri) = (fields.contains_key("mimeType"), fields.contains_key("uri"));
                for (name, field) in fields {
                    // The name of a list of texts is that of each of them.
                    let is_texts =
                        matches!(&*field, Value::Array(items) if items.iter().all(Value::is_string));
                    match field {
                        Value::Array(_) | Value::Object(_) if !is_texts => self.foreign(field, masked),
                        _ if has_type && name == "data" || has_uri && name == "blob" => {}
                        Value::String(text) if name == "text" && masked.contains(text.as_str()) => {}
                        _ => self.field(name, field),
                    }
                }
            }
            other => self.value(other),
        }
    }

    pub(crate) fn failure(&self, failure: &mut Failure) {
        self.text(&mut failure.text);
        if let Some(text) = &mut failure.diagnostic {
            self.text(text);
        }
    }

    pub(crate) fn outcome(&self, outcome: &mut Outcome) {
        if let Outcome::Denied { why, feedback } = outcome {
            self.text(&mut why.reason);
            if let Some(feedback) = feedback {
                self.text(feedback);
            }
        }
    }

    pub(crate) fn trace(&self, trace: &mut [TraceStep]) {
        if self.0.is_none() {
            return;
        }
        // What isn't made for the call has nothing of it.
        for reason in trace.iter_mut().filter_map(|step| step.reason.as_mut()) {
            if let Cow::Owned(text) = reason {
                self.text(text);
            }
        }
    }

    pub(crate) fn progress(&self, progress: &mut Progress) {
        match progress {
            Progress::Log(text) | Progress::PartialOutput(text) | Progress::Warning(text) => self.text(text),
            _ => {}
        }
    }

    /// Every text in a value; names of fields stay.
    pub(crate) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.field(name, field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A text is looked at with its field's name, which may say that it is a secret.
    fn field(&self, name: &str, field: &mut Value) {
        let text = match field {
            Value::String(text) => text,
            // A list's name is that of each of its texts.
            Value::Array(items) => return items.iter_mut().for_each(|item| self.field(name, item)),
            _ => return self.value(field),
        };
        let Some(masker) = self.masker() else { return };
        let before = format!("{name}=\"");
        let named = [&before, text.as_str(), "\""].concat();
        let mut masked = Vec::new();
        let mut at = before.len();
        for secret in masker.mask(named.as_bytes()).secrets {
            if secret.range.start >= at {
                masked.extend_from_slice(named.as_bytes().get(at..secret.range.start).unwrap_or_default());
                masked.extend_from_slice(secret.placeholder.as_str().as_bytes());
                at = secret.range.end.min(named.len() - 1);
            }
        }
        if at > before.len() {
            masked.extend_from_slice(named.as_bytes().get(at..named.len() - 1).unwrap_or_default());
            *text = String::from_utf8_lossy(&masked).into_owned();
        }
    }

    /// A line of JSON, masked within its texts where there is something to mask.
    pub(crate) fn json(&self, line: Vec<u8>) -> Vec<u8> {
        let Some(masker) = self.masker() else { return line };
        if masker.mask(&line).secrets.is_empty() {
            return line;
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(&line) else { return line };
        self.value(&mut value);
        serde_json::to_vec(&value).unwrap_or(line)
    }

    /// Refuses content with placeholders that aren't in the file already.
    ///
    /// # Errors
    /// Invalid input that names the first.
    pub(crate) fn refuse_new(&self, content: &[u8], before: impl FnOnce() -> Vec<u8>) -> Result<(), Failure> {
        if self.0.is_none() || placeholders(content).next().is_none() {
            return Ok(());
        }
        let before = before();
        let known: Vec<Placeholder> = placeholders(&before).map(|(_, placeholder)| placeholder).collect();
        match placeholders(content).find(|(_, placeholder)| !known.contains(placeholder)) {
            None => Ok(()),
            Some((_, placeholder)) => Err(unknown(&format!("{placeholder} stands for nothing in this file"))),
        }
    }

    /// Refuses an input with placeholders, for tools that hand it to a program: none gets what they stand for.
    ///
    /// # Errors
    /// Invalid input that names the first.
    pub(crate) fn refuse_in(&self, input: &Value) -> Result<(), Failure> {
        match first_in(input).filter(|_| self.0.is_some()) {
            None => Ok(()),
            Some(placeholder) => Err(Failure::invalid(format!(
                "{placeholder} is what is shown in the place of a secret, and only the file that the secret is in gets \
                 it back: no command, argument, message or name does. Nothing ran. Name where the value comes from (an \
                 environment variable, a settings file) instead of the value"
            ))),
        }
    }

    /// Placeholders turned back into the bytes of the file they came from; `file` is its present content.
    ///
    /// # Errors
    /// Invalid input where a placeholder stands for nothing in this file.
    pub(crate) fn unmask<'a>(&self, text: &'a [u8], file: &[u8]) -> Result<Cow<'a, [u8]>, Failure> {
        let Some(masker) = self.masker() else { return Ok(Cow::Borrowed(text)) };
        if placeholders(text).next().is_none() {
            return Ok(Cow::Borrowed(text));
        }
        restore(text, &masker.originals(file)).map(Cow::Owned).map_err(|error| unknown(&error.to_string()))
    }
}

/// The first placeholder in the texts of a value.
fn first_in(value: &Value) -> Option<Placeholder> {
    match value {
        Value::String(text) => placeholders(text.as_bytes()).next().map(|(_, placeholder)| placeholder),
        Value::Array(items) => items.iter().find_map(first_in),
        Value::Object(fields) => fields.values().find_map(first_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

// Not a conflict: nobody has to be waited for, and nothing read again.
fn unknown(what: &str) -> Failure {
    Failure::invalid(format!(
        "{what}: it is what is shown in the place of a secret, and only the file that the secret is in gets it back. Nothing \
         was written. Change other parts of the file with edit, or name where the value comes from (an environment \
         variable, a settings file) instead of the value"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_policy::secrets::Detector;
    use serde_json::json;

    fn masks() -> Masks {
        let known = [("db".to_owned(), b"hunter2-hunter2".to_vec())];
        Masks::new(Some(Arc::new(Masker::new(Arc::new(Detector::new(known).unwrap()), [7; 32]))))
    }

    #[test]
    fn every_text_of_an_output_is_masked() {
        let mut output =
            Output::text("a hunter2-hunter2 b").with_metadata(json!({"x": ["hunter2-hunter2", 1]}));
        output.structured = Some(
            json!({"password": "Zq8!k3tT9vb2", "name": "plain", "tokens": ["q8Zt3nV7cX1mK4wP", "z7Yt2mV6bW0lJ3vO"]}),
        );
        output.messages.push("hunter2-hunter2".to_owned());
        masks().output(&mut output);
        let text = serde_json::to_string(&output).unwrap();
        assert!(
            !text.contains("hunter2")
                && !text.contains("Zq8!")
                && !text.contains("q8Zt3")
                && !text.contains("z7Yt"),
            "{text}"
        );
        assert!(text.contains("a [secret:db:") && text.contains("plain"), "{text}");
    }

    #[test]
    fn every_copy_learns_of_a_further_secret() {
        let (masks, other) = (masks(), masks());
        let learnt = masks.clone();
        let known = [("new".to_owned(), b"s3cond-secret".to_vec())];
        masks.replace(Arc::new(Masker::new(Arc::new(Detector::new(known).unwrap()), [7; 32])));
        let shown = |masks: &Masks| {
            let mut text = "s3cond-secret".to_owned();
            masks.text(&mut text);
            text
        };
        assert!(shown(&learnt).starts_with("[secret:new:"));
        assert_eq!(shown(&other), "s3cond-secret", "that one is another session's");
        let none = Masks::default();
        none.replace(Arc::new(Masker::new(Arc::new(Detector::new([]).unwrap()), [7; 32])));
        assert!(none.masker().is_none(), "masking that is off stays off");
    }

    #[test]
    fn a_line_of_the_log_stays_json() {
        let line = json!({"raw": "{\"a\": \"x\\\"hunter2-hunter2\\\"\"}", "n": 1}).to_string();
        let masked = masks().json(line.into_bytes());
        let value: Value = serde_json::from_slice(&masked).unwrap();
        assert!(value["raw"].as_str().unwrap().contains("[secret:db:"), "{value}");
        assert_eq!(value["n"], 1);
    }

    #[test]
    fn a_placeholder_goes_into_no_command() {
        let masks = masks();
        let mut shown = "hunter2-hunter2".to_owned();
        masks.text(&mut shown);
        for input in [json!({"command": format!("echo {shown}")}), json!({"args": ["a", {"b": shown}]})] {
            let failure = masks.refuse_in(&input).unwrap_err();
            assert!(failure.text.starts_with(&shown) && failure.text.contains("Nothing ran"), "{failure}");
            assert!(
                Masks::default().refuse_in(&input).is_ok(),
                "where nothing is masked it is a text like others"
            );
        }
        assert!(masks.refuse_in(&json!({"command": "grep '[secret:' a"})).is_ok());
    }

    #[test]
    fn a_placeholder_goes_back_into_its_own_file_only() {
        let masks = masks();
        let mut shown = "key: hunter2-hunter2\n".to_owned();
        masks.text(&mut shown);
        let back = masks.unmask(shown.as_bytes(), b"key: hunter2-hunter2\n").unwrap();
        assert_eq!(&*back, b"key: hunter2-hunter2\n");
        let failure = masks.unmask(shown.as_bytes(), b"other").unwrap_err();
        assert!(
            failure.text.contains("[secret:db:") && failure.text.contains("environment variable"),
            "{failure}"
        );
        assert_eq!(&*Masks::default().unmask(shown.as_bytes(), b"other").unwrap(), shown.as_bytes());
    }
}
