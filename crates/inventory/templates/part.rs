//! A part of the result of templates: some of its objects, each with its text.

use capstan_yaml::YamlFile;

use super::render::{RenderedFile, RenderedObject, RenderedTemplates};

impl RenderedTemplates {
    /// The objects that are `wanted`, in files of the same names. A file of which nothing is wanted stays behind empty.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&RenderedObject) -> bool) -> Self {
        for file in &mut self.files {
            if !file.objects.iter().all(&wanted) {
                keep(file, &wanted);
            }
        }
        self
    }
}

fn keep(file: &mut RenderedFile, wanted: impl Fn(&RenderedObject) -> bool) {
    file.objects.retain(wanted);
    let Ok(read) = YamlFile::read(&file.text) else { return };
    let (mut text, mut kept) = (String::new(), Vec::new());
    for (at, document) in read.documents().iter().enumerate() {
        if !file.objects.iter().any(|object| object.document == at) {
            continue;
        }
        let part = file.text.get(document.span.start..document.span.end).unwrap_or_default();
        // A file needs no marker before its first document.
        let part = if text.is_empty() { part.strip_prefix("---\n").unwrap_or(part) } else { part };
        text.push_str(part);
        kept.push(at);
    }
    for object in &mut file.objects {
        object.document = kept.iter().position(|at| *at == object.document).unwrap_or_default();
    }
    file.text = text;
}
