//! The vocabulary of haft: what a tool declares, what a call is, what it touches and how it ends, and the
//! traits behind which the world stands.
//!
//! This is what tool authors depend on. It does no I/O and needs no async runtime. Keeps the invariants
//! "what is judged is what runs" ([`AnyTool::bind`]) and "claims and handles end with the call" ([`Cx`]).

mod approve;
mod build;
mod byte_order_mark;
mod call;
mod cancel;
mod content_hash;
mod credential;
mod cx;
mod effects;
mod event;
mod failure;
mod files;
mod hidden;
mod http;
mod job;
mod last_read;
mod media;
mod name;
mod output;
mod process;
mod profile;
mod question_row;
mod sandbox;
mod secret;
mod shell_line;
mod shown;
mod spec;
mod state;
mod tether;
mod tool;
mod web;
mod world;

pub use approve::{Answer, Approver, Filled, Form, NoApprover, Preview, Question};
pub use build::{ToolBuilder, tool};
pub use byte_order_mark::without_bom;
pub use call::{CallId, Ended, Input, Outcome, Request, TraceStep, Why};
pub use cancel::Cancel;
pub use content_hash::{ContentHasher, content_hash};
pub use credential::{
    Credential, CredentialError, Credentials, SecretName, SecretNameError, StoredSecret, is_variable,
};
pub use cx::{Capture, Captured, Cx, Nested, SHELL_FOLDER, SessionView, Sink};
pub use effects::{EffectTemplate, Effects, PathArg, RealPath, Touch};
pub use event::{Event, Progress};
pub use failure::{Failure, FailureKind};
pub use files::{
    Entry, FileKind, FileLock, FileOp, Files, GrepHit, GrepLine, GrepQuery, Listing, Short, Skip, Stat,
    WalkOptions, WalkReport, WriteMode,
};
pub use hidden::is_hidden;
pub use http::{Http, HttpBody, HttpRequest, HttpResponse};
pub use job::{Job, JobOrder, JobView, JobWait, Jobs, NoJobs, Waited};
pub use last_read::{FileStamp, LastRead};
pub use media::{Image, ImageLimits, Media, NoMedia, PageRange, PdfPage, PdfText};
pub use name::{NAME_MAX_CHARS, NameError, ToolName, humanise};
pub use output::{
    Block, ChangedBy, FileChange, FileState, FileStep, FileTraits, IntoOutput, Json, Output, Seen, Shape,
    Truncation,
};
pub use process::{
    Command, Exit, Processes, Shell, Status, Stdio, StopReason, Survivor, Talk, TalkInput, TalkProcess,
    TerminalSize,
};
pub use profile::{Ground, Needs, Profile, WorkspaceUse};
pub use question_row::QuestionRow;
pub use sandbox::{Allowance, Confined, Confinement, Kept, Layer, Reach, looks_barred};
pub use secret::{SECRET_MAX_BYTES, Secret, SecretError};
pub use shell_line::{shell_line, shell_word};
pub use shown::exact;
pub use spec::{
    Display, Example, Exposure, Flags, LONG_TIMEOUT, OUTPUT_MAX_BYTES, OUTPUT_MAX_LINES, Permission, Risk,
    Spec, TIMEOUT,
};
pub use state::{Change, Counter, Held, LineLog, SpillFile, StateEntry, StateFolder};
pub use tether::{Quiet, Tether};
pub use tool::{AnyTool, Bound, OwnCheck, Tool, erase};
pub use web::{Web, WebHop, WebPage, WebRequest, WebUrl};
pub use world::{Clock, Pool, World};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// A boxed stream that can move between threads.
pub type BoxStream<'a, T> = std::pin::Pin<Box<dyn futures_core::Stream<Item = T> + Send + 'a>>;
