//! A command's stream of events: one line of JSON each, exactly one `final`, and that one last.

use haft_core::Progress;
use serde_json::Value;
use std::collections::BTreeMap;

/// The longest line: a final event may hold all that the JSON form may print.
const LINE_MAX_BYTES: usize = 16 * 1024 * 1024;
/// How much of a line is looked at to show how it begins.
const SAMPLE_MAX_BYTES: usize = 1024;
const FINAL_RULE: &str = "print exactly one {\"type\":\"final\",\"output\":…} line, and print it last";
const TYPES: &str = "log, warning, partial_output, metric, file_changed, final";

/// Reads a stream as it comes. The first fault ends the reading; it names the rule that was broken.
pub(super) struct EventReader {
    tool: String,
    line: Vec<u8>,
    number: usize,
    last: Option<Value>,
    fault: Option<String>,
}

enum Event {
    Progress(Progress),
    Final(Value),
}

impl EventReader {
    pub(super) fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), line: Vec::new(), number: 0, last: None, fault: None }
    }

    /// Takes the next bytes; lines may be split between pieces.
    pub(super) fn push(&mut self, bytes: &[u8], emit: &mut dyn FnMut(Progress)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.fault.is_some() {
                return;
            }
            if self.line.len() + piece.len() > LINE_MAX_BYTES {
                self.number += 1;
                self.fail("is longer than 16 MiB — print less, or write a file");
                return;
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line(emit);
            }
        }
    }

    /// Whether a rule is broken, so that there is no use in reading on.
    pub(super) fn is_broken(&self) -> bool {
        self.fault.is_some()
    }

    /// The output of the final event.
    ///
    /// # Errors
    /// The rule that was broken.
    pub(super) fn finish(mut self, emit: &mut dyn FnMut(Progress)) -> Result<Value, String> {
        if self.fault.is_none() {
            self.end_line(emit);
        }
        match (self.fault, self.last) {
            (Some(fault), _) => Err(fault),
            (None, Some(output)) => Ok(output),
            (None, None) => {
                Err(format!("the stream of \"{}\" ended without a final event — {FINAL_RULE}", self.tool))
            }
        }
    }

    fn end_line(&mut self, emit: &mut dyn FnMut(Progress)) {
        let line = std::mem::take(&mut self.line);
        self.number += 1;
        if line.trim_ascii().is_empty() {
            return;
        }
        match (parse(&line), self.last.is_some()) {
            (Ok(Event::Final(_)), true) => self.fail(&format!("is a second final event — {FINAL_RULE}")),
            (Ok(_), true) => self.fail(&format!("is an event after the final one — {FINAL_RULE}")),
            (Ok(Event::Final(output)), false) => self.last = Some(output),
            (Ok(Event::Progress(progress)), false) => emit(progress),
            (Err(why), _) => self.fail(&why),
        }
    }

    fn fail(&mut self, why: &str) {
        self.line = Vec::new();
        self.fault = Some(format!("line {} of the stream of \"{}\" {why}", self.number, self.tool));
    }
}

fn parse(line: &[u8]) -> Result<Event, String> {
    let mut value: Value = serde_json::from_slice(line).map_err(|_| {
        let text = String::from_utf8_lossy(line.get(..SAMPLE_MAX_BYTES).unwrap_or(line));
        let start: String = text.trim().chars().take(80).collect();
        format!("is not JSON: {start} — print one JSON object a line, and anything else to stderr")
    })?;
    if value.get("type").is_some_and(|kind| kind == "final") {
        let output = value.get_mut("output").ok_or("is a final event without \"output\"")?;
        return Ok(Event::Final(output.take()));
    }
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    let text = || {
        let text = value.get("text").and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| format!("is a {kind} event without \"text\", a string"))
    };
    Ok(Event::Progress(match kind {
        "log" => Progress::Log(text()?),
        "warning" => Progress::Warning(text()?),
        "partial_output" => Progress::PartialOutput(text()?),
        "metric" => Progress::Metric(
            numbers(&value).ok_or("is a metric event without \"data\", an object of numbers")?,
        ),
        "file_changed" => {
            let path =
                value.pointer("/data/path").and_then(Value::as_str).filter(|path| path.starts_with('/'));
            Progress::FileChanged(
                path.ok_or("is a file_changed event without \"data\": {\"path\": …}, absolute")?.to_owned(),
            )
        }
        "" => return Err(format!("has no \"type\" — use one of {TYPES}")),
        other => return Err(format!("has the unknown type \"{other}\" — use one of {TYPES}")),
    }))
}

fn numbers(event: &Value) -> Option<BTreeMap<String, f64>> {
    let data = event.get("data")?.as_object()?;
    data.iter().map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(stream: &[u8], piece: usize) -> (Result<Value, String>, Vec<Progress>) {
        let mut said = Vec::new();
        let mut reader = EventReader::new("x");
        for bytes in stream.chunks(piece) {
            reader.push(bytes, &mut |progress| said.push(progress));
        }
        (reader.finish(&mut |progress| said.push(progress)), said)
    }

    const FINAL: &str = "{\"type\":\"final\",\"output\":{\"n\":1}}";

    #[test]
    fn a_stream_gives_its_progress_and_its_output() {
        let stream = format!(
            "{{\"type\":\"log\",\"text\":\"é\"}}\r\n\n{{\"type\":\"partial_output\",\"text\":\"p\"}}\n\
             {{\"type\":\"warning\",\"text\":\"w\"}}\n{{\"type\":\"metric\",\"data\":{{\"a\":1.5}}}}\n\
             {{\"type\":\"file_changed\",\"data\":{{\"path\":\"/a\"}}}}\n{FINAL}"
        );
        for piece in [1, 7, 4096] {
            let (output, said) = read(stream.as_bytes(), piece);
            assert_eq!(output, Ok(json!({"n": 1})));
            let expected = [
                Progress::Log("é".into()),
                Progress::PartialOutput("p".into()),
                Progress::Warning("w".into()),
                Progress::Metric(BTreeMap::from([("a".into(), 1.5)])),
                Progress::FileChanged("/a".into()),
            ];
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn each_broken_rule_is_named() {
        let log = "{\"type\":\"log\",\"text\":\"t\"}";
        let cases = [
            (
                String::new(),
                "the stream of \"x\" ended without a final event — print exactly one {\"type\":\"final\",\"output\":…} line, and print it last",
            ),
            (log.to_owned(), "ended without a final event"),
            (
                format!("{FINAL}\n{FINAL}"),
                "line 2 of the stream of \"x\" is a second final event — print exactly one",
            ),
            (format!("{FINAL}\n\n{log}\n"), "line 3 of the stream of \"x\" is an event after the final one"),
            (format!("{log}\nhello\n{FINAL}"), "line 2 of the stream of \"x\" is not JSON: hello"),
            ("{\"type\":\"done\"}".to_owned(), "unknown type \"done\" — use one of log"),
            ("{\"text\":\"t\"}".to_owned(), "has no \"type\""),
            ("[1]".to_owned(), "has no \"type\""),
            ("{\"type\":\"log\"}".to_owned(), "log event without \"text\""),
            ("{\"type\":\"metric\",\"data\":{\"a\":\"1\"}}".to_owned(), "object of numbers"),
            ("{\"type\":\"file_changed\",\"data\":{\"path\":\"a\"}}".to_owned(), "absolute"),
            ("{\"type\":\"final\"}".to_owned(), "final event without \"output\""),
        ];
        for (stream, says) in cases {
            let (output, _) = read(stream.as_bytes(), 3);
            let why = output.unwrap_err();
            assert!(why.contains(says), "{stream}: {why}");
        }
    }

    #[test]
    fn a_line_is_bounded() {
        let mut reader = EventReader::new("x");
        let piece = vec![b' '; 64 * 1024];
        for _ in 0..=LINE_MAX_BYTES / piece.len() {
            reader.push(&piece, &mut |_| {});
        }
        assert!(reader.is_broken() && reader.line.capacity() == 0);
        assert!(reader.finish(&mut |_| {}).unwrap_err().contains("longer than 16 MiB"));
    }

    #[test]
    fn a_long_final_event_arrives_whole() {
        let long = "x".repeat(5 * 1024 * 1024);
        let stream = format!(
            "{{\"type\":\"partial_output\",\"text\":\"{long}\"}}\n{{\"type\":\"final\",\"output\":\"{long}\"}}\n"
        );
        let (output, said) = read(stream.as_bytes(), 64 * 1024);
        assert!(output == Ok(json!(long)));
        assert!(said == [Progress::PartialOutput(long)]);
    }
}
