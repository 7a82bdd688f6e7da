//! One look at a path: what stands there, and the text that shows it.

use super::{
    cells, folder,
    media::{Binary, Found, MEDIA_MAX_BYTES},
    page::{Columns, Page, Pager, Wish},
    source::Source,
    survey::{self, Survey},
};
use crate::{
    notebook::Notebook,
    text::{
        Coding, binary, grouped, names, paths, size,
        whole::{WHOLE_MAX_BYTES, read_whole},
    },
};
use haft_core::{
    Block, Cancel, Failure, FileKind, Files, Media, OUTPUT_MAX_LINES, Output, PageRange, RealPath, Seen,
    Short, Truncation,
};
use serde_json::json;
use std::fmt::Write as _;

/// Lines that may follow the file's own: how to read on, its encoding, its real name.
const NOTES_MAX_LINES: u64 = 3;

/// What is asked for.
pub(crate) struct Look {
    /// The first line, from 1, or from the end where negative.
    pub(crate) offset: i64,
    /// How many lines.
    pub(crate) limit: u64,
    /// Which part of each line.
    pub(crate) columns: Columns,
    /// Which pages or cells, where some are asked for.
    pub(crate) pages: Option<PageRange>,
    /// Whether a notebook is shown as the text that it is.
    pub(crate) is_plain: bool,
}

/// Where to look.
pub(crate) struct Job<'a> {
    pub(crate) files: &'a dyn Files,
    pub(crate) media: &'a dyn Media,
    /// The path as it was written.
    pub(crate) written: &'a str,
    /// The path that it stands for.
    pub(crate) at: &'a RealPath,
    pub(crate) cancel: &'a Cancel,
}

/// A file as it was found.
struct Shown {
    survey: Survey,
    page: Page,
    first: u64,
    /// How many lines were asked for.
    limit: u64,
    changed: bool,
}

impl Look {
    /// Looks at a path, of which is known what stands there, with a small file's content.
    ///
    /// # Errors
    /// What [`Files`] answers, and cancelled.
    pub(crate) fn at(&self, job: &Job<'_>, short: Short) -> Result<Found, Failure> {
        let (files, at) = (job.files, job.at);
        let name = paths::shown(at, &files.workspace());
        let Short { stat, bytes } = short;
        if stat.kind == FileKind::Folder {
            let listing = files.list(at, folder::ENTRIES_MAX)?;
            return Ok(Found::Shown(Output::text(folder::show(&name, &listing))));
        }
        let len = stat.len;
        let source = Source::open(files, at, stat, bytes)?;
        let head = source.read(0, binary::HEAD_BYTES)?;
        let mut found = if binary::is_binary(&head) {
            Binary { name: &name, head: &head, len }.found(job, self.pages, self.offset)?
        } else if !self.is_plain && len <= MEDIA_MAX_BYTES && is_notebook(at.file_name()) {
            Found::Shown(self.notebook(job, &name, &source)?)
        } else {
            Found::Shown(self.text(job, &name, &source)?)
        };
        if let Some(note) = names::real_name(job.written, at) {
            let note = Block::text(format!("({note})"));
            match &mut found {
                Found::Shown(output) => output.content.push(note),
                Found::Document(document) => document.note = Some(note),
            }
        }
        Ok(found)
    }

    fn text(&self, job: &Job<'_>, name: &str, source: &Source<'_>) -> Result<Output, Failure> {
        let mut shown = self.show(source, job.cancel)?;
        if shown.changed {
            shown = self.show(source, job.cancel)?;
        }
        Ok(output(job, name, shown))
    }

    /// The cells of a notebook; one that is broken is shown as text, so that it can be mended.
    fn notebook(&self, job: &Job<'_>, name: &str, source: &Source<'_>) -> Result<Output, Failure> {
        let bytes = read_whole(job.files, job.at, job.cancel)?;
        let text = bytes.strip_prefix(Coding::Utf8Bom.bom()).unwrap_or(&bytes);
        let text = std::str::from_utf8(text).map_err(|_| "it isn't UTF-8".to_owned());
        match text.and_then(Notebook::parse) {
            Ok(notebook) => {
                let wish = cells::Wish { offset: self.offset, limit: self.limit, pages: self.pages };
                let metadata = json!({"path": job.at.absolute(), "cells": notebook.cells.len()});
                Ok(Output::text(cells::show(name, &notebook, &wish)).with_metadata(metadata))
            }
            Err(why) => {
                let mut output = self.text(job, name, source)?;
                output.content.push(Block::text(format!("({name} can't be shown by cells: {why})")));
                Ok(output)
            }
        }
    }

    /// Both passes; says whether the file changed meanwhile.
    fn show(&self, source: &Source<'_>, cancel: &Cancel) -> Result<Shown, Failure> {
        let before = source.stat()?;
        let enough = u64::try_from(self.offset).map_or(u64::MAX, |offset| offset.saturating_add(self.limit));
        let survey = Survey::of(source, enough, cancel)?;
        let first = match u64::try_from(self.offset) {
            Ok(offset) => offset.max(1),
            Err(_) => (survey.lines.unwrap_or(0) + 1).saturating_sub(self.offset.unsigned_abs()).max(1),
        };
        let wish = Wish { first, limit: self.limit, columns: self.columns };
        let (mut offset, skip) = survey.place(first);
        let mut pager = Pager::new(survey.coding, survey.ends.line_end(), wish, skip);
        while !cancel.is_fired() {
            let block = survey::block(source, offset)?;
            let mark = if offset == 0 { survey.coding.bom().len() } else { 0 };
            if block.is_empty() || !pager.feed(block.get(mark..).unwrap_or_default()) {
                break;
            }
            offset += u64::try_from(block.len()).unwrap_or(u64::MAX);
        }
        let changed = source.stat()? != before;
        Ok(Shown { survey, page: pager.finish(), first, limit: self.limit, changed })
    }
}

fn is_notebook(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("ipynb"))
}

/// What is said of a file, which goes by `name`.
fn output(job: &Job<'_>, name: &str, shown: Shown) -> Output {
    let Shown { survey, page, first, limit, changed } = shown;
    let last = first + page.shown.saturating_sub(1);
    let mut text = page.text;
    let more = match survey.lines {
        Some(0) => {
            text = format!("{name} is empty.");
            None
        }
        Some(lines) if page.shown == 0 => {
            text = format!(
                "{name} has {} lines, so there is none at offset={first}; read from offset={} at \
                 most, or with a negative offset from the end.",
                grouped(lines),
                lines
            );
            None
        }
        Some(lines) if lines > last => Some(grouped(lines - last)),
        Some(_) => None,
        None => Some("many".to_owned()),
    };
    if let Some(more) = &more {
        let _ = writeln!(text, "… {more} more lines; read on with offset={}", last + 1);
    }
    let notes = notes(&survey, page.signs, changed);
    if !notes.is_empty() {
        let _ = writeln!(text, "({})", notes.join("; "));
    }
    let seen = survey.hash.as_deref().filter(|_| !changed).zip(survey.lines).map(|(hash, total)| Seen {
        hash: hash.into(),
        lines: page.whole,
        total,
    });
    // As many lines as the caller wanted are no cut, as long as the notes fit below them.
    let is_as_asked = limit.saturating_add(NOTES_MAX_LINES) <= lines_max() && page.shown >= limit;
    let truncation = more.filter(|_| !is_as_asked).map(|_| Truncation {
        shown_bytes: page.bytes.min(survey.len),
        total_bytes: survey.len,
        shown_lines: page.shown,
        total_lines: survey.lines.unwrap_or(last + 1),
        path: Some(paths::plain(job.at, &job.files.workspace())),
    });
    Output {
        seen: seen.map(|seen| (job.at.clone(), seen)).into_iter().collect(),
        truncation,
        ..Output::text(text.trim_end_matches('\n'))
    }
    .with_metadata(json!({
        "path": job.at.absolute(),
        "lines": survey.lines,
        "first": first,
        "shown": page.shown,
        "encoding": survey.coding.name(),
    }))
}

/// How many lines are shown where nothing else is asked for.
pub(crate) fn lines_max() -> u64 {
    u64::try_from(OUTPUT_MAX_LINES).unwrap_or(u64::MAX)
}

fn notes(survey: &Survey, has_signs: bool, changed: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if survey.coding != Coding::Utf8 {
        notes.push(survey.coding.name().to_owned());
    }
    notes.extend(survey.ends.describe());
    if has_signs {
        notes.push("control characters are shown as signs or \\u{…}".to_owned());
    }
    if survey.hash.is_none() {
        let most = size(u64::try_from(WHOLE_MAX_BYTES).unwrap_or(u64::MAX));
        notes.push(format!(
            "longer than {most}: change it with stream commands through bash, not with edit or write"
        ));
    }
    if changed {
        notes.push(
            "the file is being changed by somebody else; read it again for its newest content".to_owned(),
        );
    }
    notes
}
