//! One run of a command: its streams become a bounded result, its exit a success or a failure that says more
//! than a number.

use super::{
    CommandLine, CommandTool, OutputForm,
    events::EventReader,
    stderr::{Stderr, ends},
};
use haft_core::{
    Block, Cancel, Capture, Captured, Command, Cx, Exit, Failure, FailureKind, Output, Progress, Shape, Spec,
    Status, Stdio, StopReason, looks_barred,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The most JSON that one call may print.
const JSON_MAX_BYTES: usize = 16 * 1024 * 1024;
/// In place of an output, by what stands around a module: that it failed, how and of which kind.
const FAILED: &str = "haft:failed";
/// How much of a bad result is shown.
const SAMPLE_MAX_BYTES: usize = 200;

/// Runs the tool's command in its form.
pub(super) async fn run(tool: &CommandTool, input: &Value, cx: &Cx) -> Result<Output, Failure> {
    let command = tool.process(input, cx)?;
    match tool.output {
        OutputForm::Text => text(tool, command, cx).await,
        OutputForm::Json => json(tool, command, cx).await,
        OutputForm::Events => events(tool, command, cx).await,
    }
}

async fn text(tool: &CommandTool, command: Command, cx: &Cx) -> Result<Output, Failure> {
    let mut out = cx.sink.capture(Shape::HeadTail);
    let (exit, stderr) = start(command, cx, &cx.cancel, |bytes| out.push(bytes)).await?;
    let out = captured(out);
    match judge(tool, &exit, &stderr, &out.text) {
        Ok(()) => Ok(marked(stderr.under(out), &exit)),
        Err(failure) => Err(failed(failure, exit.reason, out, stderr)),
    }
}

async fn json(tool: &CommandTool, command: Command, cx: &Cx) -> Result<Output, Failure> {
    let mut out = cx.sink.capture(Shape::HeadTail);
    let mut bytes = Vec::new();
    let mut is_too_long = false;
    let stop = cx.cancel.child();
    let take = |piece: &[u8]| {
        out.push(piece);
        is_too_long |= bytes.len() + piece.len() > JSON_MAX_BYTES;
        if is_too_long {
            stop.fire();
        } else {
            bytes.extend_from_slice(piece);
        }
    };
    let (exit, stderr) = start(command, cx, &stop, take).await?;
    let out = captured(out);
    if is_too_long {
        let text =
            format!("\"{}\" printed more than 16 MiB of JSON — print less, or write a file", tool.spec.name);
        return Err(Failure::internal(text).with_partial(plain(out)));
    }
    if let Err(failure) = judge(tool, &exit, &stderr, &out.text) {
        return Err(failed(failure, exit.reason, out, stderr));
    }
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) => {
            let text = match &value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let mut output = Output { structured: Some(value), shape: Shape::HeadTail, ..Output::text(text) };
            output.content.extend(stderr.block());
            Ok(marked(output, &exit))
        }
        Err(error) => Err(Failure::internal(no_json(tool, &bytes, &error.to_string(), &stderr))),
    }
}

fn no_json(tool: &CommandTool, bytes: &[u8], error: &str, stderr: &Stderr) -> String {
    let name = &tool.spec.name;
    let what = if bytes.trim_ascii().is_empty() {
        format!("\"{name}\" printed nothing where its manifest promises JSON")
    } else {
        let sample = String::from_utf8_lossy(bytes.get(..SAMPLE_MAX_BYTES).unwrap_or(bytes));
        format!("\"{name}\" printed something that is not JSON ({error}); it begins with: {sample}")
    };
    format!("{what}{}\nPrint one JSON value to stdout and everything else to stderr.", stderr.section())
}

async fn events(tool: &CommandTool, command: Command, cx: &Cx) -> Result<Output, Failure> {
    let mut partial = cx.sink.capture(Shape::HeadTail);
    let mut reader = EventReader::new(&tool.spec.name);
    let stop = cx.cancel.child();
    let mut emit = |progress: Progress| {
        if let Progress::PartialOutput(text) = &progress {
            partial.push(text.as_bytes());
        }
        cx.sink.progress(progress);
    };
    let take = |bytes: &[u8]| {
        reader.push(bytes, &mut emit);
        if reader.is_broken() {
            stop.fire();
        }
    };
    let (exit, stderr) = start(command, cx, &stop, take).await?;
    let is_broken = reader.is_broken();
    let read = reader.finish(&mut emit);
    let partial = captured(partial);
    // A broken stream is the fault itself where it is why the command was stopped; else the exit says more.
    if let Err(failure) = judge(tool, &exit, &stderr, &partial.text)
        && (!is_broken || cx.cancel.is_fired())
    {
        return Err(failed(failure, exit.reason, partial, stderr));
    }
    match read {
        Ok(value) => {
            if let Some(failure) = thrown(tool, &value) {
                let partial = stderr.under(partial);
                return Err(if partial.joined_text().is_empty() {
                    failure
                } else {
                    failure.with_partial(partial)
                });
            }
            let mut output = final_output(value, &tool.spec);
            output.content.extend(stderr.block());
            Ok(marked(output, &exit))
        }
        Err(rule) => {
            let text = format!("{rule}{}", stderr.section());
            Err(Failure::internal(text).with_partial(plain(partial)))
        }
    }
}

/// Runs the process, stdout to `take`.
async fn start(
    command: Command,
    cx: &Cx,
    stop: &Cancel,
    mut take: impl FnMut(&[u8]) + Send,
) -> Result<(Exit, Stderr), Failure> {
    let mut stderr = Stderr::new(cx);
    let mut output = |from: Stdio, bytes: &[u8]| match from {
        Stdio::Out => take(bytes),
        Stdio::Err => stderr.push(bytes),
    };
    let exit = cx.world.processes.run(command, stop, &mut output).await?;
    if exit.survivor_count > 0 {
        cx.warn(format!("{} processes that it left behind were stopped", exit.survivor_count));
    }
    if let Some(confined) = exit.confined.as_ref().filter(|confined| !confined.is_whole()) {
        cx.warn(format!("the sandbox isn't whole: {}", confined.gaps.join("; ")));
    }
    for notice in exit.confined.iter().flat_map(|confined| &confined.noticed) {
        cx.warn(notice.clone());
    }
    Ok((exit, stderr.finish()))
}

/// The result with what it was kept in by, for people and programs.
fn marked(output: Output, exit: &Exit) -> Output {
    match &exit.confined {
        Some(confined) => output.with_metadata(json!({"sandbox": confined})),
        None => output,
    }
}

/// Whether the command came to its own good end; `out` is what it printed.
fn judge(tool: &CommandTool, exit: &Exit, stderr: &Stderr, out: &str) -> Result<(), Failure> {
    match exit.reason {
        StopReason::Cancelled => return Err(Failure::cancelled()),
        StopReason::Deadline => return Err(Failure::new(FailureKind::Timeout, "its time ran out")),
        StopReason::Itself => {}
    }
    let how = match exit.status {
        Status::Code(0) => return Ok(()),
        Status::Code(code) => format!("exited with code {code}"),
        Status::Signal(signal) => format!("was killed by signal {signal}"),
    };
    let hint = match exit.status {
        Status::Code(127) => "A program it needs isn't there: install it, or call it by its full path.",
        Status::Code(126) => "A program can't be executed: `chmod +x` it and look at its first line.",
        Status::Signal(9) => "The system may have run out of memory, or somebody stopped it.",
        _ => "Change the input if the message says so; else the fault is in the tool itself.",
    };
    let (name, tail) = (&tool.spec.name, stderr.tail_section());
    let is_barred = exit.confined.is_some() && (looks_barred(&tail) || looks_barred(out));
    let barred = if is_barred { barred(tool) } else { String::new() };
    Err(Failure::internal(format!("\"{name}\" {how}{tail}\n{hint}{barred}"))
        .diagnose(format!("{} ran `{}` in {}", tool.path, tool.command, tool.folder)))
}

/// What to say where it looks as if the sandbox had stopped it.
fn barred(tool: &CommandTool) -> String {
    format!(
        "\nIt ran in a sandbox that goes by its manifest. If that is why it failed: what it changes and reaches is \
         said in {} by \"capabilities\" (\"fs.write\", \"net.outbound\") or \"sandbox\", or the user lets it out \
         by [tools.{}] sandbox = \"off\" in the settings.",
        tool.path, tool.spec.name
    )
}

/// Keeps what there was. The failure of an exit has the end of stderr in its text already.
fn failed(failure: Failure, reason: StopReason, out: Captured, stderr: Stderr) -> Failure {
    let partial =
        if reason == StopReason::Itself && stderr.is_in_tail() { plain(out) } else { stderr.under(out) };
    if partial.joined_text().is_empty() { failure } else { failure.with_partial(partial) }
}

fn captured(capture: Box<dyn Capture>) -> Captured {
    let mut captured = capture.finish();
    captured.text.truncate(captured.text.len() - ends(&captured.text));
    captured
}

fn plain(captured: Captured) -> Output {
    Output { shape: Shape::HeadTail, truncation: captured.truncation, ..Output::text(captured.text) }
}

/// What the module of a tool threw, as what stands around it says.
fn thrown(tool: &CommandTool, output: &Value) -> Option<Failure> {
    let CommandLine::Module(_) = tool.command else { return None };
    let said = output.get(FAILED)?;
    let kind = serde_json::from_value(said.get("kind")?.clone()).unwrap_or(FailureKind::Internal);
    Some(Failure::new(kind, said.get("text")?.as_str()?))
}

/// What a final event's output stands for.
fn final_output(value: Value, spec: &Spec) -> Output {
    if let Value::String(text) = &value {
        let text = text.clone();
        return Output { structured: spec.output_schema.is_some().then_some(value), ..Output::text(text) };
    }
    if let Some(content) = blocks(&value) {
        return Output { content, ..Output::default() };
    }
    let text = value.to_string();
    Output { structured: Some(value), ..Output::text(text) }
}

fn blocks(value: &Value) -> Option<Vec<Block>> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    Vec::deserialize(object.get("content")?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;
    use haft_core::AnyTool;
    use std::sync::Arc;

    fn tool(output: OutputForm) -> CommandTool {
        CommandTool {
            spec: Arc::new(Spec::new("x", "d")),
            command: CommandLine::Argv(vec!["./x.sh".into()]),
            output,
            folder: haft_core::RealPath::new("/w", "t/x"),
            merged: false,
            hash: "h".into(),
            path: "t/x/tool.json".into(),
            name_line: 2,
            entries: Arc::from([]),
        }
    }

    async fn ran(output: OutputForm, process: fake::Process) -> Result<Output, Failure> {
        let cx = fake::cx(process);
        Arc::new(tool(output)).bind(Arc::new(json!({"a": 1}))).unwrap().run(cx).await
    }

    fn partial(failure: &Failure) -> String {
        failure.partial.as_ref().map(|output| output.joined_text()).unwrap_or_default()
    }

    #[tokio::test]
    async fn stdout_is_the_result_and_stderr_follows_under_its_heading() {
        let cases = [
            ("out\n", "", "out"),
            ("out\n", "careful\n", "out\n[stderr]\ncareful"),
            ("", "e", "[stderr]\ne"),
        ];
        for (out, err, text) in cases {
            let output = ran(OutputForm::Text, fake::Process::exits(0).out(out).err(err)).await.unwrap();
            assert_eq!(output.joined_text(), text);
        }
    }

    #[tokio::test]
    async fn the_process_gets_input_and_place() {
        let process = fake::Process::exits(0);
        let seen = process.seen.clone();
        ran(OutputForm::Text, process).await.unwrap();
        let command = seen.lock().unwrap().take().unwrap();
        assert_eq!(command.argv, ["/w/t/x/x.sh"]);
        assert_eq!(command.cwd.absolute(), "/w/t/x");
        assert_eq!(command.stdin, b"{\"a\":1}");
        let wanted = [("HAFT_WORKSPACE", "/w"), ("HAFT_CALL_ID", "3"), ("HAFT_SESSION", "s")];
        for (name, value) in wanted {
            assert!(command.env.contains(&(name.to_owned(), value.to_owned())), "{name}");
        }
        assert!(command.deadline.is_none() && !command.merged);
    }

    #[tokio::test]
    async fn an_exit_says_its_code_and_stderr_and_keeps_the_output() {
        let failure =
            ran(OutputForm::Text, fake::Process::exits(3).out("half").err("bad input\n")).await.unwrap_err();
        assert!(
            failure.text.starts_with("\"x\" exited with code 3\n[stderr]\nbad input\n"),
            "{}",
            failure.text
        );
        assert_eq!((failure.kind, partial(&failure).as_str()), (FailureKind::Internal, "half"));
        let failure = ran(OutputForm::Events, fake::Process::signalled(9).err("x")).await.unwrap_err();
        assert!(failure.text.contains("killed by signal 9") && failure.text.contains("memory"));
    }

    #[tokio::test]
    async fn a_result_says_what_it_was_kept_in_by_and_a_failure_what_would_open_it() {
        for form in [OutputForm::Text, OutputForm::Json, OutputForm::Events] {
            let out = if form == OutputForm::Events { "{\"type\":\"final\",\"output\":1}\n" } else { "1" };
            let process = fake::Process::exits(0).out(out);
            assert_eq!(ran(form, process.clone()).await.unwrap().metadata, None);
            let kept = ran(form, process.confined(&["the network can be reached"])).await.unwrap();
            let expected =
                json!({"sandbox": {"layers": ["landlock"], "gaps": ["the network can be reached"]}});
            assert_eq!(kept.metadata, Some(expected));
        }
        let barred = || fake::Process::exits(1).err("touch: cannot touch 'x': Read-only file system\n");
        let failure = ran(OutputForm::Text, barred().confined(&[])).await.unwrap_err();
        assert!(failure.text.contains("t/x/tool.json by \"capabilities\""), "{}", failure.text);
        assert!(failure.text.contains("[tools.x] sandbox = \"off\""), "{}", failure.text);
        for other in [barred(), fake::Process::exits(1).err("no such account\n").confined(&[])] {
            let failure = ran(OutputForm::Text, other).await.unwrap_err();
            assert!(!failure.text.contains("sandbox"), "{}", failure.text);
        }
    }

    #[tokio::test]
    async fn a_cancelled_command_keeps_what_it_had_said() {
        let event = "{\"type\":\"partial_output\",\"text\":\"half\"}\n";
        for (form, out) in
            [(OutputForm::Text, "half"), (OutputForm::Json, "half"), (OutputForm::Events, event)]
        {
            let failure = ran(form, fake::Process::cancelled().out(out).err("e")).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Cancelled);
            assert_eq!(partial(&failure), "half\n[stderr]\ne");
        }
    }

    #[tokio::test]
    async fn json_is_parsed_or_shown() {
        let output =
            ran(OutputForm::Json, fake::Process::exits(0).out("{\"n\":\n1}").err("note")).await.unwrap();
        assert_eq!(output.structured, Some(json!({"n": 1})));
        assert_eq!(output.content, [Block::text("{\"n\":1}"), Block::text("[stderr]\nnote")]);
        let failure =
            ran(OutputForm::Json, fake::Process::exits(0).out("Traceback").err("why")).await.unwrap_err();
        assert!(failure.text.contains("begins with: Traceback\n[stderr]\nwhy"), "{}", failure.text);
        let failure = ran(OutputForm::Json, fake::Process::exits(0)).await.unwrap_err();
        assert!(failure.text.contains("printed nothing"));
        let long = "9".repeat(JSON_MAX_BYTES + 1);
        let failure = ran(OutputForm::Json, fake::Process::exits(0).out(&long)).await.unwrap_err();
        assert!(failure.text.contains("more than 16 MiB"));
    }

    #[tokio::test]
    async fn a_final_event_gives_the_output() {
        let cases = [
            ("\"t\"", vec![Block::text("t")], None),
            ("{\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}", vec![Block::text("b")], None),
            ("{\"n\":1}", vec![Block::text("{\"n\":1}")], Some(json!({"n": 1}))),
        ];
        for (output, content, structured) in cases {
            let line = format!("{{\"type\":\"final\",\"output\":{output}}}\n");
            let output = ran(OutputForm::Events, fake::Process::exits(0).out(&line)).await.unwrap();
            assert_eq!((output.content, output.structured), (content, structured));
        }
    }

    #[tokio::test]
    async fn a_broken_stream_names_the_rule() {
        let failure = ran(OutputForm::Events, fake::Process::exits(0).err("oops")).await.unwrap_err();
        assert!(failure.text.contains("without a final event") && failure.text.contains("oops"));
        let failure = ran(OutputForm::Events, fake::Process::exits(0).out("hello\n")).await.unwrap_err();
        assert!(failure.text.contains("is not JSON: hello"));
        let failure = ran(OutputForm::Events, fake::Process::exits(7).out("")).await.unwrap_err();
        assert!(failure.text.contains("exited with code 7"));
    }
}
