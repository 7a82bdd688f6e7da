//! One file for each command.

mod call;
mod check;
mod console;
mod demo;
mod doctor;
mod explain;
mod import;
mod log;
mod mcp;
mod mcp_import;
mod mcp_login;
mod new;
mod permissions;
mod rules;
mod run;
mod save_tool;
mod secret;
mod serve;
mod settings_file;
mod test;
mod tools;
mod trust;
mod undo;

pub(crate) use check::CheckArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use import::ImportArgs;
pub(crate) use log::LogArgs;
pub(crate) use mcp::McpArgs;
pub(crate) use new::NewArgs;
pub(crate) use permissions::PermissionsArgs;
pub(crate) use rules::RulesArgs;
pub(crate) use run::RunArgs;
pub(crate) use save_tool::SaveToolArgs;
pub(crate) use secret::SecretArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use test::TestArgs;
pub(crate) use tools::ToolsArgs;
pub(crate) use trust::TrustArgs;
pub(crate) use undo::UndoArgs;

use crate::{
    app::App,
    cli::{Cli, Command},
    print,
    status::Status,
    words::Typed,
};
use haft_core::Ended;
use haft_os::{Environment, host};
use haft_runtime::{Running, Session};
use std::{future::pending, io};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How much of a job's line is shown.
const JOB_MAX_CHARS: usize = 80;

/// Does what the command line says.
///
/// # Errors
/// A [`crate::trouble::Trouble`], a failure of the runtime, or whatever the system says.
pub(crate) fn dispatch(cli: Cli, environment: Environment) -> anyhow::Result<Status> {
    let mut common = cli.common;
    let Some(command) = cli.command else {
        return console::console(&App::load(environment, common)?);
    };
    match command {
        // Flags after the JSON may name another workspace, so they are read first.
        Command::Call(args) => {
            let typed = Typed::parse(&args, &mut common)?;
            call::call(&App::load(environment, common)?, &typed)
        }
        Command::Explain(mut args) => {
            args.take_later();
            let typed = Typed::parse(&args.call, &mut common)?;
            explain::explain(&App::load(environment, common)?, &typed, args.flags)
        }
        Command::Run(args) => run::run(&App::load(environment, common)?, &args),
        Command::Tools(args) => tools::tools(&App::load(environment, common)?, &args),
        Command::New(args) => match args.what {
            new::NewCommand::Tool(args) => new::tool(&App::load(environment, common)?, &args),
            new::NewCommand::Extension(args) => new::extension(&App::load(environment, common)?, &args),
        },
        Command::SaveTool(args) => save_tool::save_tool(&App::load(environment, common)?, &args),
        Command::Check(args) => check::check(&App::load(environment, common)?, &args),
        Command::Test(args) => test::test(&App::load(environment, common)?, &args),
        Command::Serve(args) => match args.how {
            serve::ServeCommand::Mcp(args) => serve::mcp(&App::load(environment, common)?, &args),
        },
        Command::Permissions(args) => permissions::permissions(&App::load(environment, common)?, &args),
        Command::Rules(args) => match args.command {
            rules::RulesCommand::Test { file, json } => {
                let app = App::load(environment, common)?;
                rules::test(app, &rules::TestFile { file, json })
            }
        },
        Command::Import(args) => match args.what {
            import::ImportCommand::ClaudeCode { write, from, json } => {
                let app = App::load(environment, common)?;
                import::claude_code(&app, &import::ImportFlags { write, from, json })
            }
            import::ImportCommand::Mcp { write, from, json } => {
                let app = App::load(environment, common)?;
                mcp_import::import(&app, &mcp_import::ImportFlags { write, from, json })
            }
        },
        Command::Mcp(args) => mcp::mcp(&App::load(environment, common)?, &args),
        Command::Trust(args) => trust::trust(&App::load(environment, common)?, &args),
        Command::Secret(args) => secret::secret(&App::load(environment, common)?, &args),
        Command::Log(args) => log::log(&App::load(environment, common)?, &args),
        Command::Undo(args) => undo::undo(&App::load(environment, common)?, &args),
        Command::Doctor(args) => doctor::doctor(&App::load(environment, common)?, &args),
        Command::Demo(args) => demo::demo(environment, common, &args),
    }
}

/// Runs asynchronous work to its end, on this thread: handing a call from thread to thread costs more than the
/// call path itself, and whatever takes time (files, processes) has threads of its own. A thread that still waits for the terminal is left behind.
///
/// # Errors
/// What the work answers, or that no threads can be started.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    // Clocks are looked at often: a command that prints without end must not make others' limits late.
    let runtime = tokio::runtime::Builder::new_current_thread().event_interval(16).enable_all().build()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// Ends the jobs of a session and says which go on without it, and how to end those.
pub(crate) async fn end_jobs(session: &Session) {
    for job in session.end_jobs().await {
        let id = job.id.as_deref().unwrap_or("a command");
        let how = job.pid.map(|pid| format!("; kill -9 {pid} ends it")).unwrap_or_default();
        print::note(&format!("{id} goes on{how}: {}", print::one_line(&job.line, JOB_MAX_CHARS)));
    }
}

/// The signals by which a user ends a command.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal has gone. It may be said twice, by the system and by a shell, and means no more then.
    hangup: Option<Signal>,
}

impl Interrupts {
    /// Starts listening; must be called within the tokio runtime, before what is to be interrupted starts.
    ///
    /// # Errors
    /// Whatever the system says.
    pub(crate) fn listen() -> io::Result<Self> {
        let hangup = if host::ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        let has_gone = tokio::select! {
            _ = self.interrupt.recv() => false,
            _ = self.terminate.recv() => false,
            () = received(self.hangup.as_mut()) => true,
        };
        if has_gone {
            self.hangup = None;
        }
    }

    /// Waits for a call to end; a signal cancels it, and its end is still waited for.
    pub(crate) async fn until_ended(&mut self, mut running: Running) -> Ended {
        let cancel = running.cancel.clone();
        loop {
            tokio::select! {
                biased;
                ended = &mut running => return ended,
                () = self.next() => cancel.fire(),
            }
        }
    }
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => pending().await,
    }
}
