//! What the child does: it closes itself off, and then runs one script.
//!
//! The child is this very program, started again by [`crate::Engine`]; its standard streams are its only way out. What
//! it reads, parses and runs was written by strangers, so that all of it happens here: an abort, a memory bomb or an
//! overflow of the stack ends the child and nothing else. The script itself has no way to print: lines are put together
//! around it, and what it logs is a text in them.

mod engine;
mod imports;
mod intake;
mod line;
mod modules;
mod place;
mod strip;
mod url;

use haft_core::{Confined, Failure};
use serde_json::json;
use std::{thread, time::Duration};

/// The variable that makes a program the child, and says how many bytes of memory a script may use.
pub(crate) const ENGINE: &str = "HAFT_SCRIPT_ENGINE";
/// What stands around every script: one function, whose body these files are in turn.
pub(crate) const AROUND_SCRIPTS: &str = concat!(
    "(function (native) {\n",
    include_str!("prelude/language.js"),
    include_str!("prelude/messages.js"),
    include_str!("prelude/unheard.js"),
    include_str!("prelude/console.js"),
    include_str!("prelude/timers.js"),
    include_str!("prelude/ask.js"),
    include_str!("prelude/abort.js"),
    include_str!("prelude/text.js"),
    include_str!("prelude/clone.js"),
    include_str!("prelude/url.js"),
    include_str!("prelude/random.js"),
    include_str!("prelude/globals.js"),
    include_str!("prelude/script.js"),
    include_str!("prelude/orders.js"),
    "})\n",
);
/// What stands around modules besides.
pub(crate) const AROUND_MODULES: &str = include_str!("modules.js");
/// The parser recurses, and so does what the engine calls by itself.
const STACK_BYTES: usize = 64 << 20;
/// Its exit where it couldn't begin.
const NO_START: i32 = 4;
/// Its exit where it failed by a fault of its own.
const OWN_FAULT: i32 = 5;

/// What the child needs of the operating system, handed in by the program since this crate doesn't touch it.
#[derive(Debug, Clone, Copy)]
pub struct ChildWorld {
    /// Closes the process off from everything but its open pipes; given is the memory that a script may use.
    pub close_off: fn(u64) -> Confined,
    /// Gives random bytes.
    pub random: fn() -> Result<[u8; 32], Failure>,
    /// Waits, at most so long, until standard input has something to be read or has ended; whether it does.
    pub has_input: fn(Duration) -> bool,
}

/// Does a child's work and ends the process, where it was started for that; else does nothing.
///
/// To be called first of all in `main`, while there is one thread.
pub fn child_main(world: ChildWorld) {
    let Some(memory) = std::env::var(ENGINE).ok().and_then(|memory| memory.parse::<u64>().ok()) else {
        return;
    };
    let confined = (world.close_off)(memory);
    // Where the engine fails, nothing is left to be waited for.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        std::process::exit(OWN_FAULT);
    }));
    let work = move || serve(memory, &confined, world);
    let Ok(working) = thread::Builder::new().stack_size(STACK_BYTES).spawn(work) else {
        std::process::exit(NO_START)
    };
    // It ends the process by itself.
    drop(working.join());
    std::process::exit(OWN_FAULT)
}

fn serve(memory: u64, confined: &Confined, world: ChildWorld) {
    let memory = usize::try_from(memory).unwrap_or(usize::MAX);
    let intake = intake::Intake::new(world.has_input);
    let Ok(engine) = engine::Engine::new(memory, intake, world.random) else { std::process::exit(NO_START) };
    line::say(json!({"say": "ready", "gaps": confined.gaps}).to_string());
    engine.serve();
    // Without tearing anything down: the system does.
    std::process::exit(0);
}
