//! The files of a module: what an import leads to, stripped when it is read.
//!
//! There is nothing but the module's own folder. A package that is named gives no more than the wrappers that tool
//! authors write around their definitions, which change nothing.

use super::{
    imports,
    place::{PlaceMap, Places},
    strip,
};
use crate::{
    endings::{bare, ways},
    wire::{Fault, SourceFile, StrippedFile},
};
use rquickjs::{
    Ctx, Error, Module, Result,
    loader::{ImportAttributes, Loader, Resolver},
    module::Declared,
};
use std::{cell::RefCell, rc::Rc};

/// What a package's name leads to.
const SHAPES: &str = "haft:shapes";
const SHAPES_CODE: &str = "export const tool = (definition) => definition;\nexport const buildTool = tool, defineTool = tool, \
                           defineExtension = tool;\nexport default tool;\n";
/// Around a file in the older form of modules, on its first line so that lines stay.
const OLDER_BEFORE: &str = "const module = { exports: {} }; let exports = module.exports; const require = (name) => { throw new \
                            Error(`there is no package ${name} here; use import for files of the module`); }; ";
const OLDER_AFTER: &str = "\nexport default module.exports;\n";

/// The files that there are.
#[derive(Clone)]
pub(super) struct ModuleFiles {
    files: Rc<Vec<SourceFile>>,
    /// What another child has stripped.
    stripped: Rc<Vec<StrippedFile>>,
    /// What this one did.
    made: Rc<RefCell<Vec<StrippedFile>>>,
    places: Rc<RefCell<Places>>,
    /// The first of what can't be read.
    fault: Rc<RefCell<Option<Fault>>>,
}

impl ModuleFiles {
    pub(super) fn new(
        files: Vec<SourceFile>,
        stripped: Vec<StrippedFile>,
        places: Rc<RefCell<Places>>,
    ) -> Self {
        let (files, stripped) = (Rc::new(files), Rc::new(stripped));
        Self { files, stripped, made: Rc::default(), places, fault: Rc::default() }
    }

    /// What is wrong with a file that was imported.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault.borrow_mut().take()
    }

    /// What was stripped since the last look.
    pub(super) fn made(&self) -> Vec<StrippedFile> {
        self.made.take()
    }

    /// What the engine runs of a file; none where there is no such file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn code(&self, path: &str) -> std::result::Result<Option<String>, Fault> {
        if let Some(known) = self.stripped.iter().find(|file| file.path == path) {
            self.places.borrow_mut().add(path, PlaceMap::of_numbers(&known.places));
            return Ok(Some(known.code.clone()));
        }
        let Some(file) = self.files.iter().find(|file| file.path == path) else { return Ok(None) };
        if has_ending(path, "json") {
            return Ok(Some(format!("export default {};", file.text)));
        }
        let stripped = strip::module(file)?;
        let places = stripped.map.numbers();
        self.places.borrow_mut().add(path, stripped.map);
        let is_older = !stripped.is_module && file.text.contains("exports");
        let code =
            if is_older { format!("{OLDER_BEFORE}{}{OLDER_AFTER}", stripped.code) } else { stripped.code };
        self.made.borrow_mut().push(StrippedFile { path: path.to_owned(), code: code.clone(), places });
        Ok(Some(code))
    }

    fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path) || self.stripped.iter().any(|file| file.path == path)
    }
}

impl Resolver for ModuleFiles {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        let wrong = |text: &str| Err(Error::new_resolving_message(base, name, text));
        // What is imported at run time; the others were looked at when their file was read.
        if imports::is_outside(name) {
            return wrong(imports::NO_NODE);
        }
        if !name.starts_with('.') {
            return Ok(SHAPES.to_owned());
        }
        let Some(path) = joined(base, name) else { return wrong("it leads out of the module's folder") };
        // Written with the ending that it would have had, once it was compiled.
        let compiled = bare(&path).map(|bare| format!("{bare}.ts"));
        let found = ways(&path).into_iter().chain(compiled).find(|path| self.has(path));
        found.map_or_else(|| wrong("there is no such file in the module's folder"), Ok)
    }
}

impl Loader for ModuleFiles {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        if name == SHAPES {
            return Module::declare(ctx.clone(), name, SHAPES_CODE);
        }
        match self.code(name) {
            Ok(Some(code)) => Module::declare(ctx.clone(), name, code),
            Ok(None) => Err(Error::new_loading(name)),
            Err(fault) => {
                let error = Error::new_loading_message(name, fault.text.as_str());
                self.fault.borrow_mut().get_or_insert(fault);
                Err(error)
            }
        }
    }
}

/// A path relative to the folder of another; none where it leads out.
fn joined(base: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> =
        base.rsplit_once('/').map(|(folder, _)| folder.split('/').collect()).unwrap_or_default();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn has_ending(path: &str, ending: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stay_in_the_folder() {
        for (base, name, expected) in [
            ("index.ts", "./a", Some("a")),
            ("lib/b.ts", "../a.ts", Some("a.ts")),
            ("lib/b.ts", "./c/./d", Some("lib/c/d")),
            ("index.ts", "../a", None),
            ("lib/b.ts", "../../a", None),
        ] {
            assert_eq!(joined(base, name).as_deref(), expected, "{base} {name}");
        }
    }
}
