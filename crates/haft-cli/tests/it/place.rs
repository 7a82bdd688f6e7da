//! A workspace and a home that nobody else has, and the binary run in them.

use serde_json::Value;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// One stage.
pub struct Place {
    folder: TempDir,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    /// The exit status.
    pub status: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// The one object on standard output.
    pub fn json(&self) -> Value {
        assert_eq!(self.out.trim_end().lines().count(), 1, "not one line: {self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The same run, which must have ended with this status.
    #[track_caller]
    pub fn with(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

impl Place {
    /// An empty workspace, which is a root of its own wherever the temporary folder lies.
    pub fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.workspace().join(".git")).unwrap();
        place
    }

    /// The same in a folder of which it is known where it lies.
    pub fn within(folder: &Path) -> Self {
        let place = Self { folder: tempfile::tempdir_in(folder).unwrap() };
        fs::create_dir_all(place.workspace().join(".git")).unwrap();
        place
    }

    /// A path beside the workspace.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The workspace.
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// What stands for everything that is the user's.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Writes a file of the workspace.
    pub fn write(&self, at: &str, content: &str) {
        let path = self.workspace().join(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a file of the home.
    pub fn write_home(&self, at: &str, content: &str) {
        fs::create_dir_all(self.home()).unwrap();
        fs::write(self.home().join(at), content).unwrap();
    }

    /// Reads a file of the workspace.
    pub fn read(&self, at: &str) -> Option<String> {
        fs::read_to_string(self.workspace().join(at)).ok()
    }

    /// The binary, ready to be run here with nothing on its standard input.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        command
            .args(words)
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env("HAFT_HOME", self.home())
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, words: &[&str]) -> Ran {
        ended(self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Runs it with a text on its standard input.
    pub fn run_with(&self, words: &[&str], input: &str) -> Ran {
        let mut command = self.command(words);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // Apart, so that a reply longer than a pipe holds up nobody; a binary that wants no more input has gone.
        let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let ran = ended(child);
        writer.join().unwrap();
        ran
    }
}

/// Waits for the end of a run.
pub fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Whether a program is on the path.
pub fn has_program(name: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').any(|folder| Path::new(folder).join(name).is_file())
}

/// Says that a test couldn't be made; past the test runner, which keeps what passing tests print to itself.
pub fn left_out(what: &str, program: &str) {
    let _ = writeln!(std::io::stderr(), "left out: {what} ({program} is not installed)");
}
