//! A program's answer, kept as far as it is short or handed on as it comes.

use haft_core::{Command, Cx, Failure, FailureKind, Status, Stdio, StopReason};

/// How much of a short answer, such as a list of names, is kept.
const ANSWER_MAX_BYTES: usize = 8 << 20;
/// How much of what a program says beside it is kept.
const ASIDE_MAX_BYTES: usize = 16 << 10;
/// How much of that is passed on, in characters.
const SAID_MAX_CHARS: usize = 1_000;

/// What a program said.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// Standard output, as far as it was kept.
    pub(crate) out: Vec<u8>,
    /// Whether all of it was.
    pub(crate) is_whole: bool,
    /// Its exit code; none where a signal ended it.
    pub(crate) code: Option<i32>,
    /// The beginning of standard error.
    pub(crate) aside: Vec<u8>,
}

impl Answer {
    /// Whether it exited with 0.
    pub(crate) fn is_ok(&self) -> bool {
        self.code == Some(0)
    }

    /// The parts of the output that end with NUL, empty ones too.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        // Where it was cut, what follows the last NUL may be half a name.
        let end = self.out.iter().rposition(|byte| *byte == 0);
        let whole = end.and_then(|end| self.out.get(..end));
        whole.into_iter().flat_map(|whole| whole.split(|byte| *byte == 0))
    }

    /// The output as text, without the line end after it.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.out);
        text.strip_suffix('\n').unwrap_or(&text).to_owned()
    }

    /// What it said of a fault, for readers.
    pub(crate) fn said(&self) -> String {
        let aside = String::from_utf8_lossy(&self.aside);
        let out = String::from_utf8_lossy(&self.out);
        let said = if aside.trim().is_empty() { out.trim() } else { aside.trim() };
        if said.is_empty() {
            return "it said nothing".to_owned();
        }
        match said.char_indices().nth(SAID_MAX_CHARS) {
            Some((end, _)) => format!("{}…", said.get(..end).unwrap_or_default()),
            None => said.to_owned(),
        }
    }

    /// For the operator.
    pub(crate) fn diagnostic(&self) -> String {
        format!("ended with {:?}: {}", self.code, String::from_utf8_lossy(&self.aside))
    }
}

/// Runs a command and keeps its answer.
///
/// # Errors
/// As [`haft_core::Processes::run`]; timeout; cancelled.
pub(crate) async fn ask(cx: &Cx, command: Command) -> Result<Answer, Failure> {
    let mut out = Vec::new();
    let mut is_whole = true;
    let mut take = |bytes: &[u8]| {
        is_whole = is_whole && out.len() + bytes.len() <= ANSWER_MAX_BYTES;
        if is_whole {
            out.extend_from_slice(bytes);
        }
    };
    let answer = pass_on(cx, command, &mut take).await?;
    Ok(Answer { out, is_whole, ..answer })
}

/// Runs a command and hands its output on as it comes.
///
/// # Errors
/// As [`ask`].
pub(crate) async fn pass_on(
    cx: &Cx,
    command: Command,
    take: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<Answer, Failure> {
    let program = command.argv.first().cloned().unwrap_or_default();
    let deadline = command.deadline.unwrap_or_default();
    let mut aside = Vec::new();
    let mut output = |stream: Stdio, bytes: &[u8]| match stream {
        Stdio::Out => take(bytes),
        Stdio::Err => {
            let room = ASIDE_MAX_BYTES.saturating_sub(aside.len());
            aside.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    };
    let exit = cx.world.processes.run(command, &cx.cancel, &mut output).await?;
    match exit.reason {
        StopReason::Cancelled => Err(Failure::cancelled()),
        StopReason::Deadline => Err(Failure {
            // What ran may have had effects, so nobody should repeat it unasked.
            retryable: false,
            ..Failure::new(
                FailureKind::Timeout,
                format!(
                    "{program} took longer than {} s and was stopped with all that it had started; look at what it \
                     has done so far, and ask for less at once",
                    deadline.as_secs()
                ),
            )
        }),
        StopReason::Itself => {
            let code = match exit.status {
                Status::Code(code) => Some(code),
                Status::Signal(_) => None,
            };
            Ok(Answer { out: Vec::new(), is_whole: true, code, aside })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_name_is_none_and_an_empty_one_counts() {
        let parts = |out: &[u8]| {
            let answer = Answer { out: out.to_vec(), ..Answer::default() };
            answer.parts().map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        assert_eq!(parts(b"a\0\0b c\0ha"), [b"a".to_vec(), Vec::new(), b"b c".to_vec()]);
        assert!(parts(b"half").is_empty() && parts(b"").is_empty());
    }

    #[test]
    fn a_fault_is_told_from_where_it_stands() {
        let said = |out: &str, aside: &str| {
            Answer { out: out.into(), aside: aside.into(), ..Answer::default() }.said()
        };
        assert_eq!(said("out\n", "fatal: x\n"), "fatal: x");
        assert_eq!(said("nothing to commit\n", "\n"), "nothing to commit");
        assert_eq!(said("", ""), "it said nothing");
        assert_eq!(said("", &"é".repeat(2_000)).chars().count(), SAID_MAX_CHARS + 1);
    }
}
