//! The text of a PDF, asked of a child process.

use super::Child;
use haft_core::{
    Cancel, Command, Failure, FailureKind, PageRange, PdfPage, PdfText, RealPath, Stdio, StopReason,
};
use serde_json::Value;
use std::time::Duration;

/// The variable that makes a program the child, and says which pages are wanted: `1-5`.
pub(super) const PAGES: &str = "HAFT_PDF_PAGES";
/// How long a child may take: long documents take seconds, endless ones for ever.
const DEADLINE: Duration = Duration::from_secs(30);
/// How much of a child's answer is taken; it keeps far below by itself.
const ANSWER_MAX_BYTES: usize = 16 << 20;
/// How much of the library's own words is passed on.
const REASON_MAX_CHARS: usize = 160;

/// Has the child read the pages.
pub(super) async fn text(
    child: &Child,
    bytes: Vec<u8>,
    pages: PageRange,
    cancel: &Cancel,
) -> Result<PdfText, Failure> {
    let command = Command {
        env: vec![(PAGES.to_owned(), format!("{}-{}", pages.first, pages.last))],
        stdin: bytes,
        deadline: Some(DEADLINE),
        ..Command::new(child.argv.clone(), RealPath::new("/", ""))
    };
    let mut answer = Vec::new();
    let mut take = |stream: Stdio, bytes: &[u8]| {
        if stream == Stdio::Out && answer.len() + bytes.len() <= ANSWER_MAX_BYTES {
            answer.extend_from_slice(bytes);
        }
    };
    let exit = child.processes.run(command, cancel, &mut take).await?;
    match exit.reason {
        StopReason::Cancelled => Err(Failure::cancelled()),
        StopReason::Deadline => Err(Failure::new(
            FailureKind::Timeout,
            format!(
                "its text couldn't be had within {} s; ask for fewer pages, or use pdftotext through bash",
                DEADLINE.as_secs()
            ),
        )),
        StopReason::Itself => parse(&answer).unwrap_or_else(|| {
            Err(Failure::invalid(
                "its text can't be had: reading it took too much memory or failed; pdftotext through bash may do \
                 better",
            )
            .diagnose(format!("the PDF child ended with {:?}", exit.status)))
        }),
    }
}

/// The child's answer is the last line: a library may print what it likes before.
fn parse(answer: &[u8]) -> Option<Result<PdfText, Failure>> {
    let line = answer.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty())?;
    let answer: Value = serde_json::from_slice(line).ok()?;
    if let Some(error) = answer.get("error").and_then(Value::as_str) {
        let reason: String = error.chars().take(REASON_MAX_CHARS).collect();
        return Some(Err(Failure::invalid(format!("it isn't a readable PDF: {reason}"))));
    }
    let number = |value: &Value, key: &str| u32::try_from(value.get(key)?.as_u64()?).ok();
    let mut pages = Vec::new();
    for page in answer.get("pages")?.as_array()? {
        let word = |key: &str| page.get(key).and_then(Value::as_str).map(str::to_owned);
        let text = match word("text") {
            Some(text) => Ok(text),
            None => Err(word("error")?),
        };
        pages.push(PdfPage { number: number(page, "number")?, text });
    }
    Some(Ok(PdfText { total: number(&answer, "total")?, pages }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_answer() {
        let text = parse(
            b"running 1 test\nnoise {\n{\"total\":3,\"pages\":[{\"number\":2,\"text\":\"a\\nb\"},\
              {\"number\":3,\"error\":\"odd font\"}]}\n",
        );
        let text = text.unwrap().unwrap();
        assert_eq!(text.total, 3);
        assert_eq!(text.pages[0], PdfPage { number: 2, text: Ok("a\nb".to_owned()) });
        assert_eq!(text.pages[1].text, Err("odd font".to_owned()));
        let refused = parse(b"{\"error\":\"no xref\"}").unwrap().unwrap_err();
        assert_eq!(refused.text, "it isn't a readable PDF: no xref");
        assert!(parse(b"thread panicked").is_none() && parse(b"").is_none());
    }
}
