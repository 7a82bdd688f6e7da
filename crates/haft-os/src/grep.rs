//! Searching in files with ripgrep's own engine.
//!
//! Each file is opened through its root and looked at first, so that neither a swapped link nor a pipe is
//! ever searched. Files that turn out binary count as such and give no lines.

use crate::{
    OsFiles,
    files::kind,
    root::{self, split},
    walk::note,
};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use haft_core::{Cancel, Failure, FileKind, GrepHit, GrepLine, GrepQuery, RealPath, WalkReport};
use rustix::fs::OFlags;
use std::{fs::File, io, ops::ControlFlow, os::fd::OwnedFd};

const LINES_MAX: usize = 1_000;
const LINE_MAX_BYTES: usize = 2_000;
/// Room for the note on how much of a line was left out.
const CUT_NOTE_BYTES: usize = 40;
/// A line, or with `multiline` a file, longer than this is an error of that file.
const HEAP_MAX_BYTES: usize = 256 * 1024 * 1024;

impl OsFiles {
    pub(crate) fn search(
        &self,
        tree: &RealPath,
        query: &GrepQuery,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        let mut engine = Engine::new(query)?;
        let meta = self.look(tree)?;
        if kind(meta.file_type()) != FileKind::Folder {
            return self.search_one(tree, query, &mut engine, visit);
        }
        let mut near = Near::default();
        let mut own = WalkReport::default();
        let mut report = self.each(tree, &query.walk, &mut |_, path, kind| {
            if kind != FileKind::File {
                return ControlFlow::Continue(());
            }
            let searched = match self.open_to_search(&path, &mut near) {
                Ok(Some(file)) => engine.search(&file, &path, &mut own, visit),
                Ok(None) => {
                    own.special += 1;
                    Ok(ControlFlow::Continue(()))
                }
                Err(error) => Err(error),
            };
            searched.unwrap_or_else(|error| {
                note(&mut own, format!("{}: {error}", self.show(&path)));
                ControlFlow::Continue(())
            })
        })?;
        report.binary = own.binary;
        report.special += own.special;
        let told = own.errors.len();
        report.error_count += own.error_count.saturating_sub(u64::try_from(told).unwrap_or(u64::MAX));
        for error in own.errors {
            note(&mut report, error);
        }
        Ok(report)
    }

    fn search_one(
        &self,
        file: &RealPath,
        query: &GrepQuery,
        engine: &mut Engine,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        let mut report = WalkReport::default();
        if query.walk.skip.as_ref().is_some_and(|skip| skip(file)) {
            report.denied = 1;
            return Ok(report);
        }
        let place = self.place(file).map_err(|error| self.trouble("search", file, &error))?;
        let (open, _) = self.open_regular(file, &place)?;
        report.files = 1;
        match engine.search(&open, file, &mut report, visit) {
            Ok(flow) => report.stopped = flow.is_break(),
            Err(error) => note(&mut report, format!("{}: {error}", self.show(file))),
        }
        report.stopped |= query.walk.cancel.is_fired();
        Ok(report)
    }

    /// The file, or none where something other than a regular file stands there now.
    fn open_to_search(&self, path: &RealPath, near: &mut Near) -> io::Result<Option<File>> {
        let (root, beneath) = self.root_of(path);
        let (parent, name) = split(&beneath);
        let folder = match near.folder.take() {
            Some(folder) if near.path == parent => folder,
            _ => root.folder(parent, self.how)?,
        };
        parent.clone_into(&mut near.path);
        let folder = near.folder.insert(folder);
        if !root::look(folder, name)?.is_file() {
            return Ok(None);
        }
        let file = root::open(folder, name, OFlags::RDONLY)?;
        Ok(file.metadata()?.is_file().then_some(file))
    }
}

/// The folder of the last file: the next is mostly its neighbour.
#[derive(Default)]
struct Near {
    path: String,
    folder: Option<OwnedFd>,
}

/// A compiled query, used for one file after the other.
struct Engine {
    matcher: RegexMatcher,
    searcher: Searcher,
    cancel: Cancel,
}

impl Engine {
    fn new(query: &GrepQuery) -> Result<Self, Failure> {
        let mut matcher = RegexMatcherBuilder::new();
        // `^` and `$` are those of each line, and a `\r` before the line's end is none of its text; so the
        // line terminator has to be set after `crlf`, which sets another.
        matcher.multi_line(true).case_insensitive(query.ignore_case).fixed_strings(query.fixed).crlf(true);
        if query.multiline {
            matcher.line_terminator(None).dot_matches_new_line(true);
        } else {
            matcher.line_terminator(Some(b'\n'));
        }
        let matcher = matcher.build(&query.pattern).map_err(|error| {
            // Written out, a line break can be found only by a search across lines, fixed or not.
            let has_break = query.pattern.contains('\n');
            let spans_lines = has_break || (!query.fixed && query.pattern.contains("\\n"));
            let hint = match (spans_lines && !query.multiline, query.fixed) {
                (true, _) if has_break => "set multiline to match across lines",
                (true, _) => "set multiline to match across lines, or fixed to search for it as plain text",
                (false, false) => "correct it, or set fixed to search for it as plain text",
                (false, true) => "search for a shorter part of it",
            };
            Failure::invalid(format!("the pattern can't be used: {error}; {hint}"))
        })?;
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .multi_line(query.multiline)
            .before_context(query.context)
            .after_context(query.context)
            .heap_limit(Some(HEAP_MAX_BYTES))
            .bom_sniffing(true)
            .build();
        Ok(Self { matcher, searcher, cancel: query.walk.cancel.clone() })
    }

    fn search(
        &mut self,
        file: &File,
        path: &RealPath,
        report: &mut WalkReport,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let mut found = Found { cancel: self.cancel.clone(), ..Found::default() };
        self.searcher.search_file(&self.matcher, file, &mut found)?;
        if found.binary {
            report.binary += 1;
            return Ok(ControlFlow::Continue(()));
        }
        if found.count == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        Ok(visit(GrepHit {
            path: path.clone(),
            modified: file.metadata().ok().and_then(|meta| meta.modified().ok()),
            count: found.count,
            lines: found.lines,
            left_out: found.count.saturating_sub(found.kept),
        }))
    }
}

/// The lines found in one file.
#[derive(Default)]
struct Found {
    lines: Vec<GrepLine>,
    /// How many lines matched, and how many of those are in `lines`.
    count: u64,
    kept: u64,
    binary: bool,
    cancel: Cancel,
}

impl Found {
    fn add(&mut self, number: u64, line: &[u8], matched: bool) {
        self.count += u64::from(matched);
        if self.lines.len() >= LINES_MAX {
            return;
        }
        self.kept += u64::from(matched);
        let after_gap = self.lines.last().is_some_and(|last| last.number.saturating_add(1) < number);
        self.lines.push(GrepLine { number, text: text(line), matched, after_gap });
    }
}

impl Sink for Found {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number().unwrap_or_default();
        for (number, line) in (first..).zip(found.lines()) {
            self.add(number, line, true);
        }
        Ok(!self.cancel.is_fired())
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.add(found.line_number().unwrap_or_default(), found.bytes(), false);
        Ok(!self.cancel.is_fired())
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line without its end, cut where it is too long.
fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Bytes that aren't UTF-8 grow when they are replaced: decode no more than can be shown.
    let shown = String::from_utf8_lossy(line.get(..LINE_MAX_BYTES + 4).unwrap_or(line));
    if line.len() <= LINE_MAX_BYTES && shown.len() <= LINE_MAX_BYTES {
        return shown.into_owned();
    }
    let end = shown.floor_char_boundary(LINE_MAX_BYTES - CUT_NOTE_BYTES);
    let shown = shown.get(..end).unwrap_or_default();
    format!("{shown}… [{} bytes more]", line.len().saturating_sub(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_between_characters_and_say_so() {
        assert_eq!(text(b"a\r\n"), "a");
        assert_eq!(text("ü".repeat(1_000).as_bytes()).len(), LINE_MAX_BYTES);
        let cut = text("ü".repeat(1_001).as_bytes());
        assert!(cut.len() <= LINE_MAX_BYTES && cut.ends_with("bytes more]") && !cut.contains('\u{fffd}'));
    }
}
