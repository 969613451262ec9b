//! What a kustomization and everything below it give, before names are final.

use std::sync::Arc;

use super::accumulated::{Accumulated, Appending};
use super::builder::Builder;
use super::config::Config;
use super::defaults;
use super::file::{Flavour, Kustomization, PlacedText};
use super::finish::finish;
use super::generate::{self, Generator, GeneratorKind};
use super::origin::{BuildOrigin, Tracks};
use super::plugins;
use super::transformer;
use super::vars;
use crate::render::budget::RenderBudget;
use crate::render::custom_schema::CustomSchema;
use crate::render::dialect::Dialect;
use crate::render::error::{RenderError, RenderErrorKind};
use crate::render::placed::PlacedValue;
use crate::render::resource::RenderedResource;
use crate::render::schema::Schemas;
use capstan_model::tree::{RepoPath, TreeEntry};

/// What the outermost kustomization gives, before and after the end.
pub(in crate::render) struct Built {
    pub(in crate::render) accumulated: Accumulated,
    kustomization: Kustomization,
}

impl Built {
    /// With all that kustomize does at the very end.
    pub(in crate::render) fn finish(
        self,
        budget: &RenderBudget,
    ) -> Result<Vec<RenderedResource>, RenderError> {
        finish(self.accumulated, &self.kustomization, budget)
    }

    /// [`Self::finish`], where the state before the end is still needed.
    pub(in crate::render) fn finished(
        &self,
        budget: &RenderBudget,
    ) -> Result<Vec<RenderedResource>, RenderError> {
        finish(self.accumulated.clone(), &self.kustomization, budget)
    }
}

/// How many kustomizations may lie within one another.
const DEEPEST: usize = 64;

impl Builder<'_> {
    /// What the outermost kustomization gives; `first` are objects before its own.
    pub(in crate::render) fn build_top(
        &mut self,
        folder: &RepoPath,
        entry: &TreeEntry,
        first: Accumulated,
    ) -> Result<Built, RenderError> {
        let kustomization = self.read(entry, Flavour::Outermost)?;
        let tracks = if kustomization.build_metadata.is_empty() { Tracks::Nothing } else { Tracks::Origins };
        self.origin = BuildOrigin::top(tracks);
        self.schemas = Schemas::default();
        let accumulated = self.enter(folder, &kustomization, first)?;
        Ok(Built { accumulated, kustomization })
    }

    /// What a folder's kustomization gives to the one that includes it.
    fn build(
        &mut self,
        folder: &RepoPath,
        entry: &TreeEntry,
        flavour: Flavour,
        first: Accumulated,
    ) -> Result<Accumulated, RenderError> {
        let kustomization = self.read(entry, flavour)?;
        self.enter(folder, &kustomization, first)
    }

    fn read(&self, entry: &TreeEntry, flavour: Flavour) -> Result<Kustomization, RenderError> {
        let loaded = self.loader.read_named(entry, Dialect::Kubernetes)?;
        Kustomization::read(&loaded.documents, &loaded.start, flavour, &self.loader.budget)
    }

    fn enter(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        first: Accumulated,
    ) -> Result<Accumulated, RenderError> {
        let circle = self.way.iter().any(|visited| visited == folder || visited.is_in(folder));
        if circle || self.way.len() > DEEPEST {
            let way: Vec<&str> = self.way.iter().chain([folder]).map(RepoPath::as_str).collect();
            return Err(RenderError::at(
                &kustomization.place,
                RenderErrorKind::Cycle,
                format!("kustomizations include one another, {}: remove one of the links", way.join(" -> ")),
            ));
        }
        self.loader.budget.build(&kustomization.place)?;
        self.way.push(folder.clone());
        let result = self.accumulate(folder, kustomization, first);
        self.way.pop();
        result
    }

    /// In kustomize's order.
    fn accumulate(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        first: Accumulated,
    ) -> Result<Accumulated, RenderError> {
        self.use_schema(folder, kustomization)?;
        let mut all = first;
        let mut appending = Appending::to(&mut all);
        for name in &kustomization.resources {
            self.resource(folder, kustomization, name, &mut appending)?;
        }
        self.configure(folder, kustomization, &mut all)?;
        self.generate(folder, kustomization, &mut all)?;
        for name in &kustomization.components {
            let (path, entry) = self.component(folder, name)?;
            let outside = self.origin.enter(&name.text);
            let built = self.build(&path, entry, Flavour::Component, all);
            self.origin.leave(outside);
            all = built?;
        }
        self.transform(folder, kustomization, &mut all)?;
        vars::mark(&kustomization.vars, &mut all.resources, &self.loader.budget)?;
        vars::join(&mut all.vars, &kustomization.vars, &self.loader.budget)?;
        Ok(all)
    }

    fn resource(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        name: &PlacedText,
        to: &mut Appending<'_>,
    ) -> Result<(), RenderError> {
        let path = self.locate(folder, name)?;
        if let Some(entry) = self.loader.tree.entry(&path) {
            if self.own.contains(&path) {
                return Ok(());
            }
            self.note_outside(folder, &path);
            let mut more = self.loader.kustomize_objects(entry)?;
            self.origin.of_file(&name.text, &mut more);
            return to.append(more);
        }
        let entry = self.folder(&path, name)?;
        let outside = self.origin.enter(&name.text);
        let built = self.build(&path, entry, Flavour::Kustomization, Accumulated::default());
        self.origin.leave(outside);
        let built = built?;
        to.append(built.resources)?;
        vars::join(&mut to.all.vars, &built.vars, &self.loader.budget)?;
        match &built.config {
            Some(config) => to.all.take_config(config, kustomization, &self.loader.budget),
            None => Ok(()),
        }
    }

    /// The schema of the first kustomization that names one counts for the whole tree.
    fn use_schema(&mut self, folder: &RepoPath, kustomization: &Kustomization) -> Result<(), RenderError> {
        let Some(name) = &kustomization.openapi else { return Ok(()) };
        let loaded = self.read_file(folder, name)?;
        if self.schemas.is_replaced() {
            return Ok(());
        }
        let document = loaded.documents.first().filter(|document| document.is_mapping());
        let Some(document) = document else {
            return Err(RenderError::malformed(
                &name.place,
                format!("{} is not an OpenAPI description: it has `definitions`", name.text),
            ));
        };
        let schema = CustomSchema::new(document.to_value());
        if schema.names_scopes() {
            return Err(RenderError::unsupported(
                &name.place,
                "Capstan does not render `openapi` files with `paths`: leave only `definitions` in it",
            ));
        }
        if self.way.len() > 1 {
            return Err(RenderError::unsupported(
                &name.place,
                "Capstan renders `openapi` only in the outermost kustomization, because elsewhere its effect depends on what kustomize read before: move it there",
            ));
        }
        self.schemas.replace(schema);
        Ok(())
    }

    fn configure(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        all: &mut Accumulated,
    ) -> Result<(), RenderError> {
        let mut own = defaults::built_in();
        for name in &kustomization.configurations {
            let loaded = self.read_file(folder, name)?;
            for document in loaded.documents.iter().take(1) {
                Arc::make_mut(&mut own).merge(&Config::read(document)?, &name.place, &self.loader.budget)?;
            }
        }
        for name in &kustomization.crds {
            let loaded = self.read_file(folder, name)?;
            for document in loaded.documents.iter().take(1) {
                let read = Config::of_definitions(document, &self.loader.budget)?;
                Arc::make_mut(&mut own).merge(&read, &name.place, &self.loader.budget)?;
            }
        }
        all.take_config(&own, kustomization, &self.loader.budget)
    }

    fn generate(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        all: &mut Accumulated,
    ) -> Result<(), RenderError> {
        let global = kustomization.generator_options.as_ref();
        let entries = kustomization.config_maps.iter().map(|entry| (GeneratorKind::ConfigMap, entry));
        for (kind, entry) in
            entries.chain(kustomization.secrets.iter().map(|entry| (GeneratorKind::Secret, entry)))
        {
            let step = self.origin.step(entry.place.file().name(), kind.generator());
            self.generate_one(folder, Generator { kind, entry, global }, &step, all)?;
        }
        for plugin in self.plugins(folder, kustomization, &kustomization.generators)? {
            let (kind, entry) = plugins::generator(&plugin)?;
            let step = self.origin.plugin_step(kustomization.place.file().name(), &plugin);
            self.generate_one(folder, Generator { kind, entry: &entry, global: None }, &step, all)?;
        }
        Ok(())
    }

    fn generate_one(
        &mut self,
        folder: &RepoPath,
        Generator { kind, entry, global }: Generator<'_>,
        step: &str,
        all: &mut Accumulated,
    ) -> Result<(), RenderError> {
        let entry = &*generate::read_entry(kind, entry)?;
        for source in ["files", "envs"] {
            for item in entry.field(source).map(PlacedValue::items).unwrap_or_default() {
                let text = item.as_str().unwrap_or_default();
                let path = text.split_once('=').map_or(text, |(_, path)| path);
                let name = PlacedText { text: path.to_owned(), place: item.place.clone() };
                let path = self.locate(folder, &name)?;
                self.note_outside(folder, &path);
            }
        }
        let read = |name: &PlacedText| self.bytes(folder, name);
        let mark = |value: &mut PlacedValue| self.origin.of_generator(step, value);
        let read_entry = Generator { kind, entry, global };
        generate::generate(read_entry, &mark, &read, &mut all.resources, &self.loader.budget)
    }

    fn transform(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        all: &mut Accumulated,
    ) -> Result<(), RenderError> {
        let config = all.config.clone().unwrap_or_else(defaults::built_in);
        let file = kustomization.place.file().name();
        let mut steps = Vec::new();
        for transformer in transformer::of(kustomization, &config, self, folder)? {
            steps.push((self.origin.step(file, transformer.kind()), transformer));
        }
        for plugin in self.plugins(folder, kustomization, &kustomization.transformers)? {
            let step = self.origin.plugin_step(file, &plugin);
            steps.push((step, plugins::transformer(&plugin, self, folder)?));
        }
        for (step, transformer) in steps {
            transformer.apply(self, &mut all.resources, &kustomization.place)?;
            self.origin.of_transformer(&step, &mut all.resources, &self.loader.budget)?;
        }
        Ok(())
    }

    /// Plugins are objects of files and folders, or written where they are listed.
    fn plugins(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        names: &[PlacedText],
    ) -> Result<Vec<PlacedValue>, RenderError> {
        let mut all = Accumulated::default();
        let mut appending = Appending::to(&mut all);
        for name in names {
            match plugins::inline(name, &self.loader.budget)? {
                Some(inline) => appending.append(inline)?,
                None => self.resource(folder, kustomization, name, &mut appending)?,
            }
        }
        Ok(all.resources.into_iter().map(|resource| resource.value).collect())
    }
}
