//! What the child does: reads a PDF from standard input and answers with one line of JSON.

use pdf_extract::{Document, PlainTextOutput, output_doc_page};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    io::{self, Read as _, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

/// Memory of the child, the program itself included.
const MEMORY_MAX_BYTES: u64 = 2 << 30;
/// Processor time of the child, should nobody be left to stop it.
const CPU_MAX_S: u64 = 60;
/// The library recurses.
const STACK_BYTES: usize = 128 << 20;
/// A longer document isn't read.
const INPUT_MAX_BYTES: u64 = 64 << 20;
/// How many pages are read at most.
const PAGES_MAX: u32 = 100;
/// How much text of a page is given.
const PAGE_MAX_BYTES: usize = 128 * 1_024;

/// Answers and ends the process.
pub(super) fn serve(pages: &str) -> ! {
    for (resource, most) in
        [(Resource::As, MEMORY_MAX_BYTES), (Resource::Cpu, CPU_MAX_S), (Resource::Core, 0)]
    {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
    // Its panics are the library's way to refuse a document; nobody reads them.
    std::panic::set_hook(Box::new(|_| {}));
    let range = range(pages);
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        catch_unwind(|| answer(range)).unwrap_or_else(|_| json!({"error": "the library failed on it"}))
    });
    let answer = worker.ok().and_then(|worker| worker.join().ok());
    let answer = answer.unwrap_or_else(|| json!({"error": "there is no memory for it"}));
    let mut out = io::stdout().lock();
    let written = writeln!(out, "\n{answer}").and_then(|()| out.flush());
    std::process::exit(i32::from(written.is_err()))
}

/// The first and the last page of `1-5`.
fn range(pages: &str) -> (u32, u32) {
    let (first, last) = pages.split_once('-').unwrap_or((pages, pages));
    let first = first.parse().unwrap_or(1).max(1);
    (first, last.parse().unwrap_or(first).min(first.saturating_add(PAGES_MAX - 1)))
}

fn answer((first, last): (u32, u32)) -> Value {
    let mut bytes = Vec::new();
    if let Err(error) = io::stdin().lock().take(INPUT_MAX_BYTES).read_to_end(&mut bytes) {
        return json!({"error": error.to_string()});
    }
    let mut document = match Document::load_mem(&bytes) {
        Ok(document) => document,
        Err(error) => return json!({"error": error.to_string()}),
    };
    // Many documents are encrypted with an empty password, so that they can be read and not changed.
    if document.is_encrypted() && document.decrypt("").is_err() {
        return json!({"error": "it is encrypted with a password"});
    }
    let total = document.get_pages().len();
    if total == 0 {
        return json!({"error": "it has no pages"});
    }
    let last = last.min(u32::try_from(total).unwrap_or(u32::MAX));
    let pages: Vec<Value> = (first..=last)
        .map(|number| match page(&document, number) {
            Ok(text) => json!({"number": number, "text": text}),
            Err(error) => json!({"number": number, "error": error}),
        })
        .collect();
    json!({"total": total, "pages": pages})
}

fn page(document: &Document, number: u32) -> Result<String, String> {
    let mut text = String::new();
    let done = catch_unwind(AssertUnwindSafe(|| {
        let mut output = PlainTextOutput::new(&mut text);
        output_doc_page(document, &mut output, number).map_err(|error| error.to_string())
    }));
    match done {
        Ok(Ok(())) => {}
        Ok(Err(error)) if text.trim().is_empty() => return Err(error),
        Err(_) if text.trim().is_empty() => return Err("the library failed on it".to_owned()),
        // What there was before it failed is better than nothing.
        Ok(Err(_)) | Err(_) => text.push_str("\n[the rest of this page can't be read]"),
    }
    if text.len() > PAGE_MAX_BYTES {
        let end = text.floor_char_boundary(PAGE_MAX_BYTES);
        let left_out = text.len() - end;
        text.truncate(end);
        let _ = write!(text, "\n[{left_out} more bytes of this page]");
    }
    Ok(text)
}
