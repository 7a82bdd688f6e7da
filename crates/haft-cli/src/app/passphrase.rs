//! The passphrase of what is stored: from a variable, or from a program such as the one of the desktop's keyring.

use haft_core::{Cancel, Command, Failure, FailureKind, Processes, RealPath, Secret, Status, Stdio};
use haft_os::{Environment, OsProcesses, Passphrase};
use std::{sync::Arc, time::Duration};

/// The variable that holds it.
pub(crate) const VARIABLE: &str = "HAFT_VAULT_PASSPHRASE";
/// How long the program may take: a person may have to unlock something first.
const ASK_TIMEOUT: Duration = Duration::from_secs(120);
/// A longer passphrase is none.
const PASSPHRASE_MAX_BYTES: usize = 4 * 1024;
/// How much of what the program complains is kept.
const COMPLAINT_MAX_BYTES: usize = 1024;
/// What programs of keyrings need besides the usual variables, to reach their services and ask the user.
#[rustfmt::skip] // a line a group
const REACHES: [&str; 9] = [
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR",
    "GNUPGHOME", "GPG_AGENT_INFO", "GPG_TTY", "PASSWORD_STORE_DIR",
];

/// Asks the variable first, then the program.
pub(super) fn source(environment: Environment, command: Option<Vec<String>>) -> Passphrase {
    Arc::new(move || {
        if let Some(value) = environment.get(VARIABLE).filter(|value| !value.is_empty()) {
            return Ok(Some(Secret::new(value)));
        }
        command.as_ref().map(|command| ask(command, &environment)).transpose()
    })
}

/// What the program prints.
fn ask(command: &[String], environment: &Environment) -> Result<Secret, Failure> {
    let program = command.first().cloned().unwrap_or_default();
    let unavailable = |why: String| {
        let text = format!(
            "{program}, which passphraseCommand names under [secrets], gives no passphrase: {why}. Run it by hand to see \
             what it lacks"
        );
        Failure::new(FailureKind::Unavailable, text)
    };
    let (command, environment) = (command.to_vec(), environment.clone().pass(REACHES.map(str::to_owned)));
    // On a thread of its own, since whoever asks may be within a runtime already.
    let asked = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| Failure::internal(error.to_string()))?.block_on(run(command, environment))
    });
    let ran = asked.join().map_err(|_| unavailable("it couldn't be started".to_owned()))?;
    let Ran { status, out, complaint } = ran.map_err(|failure| unavailable(failure.text))?;
    if status != Status::Code(0) {
        // Its words may repeat what nobody should see: for the operator alone.
        let complaint = String::from_utf8_lossy(&complaint).into_owned();
        return Err(unavailable(format!("it ended with {status:?}")).diagnose(complaint));
    }
    if out.len() > PASSPHRASE_MAX_BYTES {
        return Err(unavailable(format!("it prints more than {PASSPHRASE_MAX_BYTES} bytes")));
    }
    Secret::given(&out).map_err(|error| unavailable(error.to_string()))
}

/// How the program ended and what it said.
struct Ran {
    status: Status,
    out: Vec<u8>,
    complaint: Vec<u8>,
}

async fn run(argv: Vec<String>, environment: Environment) -> Result<Ran, Failure> {
    let command = Command { deadline: Some(ASK_TIMEOUT), ..Command::new(argv, RealPath::new("/", "")) };
    let (mut out, mut complaint) = (Vec::new(), Vec::new());
    let mut keep = |from: Stdio, piece: &[u8]| {
        let (kept, most) = match from {
            Stdio::Out => (&mut out, PASSPHRASE_MAX_BYTES),
            Stdio::Err => (&mut complaint, COMPLAINT_MAX_BYTES),
        };
        if kept.len() <= most {
            kept.extend_from_slice(piece);
        }
    };
    let exit = OsProcesses::new(environment).run(command, &Cancel::new(), &mut keep).await?;
    Ok(Ran { status: exit.status, out, complaint })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Secret, Failure> {
        let command = ["sh", "-c", line].map(str::to_owned).to_vec();
        ask(&command, &Environment::of_process())
    }

    #[test]
    fn what_the_program_prints_is_the_passphrase() {
        assert_eq!(asked("echo correct horse").unwrap(), Secret::new("correct horse"));
        assert_eq!(asked("printf 'no line end'; echo chatter >&2").unwrap(), Secret::new("no line end"));
    }

    #[test]
    fn a_program_that_gives_none_is_named() {
        for (line, says) in [
            ("echo half-a-secret; exit 3", "Code(3)"),
            (":", "is empty"),
            ("yes | head -c 9000", "more than 4096 bytes"),
        ] {
            let failure = asked(line).unwrap_err();
            assert!(failure.text.contains(says) && failure.text.starts_with("sh, which"), "{failure}");
            assert!(!failure.text.contains("half-a-secret"), "{failure}");
        }
        let failure = ask(&["haft-no-such-program".to_owned()], &Environment::of_process()).unwrap_err();
        assert!(failure.text.contains("haft-no-such-program"), "{failure}");
    }

    #[test]
    fn the_variable_comes_first_and_without_either_there_is_none() {
        assert_eq!(source(Environment::default(), None)().unwrap(), None);
        let command = vec!["echo".to_owned(), "from the program".to_owned()];
        assert_eq!(
            source(Environment::default(), Some(command))().unwrap(),
            Some(Secret::new("from the program"))
        );
    }
}
