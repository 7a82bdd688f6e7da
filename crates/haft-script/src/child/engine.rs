//! The JavaScript engine of one child: it runs one script, or one module, and what stands around it.

use super::{
    AROUND_MODULES, AROUND_SCRIPTS,
    line::{self, Incoming, Stopper},
    modules::ModuleFiles,
    place::Places,
    strip, url,
};
use crate::wire::{Bounds, Fault, Order, SourceFile};
use haft_core::Failure;
use rquickjs::{Context, Ctx, Function, Module, Object, Persistent, Runtime, Value, context::EvalOptions};
use serde_json::json;
use std::{
    cell::RefCell,
    fmt::Write as _,
    rc::Rc,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

/// Names in stacks that lead to no line of a script.
const PRELUDE_NAME: &str = "haft:prelude";
const MODULES_NAME: &str = "haft:modules";
/// Longer files are stripped by each child again.
const STRIPPED_MAX_BYTES: usize = 4 << 20;
/// How deep the engine's own calls may go; its thread has more.
const STACK_MAX_BYTES: usize = 8 << 20;
/// What is said where not even a failure can be put together.
const NO_MEMORY: &str = r#"{"say":"failed","id":0,"fault":{"name":"InternalError","text":"out of memory"}}"#;

/// Gives random bytes.
pub(super) type Random = fn() -> Result<[u8; 32], Failure>;

/// The engine.
pub(super) struct Engine {
    runtime: Runtime,
    context: Context,
    kit: Kit,
    places: Rc<RefCell<Places>>,
    stopper: Stopper,
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
    /// Takes a module over, once it has begun.
    loaded: Held,
}

impl Engine {
    /// An engine with the prelude loaded.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn new(memory_bytes: usize, stopper: &Stopper, random: Random) -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(memory_bytes);
        runtime.set_max_stack_size(STACK_MAX_BYTES);
        let due = stopper.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || due.is_due())));
        let context = Context::full(&runtime)?;
        let places = Rc::new(RefCell::new(Places::default()));
        let kit = context.with(|ctx| Kit::load(&ctx, &places, random))?;
        Ok(Self { runtime, context, kit, places, stopper: stopper.clone() })
    }

    /// Does what it is told until nothing more is said.
    pub(super) fn serve(&self, orders: &Receiver<Incoming>) {
        loop {
            self.run_jobs();
            if self.stopper.was_asked() {
                self.tell(&self.kit.stopped);
                return;
            }
            let wait = self.number(&self.kit.tick);
            if wait == 0 {
                continue;
            }
            if wait < 0 && self.number(&self.kit.waits) == 0 {
                self.tell(&self.kit.stuck);
            }
            let next = match u64::try_from(wait) {
                Ok(ms) => orders.recv_timeout(Duration::from_millis(ms)),
                Err(_) => orders.recv().map_err(RecvTimeoutError::from),
            };
            match next {
                Ok(incoming) => self.take(incoming),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&self, incoming: Incoming) {
        match incoming {
            Incoming::Raw(text) => self.context.with(|ctx| {
                let done = call(&ctx, &self.kit.receive, (text,));
                self.report(&ctx, done);
            }),
            Incoming::Order(order) => match *order {
                Order::Run { file, bounds } => self.run(&file, bounds),
                Order::Save { file } => match strip::returning(&file) {
                    Ok(text) => line::say(&json!({"say": "done", "id": 0, "value": text}).to_string()),
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
        self.places.borrow_mut().add(&file.path, stripped.map);
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
        let modules = ModuleFiles::new(files, stripped, Rc::clone(&self.places));
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
            line::say(&made);
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
                Ok(true) if !self.stopper.was_asked() => {}
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
            line::say(NO_MEMORY);
        }
    }

    /// A script that can't even be read.
    fn refuse(&self, fault: &Fault) {
        self.context.with(|ctx| self.refuse_in(&ctx, fault));
    }

    fn refuse_in(&self, ctx: &Ctx<'_>, fault: &Fault) {
        line::say(&json!({"say": "failed", "id": 0, "fault": fault}).to_string());
        let done = call(ctx, &self.kit.settle, ());
        self.report(ctx, done);
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
    fn load<'js>(ctx: &Ctx<'js>, places: &Rc<RefCell<Places>>, random: Random) -> rquickjs::Result<Self> {
        let native = native(ctx, Rc::clone(places), random)?;
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
fn native<'js>(ctx: &Ctx<'js>, places: Rc<RefCell<Places>>, random: Random) -> rquickjs::Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    let began = Instant::now();
    native.set("send", Function::new(ctx.clone(), |text: String| line::say(&text))?)?;
    native.set("now", Function::new(ctx.clone(), move || began.elapsed().as_secs_f64() * 1_000.0)?)?;
    native.set("random", Function::new(ctx.clone(), move || hex(random))?)?;
    let parts = |href: String, part: String, value: String| url::parts(&href, &part, &value);
    native.set("url", Function::new(ctx.clone(), parts)?)?;
    let place = move |stack: String| match places.borrow().of_stack(&stack) {
        Some(place) => json!(place).to_string(),
        None => "null".to_owned(),
    };
    native.set("where", Function::new(ctx.clone(), place)?)?;
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
