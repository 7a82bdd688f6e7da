//! A whole file in memory, and the name of its content.

use super::{Coding, LineEnd, View, paths, size};
use haft_core::{Cancel, Failure, Files, RealPath};

/// The largest file that is held in memory whole, and the largest whose content gets a hash.
pub(crate) const WHOLE_MAX_BYTES: usize = 64 * 1_024 * 1_024;
/// How much is read at once.
const PIECE_BYTES: usize = 4 * 1_024 * 1_024;

/// So often a file is read that somebody else changes meanwhile.
const ATTEMPTS_MAX: usize = 3;

/// All bytes of a file, of one state of it: a long one is read again where it changed meanwhile.
///
/// # Errors
/// What [`Files::read`] answers; invalid input where the file is longer than [`WHOLE_MAX_BYTES`]; a conflict
/// where it changes all the time.
pub(crate) fn read_whole(files: &dyn Files, at: &RealPath, cancel: &Cancel) -> Result<Vec<u8>, Failure> {
    let state = || files.peek(at).map(|stat| (stat.len, stat.modified));
    for _ in 0..ATTEMPTS_MAX {
        let before = state();
        let bytes = read_once(files, at, cancel)?;
        // What came in one piece is of one state.
        if bytes.len() < PIECE_BYTES || state() == before {
            return Ok(bytes);
        }
    }
    Err(Failure::conflict(format!(
        "{} is being changed by somebody else all the time, so it can't be read as a whole; nothing was changed. \
         Wait for what writes it",
        paths::shown(at, &files.workspace())
    )))
}

fn read_once(files: &dyn Files, at: &RealPath, cancel: &Cancel) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    loop {
        if cancel.is_fired() {
            return Err(Failure::cancelled());
        }
        let offset = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let piece = files.read(at, offset, PIECE_BYTES)?;
        // Fewer bytes than asked for are the last ones. At this place another file may stand by now.
        let is_last = piece.len() < PIECE_BYTES;
        if bytes.is_empty() && !is_last {
            let len = files.peek(at).map_or(0, |stat| stat.len);
            bytes.reserve_exact(usize::try_from(len).unwrap_or(usize::MAX).min(WHOLE_MAX_BYTES));
        }
        bytes.extend_from_slice(&piece);
        if bytes.len() > WHOLE_MAX_BYTES {
            return Err(Failure::invalid(format!(
                "{} is longer than {}, the most that can be changed in one piece; use a command that \
                 works on streams, such as sed, through bash",
                paths::shown(at, &files.workspace()),
                size(u64::try_from(WHOLE_MAX_BYTES).unwrap_or(u64::MAX))
            )));
        }
        if is_last {
            return Ok(bytes);
        }
    }
}

/// How many lines the bytes have; a last one without a line end counts.
pub(crate) fn count_lines(text: &[u8]) -> u64 {
    let end = LineEnd::of(text).byte();
    let ends = memchr::memchr_iter(end, text).count();
    let open = usize::from(text.last().is_some_and(|last| *last != end));
    u64::try_from(ends + open).unwrap_or(u64::MAX)
}

/// How many lines a file has, in its own encoding.
pub(crate) fn lines_of(bytes: &[u8]) -> u64 {
    count_lines(View::of(bytes, Coding::of(bytes)).text())
}

/// The number of the line that holds the byte at `index`, from 1.
pub(crate) fn line_at(text: &[u8], index: usize) -> u64 {
    let before = text.get(..index).unwrap_or(text);
    u64::try_from(memchr::memchr_iter(LineEnd::of(text).byte(), before).count() + 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{
        Entry, FileChange, FileKind, FileLock, FileOp, GrepHit, GrepQuery, Listing, PathArg, Stat,
        WalkOptions, WalkReport, WriteMode,
    };
    use std::{
        ops::ControlFlow,
        sync::Mutex,
        time::{Duration, SystemTime},
    };

    /// One file that gets the next of these contents after each read, as by a rename, and then stays.
    struct Replaced {
        contents: Vec<Vec<u8>>,
        reads: Mutex<usize>,
    }

    impl Replaced {
        fn by(contents: &[(u8, usize)]) -> Self {
            let contents = contents.iter().map(|(byte, len)| vec![*byte; *len]).collect();
            Self { contents, reads: Mutex::new(0) }
        }

        fn now(&self) -> usize {
            (*self.reads.lock().unwrap()).min(self.contents.len() - 1)
        }

        fn read_whole(&self) -> Result<Vec<u8>, Failure> {
            read_whole(self, &RealPath::new("/w", "f"), &Cancel::new())
        }
    }

    fn unused<T>() -> Result<T, Failure> {
        Err(Failure::internal("unused in tests"))
    }

    impl Files for Replaced {
        fn workspace(&self) -> RealPath {
            RealPath::new("/w", "")
        }

        fn resolve(&self, _: &PathArg) -> Result<RealPath, Failure> {
            unused()
        }

        fn stat(&self, _: &RealPath) -> Result<Stat, Failure> {
            let now = self.now();
            let len = u64::try_from(self.contents[now].len()).unwrap();
            let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(now).unwrap());
            Ok(Stat { kind: FileKind::File, len, modified: Some(modified), links: 1, mode: 0o644 })
        }

        fn read(&self, _: &RealPath, offset: u64, max_bytes: usize) -> Result<Vec<u8>, Failure> {
            let content = &self.contents[self.now()];
            let rest = content.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
            let piece = rest[..rest.len().min(max_bytes)].to_vec();
            *self.reads.lock().unwrap() += 1;
            Ok(piece)
        }

        fn list(&self, _: &RealPath, _: usize) -> Result<Listing, Failure> {
            unused()
        }

        fn write(&self, _: &RealPath, _: &[u8], _: &WriteMode) -> Result<FileChange, Failure> {
            unused()
        }

        fn apply(&self, _: &[FileOp]) -> Result<Vec<FileChange>, Failure> {
            unused()
        }

        fn walk(
            &self,
            _: &RealPath,
            _: &WalkOptions,
            _: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
        ) -> Result<WalkReport, Failure> {
            unused()
        }

        fn grep(
            &self,
            _: &RealPath,
            _: &GrepQuery,
            _: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
        ) -> Result<WalkReport, Failure> {
            unused()
        }

        fn lock(&self, _: &RealPath, _: &Cancel) -> Result<Box<dyn FileLock>, Failure> {
            unused()
        }
    }

    #[test]
    fn a_file_replaced_after_its_only_piece_is_not_mixed() {
        assert_eq!(Replaced::by(&[(b'a', 3), (b'b', 9)]).read_whole().unwrap(), b"aaa");
    }

    #[test]
    fn a_file_replaced_between_two_pieces_is_read_again() {
        let read = Replaced::by(&[(b'a', PIECE_BYTES + 1), (b'b', PIECE_BYTES + 2)]).read_whole().unwrap();
        assert!(read == vec![b'b'; PIECE_BYTES + 2]);
        let contents: Vec<(u8, usize)> = (0..9).map(|byte| (byte, PIECE_BYTES + 1)).collect();
        assert!(Replaced::by(&contents).read_whole().unwrap_err().text.contains("all the time"));
    }

    #[test]
    fn lines_are_those_of_the_texts_own_line_ends() {
        assert_eq!([count_lines(b"a\rb"), count_lines(b"a\rb\r"), count_lines(b"a\rb\n")], [2, 2, 1]);
        assert_eq!([line_at(b"a\rb\r", 2), line_at(b"a\rb\n", 2)], [2, 1]);
    }
}
