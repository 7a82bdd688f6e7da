//! The model of static embeddings by which tools are searched, where settings name one.

use super::App;
use haft_os::host;
use haft_runtime::{
    Problem,
    find::{ModelSource, StaticModel, TENSORS_FILE, TOKENIZER_FILE},
    settings::{Placed, Setting},
};
use std::path::Path;

/// Longest file of numbers that is read.
const TENSORS_MAX_BYTES: u64 = 2 << 30;
/// Longest file of words that is read.
const TOKENIZER_MAX_BYTES: u64 = 64 << 20;

impl App {
    /// The model that settings name. It is read when tools are first searched, not before.
    pub(crate) fn search_model(&self) -> Option<ModelSource> {
        let setting = self.settings.search_model.clone()?;
        Some(ModelSource::new(move || read(&setting)))
    }
}

fn read(setting: &Setting<Placed>) -> Result<StaticModel, Problem> {
    let folder = Path::new(&setting.value.absolute);
    let file = |name: &str, max: u64| match host::read_file(&folder.join(name), max) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("{name} isn't there")),
        Err(failure) => Err(failure.text),
    };
    let tensors = file(TENSORS_FILE, TENSORS_MAX_BYTES);
    let tokenizer = file(TOKENIZER_FILE, TOKENIZER_MAX_BYTES);
    let model = tensors
        .and_then(|tensors| StaticModel::read(&tensors, &tokenizer?).map_err(|error| error.to_string()));
    model.map_err(|why| Problem {
        source: setting.origin.scope.name().to_owned(),
        path: Some(setting.origin.path.clone()),
        line: Some(setting.origin.line),
        text: format!("tools are searched without the model in {}: {why}", setting.value.absolute),
        fix: format!(
            "name a folder with a {TENSORS_FILE} and a {TOKENIZER_FILE} as Model2Vec writes them, or remove \"model\""
        ),
    })
}
