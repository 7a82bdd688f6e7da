//! The JavaScript engine of one child: it runs one script, or one module, and what stands around it.

use super::{
    AROUND_MODULES, AROUND_SCRIPTS,
    intake::{Incoming, Intake},
    line,
    modules::ModuleFiles,
    place::Places,
    strip, url,
};
use crate::wire::{Bounds, Fault, Order, SourceFile};
use haft_core::Failure;
use rquickjs::{
    Context, Ctx, Function, Module, Object, Persistent, Runtime, Value, context::EvalOptions,
    runtime::RejectionTracker,
};
use serde_json::json;
use std::{
    cell::{Cell, RefCell},
    fmt::Write as _,
    iter,
    rc::Rc,
    time::{Duration, Instant},
};

/// Names in stacks that lead to no line of a script.
const PRELUDE_NAME: &str = "haft:prelude";
const MODULES_NAME: &str = "haft:modules";
/// Longer files are stripped by each child again.
const STRIPPED_MAX_BYTES: usize = 4 << 20;
/// How deep the engine's own calls may go; its thread has more.
const STACK_MAX_BYTES: usize = 8 << 20;
/// Bytes of a mebibyte.
const MIB: usize = 1 << 20;
/// What a source has in it that may throw null by itself, as the engine does where it has no memory for an error.
const THROWS_NULL: [&str; 2] = ["throw null", "(null"];

/// Gives random bytes.
pub(super) type Random = fn() -> Result<[u8; 32], Failure>;

/// The engine.
pub(super) struct Engine {
    runtime: Runtime,
    context: Context,
    kit: Kit,
    around: Around,
    intake: Rc<Intake>,
    memory_bytes: usize,
}

/// What the prelude is told of by what stands around it.
#[derive(Clone)]
struct Around {
    places: Rc<RefCell<Places>>,
    /// Whether the source may throw null by itself.
    throws_null: Rc<Cell<bool>>,
    /// What is said where the memory ran out.
    no_memory: Rc<str>,
    random: Random,
}

impl Around {
    /// Says that there was no memory for it; needs none of the engine's.
    fn say_spent(&self, id: i32) {
        let fault = json!({"text": &*self.no_memory});
        line::say(json!({"say": "failed", "id": id, "fault": fault}).to_string());
    }

    fn reads<'a>(&self, mut texts: impl Iterator<Item = &'a str>) {
        let throws_null = texts.any(|text| THROWS_NULL.iter().any(|part| text.contains(part)));
        self.throws_null.set(throws_null);
    }
}

type Held = Persistent<Function<'static>>;

/// The functions of the prelude.
struct Kit {
    receive: Held,
    tick: Held,
    waits: Held,
    stuck: Held,
    stopped: Held,
    settle: Held,
    script: Held,
    failed: Held,
    /// Hears of promises that were rejected while nobody waited for them, and of those that somebody does after all.
    rejected: Held,
    /// Takes a module over, once it has begun.
    loaded: Held,
}

impl Engine {
    /// An engine with the prelude loaded.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn new(memory_bytes: usize, intake: Intake, random: Random) -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(memory_bytes);
        runtime.set_max_stack_size(STACK_MAX_BYTES);
        let intake = Rc::new(intake);
        let looking = Rc::clone(&intake);
        runtime.set_interrupt_handler(Some(Box::new(move || looking.is_stop_due())));
        let context = Context::full(&runtime)?;
        let no_memory =
            format!("out of memory ({} MiB are the most): keep less at a time", memory_bytes.div_euclid(MIB));
        let around =
            Around { places: Rc::default(), throws_null: Rc::default(), no_memory: no_memory.into(), random };
        let kit = context.with(|ctx| Kit::load(&ctx, &around))?;
        let rejected = kit.rejected.clone();
        let tracker: RejectionTracker = Box::new(move |ctx, promise, reason, is_handled| {
            if call(&ctx, &rejected, (promise, reason, is_handled)).is_err() {
                drop(ctx.catch());
            }
        });
        runtime.set_host_promise_rejection_tracker(Some(tracker));
        Ok(Self { runtime, context, kit, around, intake, memory_bytes })
    }

    /// Does what it is told until it is to stop.
    pub(super) fn serve(&self) {
        loop {
            self.run_jobs();
            if self.intake.was_stop_asked() {
                self.tell(&self.kit.stopped);
                return;
            }
            let wait = self.number(&self.kit.tick);
            if wait == 0 {
                continue;
            }
            if wait < 0 && self.number(&self.kit.waits) == 0 && self.stuck() {
                continue;
            }
            let next = match u64::try_from(wait) {
                Ok(ms) => self.intake.wait_for(Duration::from_millis(ms)),
                Err(_) => Some(self.intake.wait()),
            };
            if let Some(incoming) = next {
                self.take(incoming);
            }
        }
    }

    fn take(&self, incoming: Incoming) {
        match incoming {
            Incoming::Raw(line) => self.context.with(|ctx| {
                let order = ctx.json_parse(line);
                let done = order.and_then(|order| call(&ctx, &self.kit.receive, (order,)));
                self.report(&ctx, done);
            }),
            Incoming::Order(order) => match *order {
                Order::Run { file, bounds } => self.run(&file, bounds),
                Order::Save { file } => match strip::returning(&file) {
                    Ok(text) => {
                        line::say(json!({"say": "done", "id": 0, "value": text}).to_string());
                    }
                    Err(fault) => self.refuse(&fault),
                },
                order @ Order::Load { .. } => self.load(order),
                // The others are the prelude's, and a stop is seen before the next turn.
                _ => {}
            },
        }
    }

    fn run(&self, file: &SourceFile, bounds: Bounds) {
        let stripped = match strip::script(file) {
            Ok(stripped) => stripped,
            Err(fault) => return self.refuse(&fault),
        };
        self.around.places.borrow_mut().add(&file.path, stripped.map);
        self.around.reads(iter::once(file.text.as_str()));
        self.context.with(|ctx| {
            let done = self.start(&ctx, stripped.code, (&file.path, bounds));
            self.report(&ctx, done);
        });
    }

    fn start<'js>(
        &self,
        ctx: &Ctx<'js>,
        code: String,
        (name, bounds): (&str, Bounds),
    ) -> rquickjs::Result<()> {
        let function: Function<'js> = ctx.eval_with_options(code, named(name))?;
        let bounds = ctx.json_parse(json!(bounds).to_string())?;
        call(ctx, &self.kit.script, (function, bounds))
    }

    /// Loads the module that an order is about.
    fn load(&self, order: Order) {
        let Order::Load { files, stripped, entry, form, about, bounds } = order else { return };
        let texts = files.iter().map(|file| file.text.as_str());
        self.around.reads(texts.chain(stripped.iter().map(|file| file.code.as_str())));
        let modules = ModuleFiles::new(files, stripped, Rc::clone(&self.around.places));
        let code = match modules.code(&entry) {
            Ok(Some(code)) => code,
            Ok(None) => {
                let text = format!("there is no file {entry}");
                return self.refuse(&Fault { text, ..Fault::default() });
            }
            Err(fault) => return self.refuse(&fault),
        };
        self.runtime.set_loader(modules.clone(), modules.clone());
        let told = json!({"form": form, "about": about, "bounds": bounds}).to_string();
        self.context.with(|ctx| {
            let done = self.begin(&ctx, (&entry, code), told);
            match modules.fault() {
                Some(fault) if done.is_err() => {
                    drop(ctx.catch());
                    self.refuse_in(&ctx, &fault);
                }
                _ => self.report(&ctx, done),
            }
        });
        // Before it is said that the module was loaded, for which a job is still to run.
        let files = modules.made();
        let made = json!({"say": "stripped", "files": files}).to_string();
        if !files.is_empty() && made.len() <= STRIPPED_MAX_BYTES {
            line::say(made);
        }
    }

    fn begin(&self, ctx: &Ctx<'_>, (entry, code): (&str, String), told: String) -> rquickjs::Result<()> {
        let (module, promise) = Module::declare(ctx.clone(), entry, code)?.eval()?;
        let namespace = module.namespace()?;
        call(ctx, &self.kit.loaded, (promise, namespace, told))
    }

    /// Runs what waits for its turn: the parts of the script behind each `await`.
    fn run_jobs(&self) {
        loop {
            match self.runtime.execute_pending_job() {
                Ok(true) if !self.intake.was_stop_asked() => {}
                Ok(_) => return,
                Err(exception) => {
                    exception.0.with(|ctx| self.report(&ctx, Err(rquickjs::Error::Exception)));
                    return;
                }
            }
        }
    }

    /// Says that there was an error, in the words of the script's own failures.
    fn report(&self, ctx: &Ctx<'_>, done: rquickjs::Result<()>) {
        let Err(error) = done else { return };
        let thrown = if error.is_exception() {
            Ok(ctx.catch())
        } else {
            rquickjs::String::from_str(ctx.clone(), &error.to_string()).map(rquickjs::String::into_value)
        };
        let said = thrown.and_then(|thrown| call(ctx, &self.kit.failed, (0, thrown)));
        if said.is_err() {
            drop(ctx.catch());
            self.around.say_spent(0);
        }
    }

    /// A script that can't even be read.
    fn refuse(&self, fault: &Fault) {
        self.context.with(|ctx| self.refuse_in(&ctx, fault));
    }

    fn refuse_in(&self, ctx: &Ctx<'_>, fault: &Fault) {
        line::say(json!({"say": "failed", "id": 0, "fault": fault}).to_string());
        let done = call(ctx, &self.kit.settle, ());
        self.report(ctx, done);
    }

    /// Nothing more will happen, and something waits. Where much of the memory is used, what was waited for was lost for
    /// want of it. Whether to look again.
    fn stuck(&self) -> bool {
        let used = usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or(0);
        let is_spent = used > self.memory_bytes.div_euclid(2);
        self.context.with(|ctx| {
            let stuck = self.kit.stuck.clone().restore(&ctx);
            let said = stuck.and_then(|stuck| stuck.call::<_, bool>((is_spent,)));
            let again = *said.as_ref().unwrap_or(&false);
            self.report(&ctx, said.map(|_| ()));
            again
        })
    }

    fn tell(&self, function: &Held) {
        self.context.with(|ctx| {
            let done = call(&ctx, function, ());
            self.report(&ctx, done);
        });
    }

    fn number(&self, function: &Held) -> i32 {
        self.context.with(|ctx| {
            let number = function.clone().restore(&ctx).and_then(|function| function.call::<_, i32>(()));
            if number.is_err() {
                drop(ctx.catch());
            }
            number.unwrap_or(-1)
        })
    }
}

impl Kit {
    fn load<'js>(ctx: &Ctx<'js>, around: &Around) -> rquickjs::Result<Self> {
        let native = native(ctx, around)?;
        let prelude: Function<'js> = ctx.eval_with_options(AROUND_SCRIPTS, named(PRELUDE_NAME))?;
        let made: Object<'js> = prelude.call((native,))?;
        // While the child waits for its work, and before anything of a stranger's runs.
        let modules: Function<'js> = ctx.eval_with_options(AROUND_MODULES, named(MODULES_NAME))?;
        let around: Object<'js> = modules.call((made.get::<_, Object<'js>>("kit")?,))?;
        let held = |name: &str| {
            let function: Function<'js> = made.get(name)?;
            Ok::<_, rquickjs::Error>(Persistent::save(ctx, function))
        };
        Ok(Self {
            receive: held("receive")?,
            tick: held("tick")?,
            waits: held("waits")?,
            stuck: held("stuck")?,
            stopped: held("stopped")?,
            settle: held("settle")?,
            script: held("script")?,
            failed: held("failed")?,
            rejected: held("rejected")?,
            loaded: Persistent::save(ctx, around.get::<_, Function<'js>>("loaded")?),
        })
    }
}

fn call<'js, A>(ctx: &Ctx<'js>, function: &Held, args: A) -> rquickjs::Result<()>
where
    A: rquickjs::function::IntoArgs<'js>,
{
    let function = function.clone().restore(ctx)?;
    function.call::<_, Value<'js>>(args).map(drop)
}

/// All that the prelude can do beyond the language.
fn native<'js>(ctx: &Ctx<'js>, around: &Around) -> rquickjs::Result<Object<'js>> {
    let Around { places, throws_null, no_memory, random } = around.clone();
    let native = Object::new(ctx.clone())?;
    let began = Instant::now();
    native.set("send", Function::new(ctx.clone(), line::offer)?)?;
    native.set("now", Function::new(ctx.clone(), move || began.elapsed().as_secs_f64() * 1_000.0)?)?;
    native.set("random", Function::new(ctx.clone(), move || hex(random))?)?;
    let parts = |href: String, part: String, value: String| url::parts(&href, &part, &value);
    native.set("url", Function::new(ctx.clone(), parts)?)?;
    let place = move |stack: String| match places.borrow().of_stack(&stack) {
        Some(place) => json!(place).to_string(),
        None => "null".to_owned(),
    };
    native.set("where", Function::new(ctx.clone(), place)?)?;
    native.set("memory", &*no_memory)?;
    native.set("throwsNull", Function::new(ctx.clone(), move || throws_null.get())?)?;
    let spent = around.clone();
    native.set("spent", Function::new(ctx.clone(), move |id: i32| spent.say_spent(id))?)?;
    Ok(native)
}

fn hex(random: Random) -> String {
    let mut text = String::with_capacity(64);
    // Without random numbers there are none that look like some.
    for byte in random().unwrap_or_default() {
        // Writing to a text can't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn named(name: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.filename = Some(name.to_owned());
    options
}
