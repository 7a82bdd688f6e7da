//! The searches behind `grep` and `glob` as a program of their own, for `bench/search`.
//!
//!     search lines <folder> <state folder> <pattern>    path:line:text of each match, by path
//!     search files <folder> <state folder>              all files, the newest first

use haft_core::{FileKind, Files, GrepQuery, WalkOptions};
use haft_os::OsFiles;
use std::{
    cmp::Reverse,
    env,
    error::Error,
    io::{self, BufWriter, Write},
    ops::ControlFlow,
    path::Path,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["lines", folder, state, pattern] => lines(&open(folder, state)?, pattern),
        ["files", folder, state] => files(&open(folder, state)?),
        _ => Err("usage: search lines <folder> <state> <pattern> | search files <folder> <state>".into()),
    }
}

fn open(folder: &str, state: &str) -> Result<OsFiles, Box<dyn Error>> {
    Ok(OsFiles::new(Path::new(folder), &[], Path::new(state))?)
}

fn lines(files: &OsFiles, pattern: &str) -> Result<(), Box<dyn Error>> {
    let query = GrepQuery { pattern: pattern.to_owned(), ..GrepQuery::default() };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    files.grep(&files.workspace(), &query, &mut |hit| {
        for line in &hit.lines {
            if let Err(error) = writeln!(out, "{}:{}:{}", hit.path, line.number, line.text) {
                written = Err(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    written?;
    Ok(out.flush()?)
}

fn files(files: &OsFiles) -> Result<(), Box<dyn Error>> {
    let mut found = Vec::new();
    files.walk(&files.workspace(), &WalkOptions::default(), &mut |entry| {
        if entry.kind == FileKind::File {
            found.push((Reverse(entry.modified), entry.path.beneath.clone()));
        }
        ControlFlow::Continue(())
    })?;
    found.sort_unstable();
    let mut out = BufWriter::new(io::stdout().lock());
    for (_, path) in &found {
        writeln!(out, "{path}")?;
    }
    Ok(out.flush()?)
}
