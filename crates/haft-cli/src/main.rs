//! The binary `haft`: commands and terminal views. It wires everything and decides nothing.
//!
//! `cli` defines the command line, `app` finds what holds in a workspace, each command is a file of `command`.

mod app;
mod cli;
mod command;
mod print;
mod status;
mod terminal;
mod trouble;
mod words;

use clap::Parser;
use haft_os::Environment;
use status::Status;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Where this program was started again, to read a document, to hold a sandbox or to run a script, it does that
    // and ends.
    haft_os::serve_child();
    haft_script::child_main(haft_script::ChildWorld {
        close_off: haft_os::close_off,
        random: haft_os::host::random,
        has_input: haft_os::standard::has_input,
    });
    // First of all, while there is one thread: takes what isn't meant for children out of sight.
    let environment = Environment::take_at_start();
    let status = match cli::Cli::try_parse() {
        Ok(cli) => command::dispatch(cli, environment).unwrap_or_else(|error| trouble::report(&error)),
        Err(shown) => {
            let printed = shown.print();
            if shown.use_stderr() {
                Status::Usage
            } else {
                print::written(printed);
                Status::Completed
            }
        }
    };
    match print::fault() {
        Some(why) => trouble::output_lost(why, status),
        None => status,
    }
    .into()
}
