//! `images`: names, tags and digests of container images.

use regex::Regex;

use super::fields::{Blank, FieldSpec};
use super::id::Gvk;
use crate::render::budget::RenderBudget;
use crate::render::error::RenderError;
use crate::render::keys::fields_of;
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};
use crate::render::resource::RenderedResource;

/// An entry of `images`.
#[derive(Debug, Clone)]
pub(super) struct ImageEntry {
    pub(super) place: SourceOffset,
    name: Name,
    new_name: String,
    new_tag: String,
    tag_suffix: String,
    digest: String,
}

/// The name of an image is a regular expression for kustomize, dots and all; a tag and a digest may follow.
#[derive(Debug, Clone)]
enum Name {
    /// One of letters, digits and dots, as nearly all are: compiling an expression takes longer than
    /// rendering a file.
    Plain(String),
    Regex(Regex),
}

impl Name {
    fn read(name: &str, place: &SourceOffset, budget: &RenderBudget) -> Result<Option<Self>, RenderError> {
        if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte)) {
            return Ok(Some(Self::Plain(name.to_owned())));
        }
        let pattern = format!("^{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$");
        let compiled = budget.expression(&pattern, place)?;
        Ok(compiled.ok().map(|expression| Self::Regex(expression.regex)))
    }

    fn fits(&self, image: &str) -> bool {
        match self {
            Self::Plain(name) => rest_behind(name, image).is_some_and(is_tag_and_digest),
            Self::Regex(regex) => regex.is_match(image),
        }
    }
}

/// The text after the name, in which a dot matches any character.
fn rest_behind<'i>(name: &str, image: &'i str) -> Option<&'i str> {
    let mut rest = image.chars();
    for wanted in name.chars() {
        let found = rest.next()?;
        let fits = if wanted == '.' { found != '\n' } else { found == wanted };
        fits.then_some(())?;
    }
    Some(rest.as_str())
}

fn is_tag_and_digest(text: &str) -> bool {
    let behind = |text: &'_ str| -> usize {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_.{}-".contains(c);
        text.find(|c| !is_part(c)).unwrap_or(text.len())
    };
    let text = text.strip_prefix(':').map_or(text, |tag| &tag[behind(tag)..]);
    text.strip_prefix("@sha256:").map_or(text, |digest| &digest[behind(digest)..]).is_empty()
}

const FIELDS: [&str; 5] = ["name", "newName", "newTag", "tagSuffix", "digest"];

impl ImageEntry {
    pub(super) fn read(entry: &PlacedValue, budget: &RenderBudget) -> Result<Self, RenderError> {
        let entry = &*fields_of(entry, "an entry of `images`", &FIELDS)?;
        let text = |key: &str| match entry.field(key).filter(|value| !value.is_null()) {
            None => Ok(String::new()),
            Some(value) => value.as_str().map(str::to_owned).ok_or_else(|| {
                RenderError::malformed(&value.place, format!("`{key}` of an image is a text: quote it"))
            }),
        };
        let name = text("name")?;
        let name = Name::read(&name, &entry.place, budget)?.ok_or_else(|| {
            RenderError::malformed(
                entry.field("name").map_or(&entry.place, |name| &name.place),
                format!("`{name}` is not a name of an image: correct it"),
            )
        })?;
        Ok(Self {
            place: entry.place.clone(),
            name,
            new_name: text("newName")?,
            new_tag: text("newTag")?,
            tag_suffix: text("tagSuffix")?,
            digest: text("digest")?,
        })
    }

    fn update(&self, field: &mut PlacedValue, budget: &RenderBudget) -> Result<(), RenderError> {
        if field.is_null() {
            return Ok(());
        }
        if !matches!(field.content, PlacedContent::Scalar(_)) {
            return Err(RenderError::malformed(
                &field.place,
                "`images` requires the name of an image here: correct the object",
            ));
        }
        let text = field.written().into_owned();
        if self.name.fits(&text) {
            let renamed = self.renamed(&text);
            budget.text(renamed.len(), &self.place)?;
            field.replace_scalar(PlacedValue::open(&renamed, &self.place));
        }
        Ok(())
    }

    fn renamed(&self, image: &str) -> String {
        let (name, tag, digest) = split(image);
        let name = if self.new_name.is_empty() { name } else { &self.new_name };
        let (tag, digest) = match (self.new_tag.as_str(), self.digest.as_str()) {
            ("", "") if self.tag_suffix.is_empty() => (tag.to_owned(), digest),
            ("", "") => (format!("{tag}{}", self.tag_suffix), ""),
            (new_tag, new_digest) => (new_tag.to_owned(), new_digest),
        };
        let mut image = name.to_owned();
        if !tag.is_empty() {
            image = format!("{image}:{tag}");
        }
        if !digest.is_empty() {
            image = format!("{image}@{digest}");
        }
        image
    }
}

/// Name, tag and digest; a port of the registry is part of the name.
fn split(image: &str) -> (&str, &str, &str) {
    let after_host = image.find('/').filter(|at| *at > 0).unwrap_or_default();
    let rest = &image[after_host..];
    let (at, colon) = (rest.find('@'), rest.find(':'));
    let cut = |position: usize| (&image[..after_host + position], &image[after_host + position + 1..]);
    match (at, colon) {
        (None, None) => (image, "", ""),
        (Some(at), colon) if colon.is_none_or(|colon| at < colon) => {
            let (name, digest) = cut(at);
            (name, "", digest)
        }
        (_, Some(colon)) => {
            let (name, more) = cut(colon);
            match more.split_once('@') {
                Some((tag, digest)) => (name, tag, digest),
                None => (name, more, ""),
            }
        }
        (Some(_), None) => (image, "", ""),
    }
}

/// Changes one image wherever it is used.
pub(super) fn set(
    resources: &mut [RenderedResource],
    image: &ImageEntry,
    fields: &[FieldSpec],
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    for resource in resources {
        if Gvk::of(&resource.value).kind == "CustomResourceDefinition" {
            continue;
        }
        anywhere(&mut resource.value, image, budget)?;
        for field in fields {
            let update = &mut |found: &mut PlacedValue| image.update(found, budget);
            field.visit(resource, Blank::Nothing, &image.place, budget, update)?;
        }
    }
    Ok(())
}

/// The images of every list `containers` or `initContainers`, at any place.
fn anywhere(value: &mut PlacedValue, image: &ImageEntry, budget: &RenderBudget) -> Result<(), RenderError> {
    budget.steps(1 + value.entries().len(), &image.place)?;
    match &mut value.content {
        PlacedContent::Scalar(_) => Ok(()),
        PlacedContent::Sequence(items) => items.iter_mut().try_for_each(|item| anywhere(item, image, budget)),
        PlacedContent::Mapping(entries) => entries.iter_mut().try_for_each(|(key, field)| {
            anywhere(field, image, budget)?;
            let PlacedContent::Sequence(items) = &mut field.content else { return Ok(()) };
            if key != "containers" && key != "initContainers" {
                return Ok(());
            }
            for item in items.iter_mut().filter(|item| !item.is_null()) {
                if !item.is_mapping() {
                    return Err(RenderError::malformed(&item.place, "a container must be a mapping"));
                }
                if let Some(field) = item.field_mut("image") {
                    image.update(field, budget)?;
                }
            }
            Ok(())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_come_apart_into_name_tag_and_digest() {
        let cases = [
            ("nginx", ("nginx", "", "")),
            ("nginx:1", ("nginx", "1", "")),
            ("localhost:5000/nginx", ("localhost:5000/nginx", "", "")),
            ("localhost:5000/nginx:1@sha256:ab", ("localhost:5000/nginx", "1", "sha256:ab")),
            ("a/b@sha256:ab", ("a/b", "", "sha256:ab")),
        ];
        for (image, parts) in cases {
            assert_eq!(split(image), parts, "{image}");
        }
    }
}
