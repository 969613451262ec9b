//! Comments that say the name of what they describe and no more, such as `/// Its path.` above a field `path`. Nobody needs
//! them, so there are none.
//!
//! Not read: what users are shown of a type (help, schemas), where each field has its line, and [`FOR_OTHERS`].

use std::fs;

use capstan_test_parts::sources::sources;
use syn::visit::Visit;

use super::wording::{is_shown, line};

/// Packages that others may use: all that is public there has a comment (`missing_docs`).
const FOR_OTHERS: &[&str] = &["crates/envsubst/", "crates/kustomize/", "crates/yaml/"];

/// Words that say nothing of their own.
const LINKS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "in", "is", "it", "its", "of", "on", "one",
    "that", "the", "this", "to", "with",
];

/// The words of a text or a name, each as if it were one thing: `clusters` is `cluster`.
fn words(text: &str) -> Vec<String> {
    let mut spaced = String::new();
    for letter in text.chars() {
        if letter.is_uppercase() && spaced.ends_with(char::is_lowercase) {
            spaced.push(' ');
        }
        spaced.push(letter);
    }
    let words = spaced.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let of_one = |word: String| match word.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => word.strip_suffix('s').map(str::to_owned).unwrap_or(word),
    };
    words.filter(|word| !word.is_empty() && !LINKS.contains(&word.as_str())).map(of_one).collect()
}

fn says_the_name_alone(comment: &str, name: &str) -> bool {
    let (said, name) = (words(comment), words(name));
    !said.is_empty() && said.iter().all(|word| name.contains(word))
}

#[derive(Default)]
struct Comments {
    is_shown: bool,
    found: Vec<String>,
}

impl Comments {
    fn judge(&mut self, attributes: &[syn::Attribute], name: &syn::Ident) {
        let lines: Vec<String> = attributes.iter().filter_map(line).collect();
        if let [comment] = lines.as_slice()
            && !self.is_shown
            && says_the_name_alone(comment, &name.to_string())
        {
            self.found.push(format!("`///{comment}` above `{name}`"));
        }
    }
}

/// Each kind of item whose comments are read, and where its name is.
macro_rules! judged {
    ($($visit:ident($item:ty) $(. $of:ident)*;)*) => {
        impl<'ast> Visit<'ast> for Comments {
            $(fn $visit(&mut self, item: &'ast $item) {
                self.judge(&item.attrs, &item$(.$of)*.ident);
                syn::visit::$visit(self, item);
            })*

            fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
                self.is_shown = is_shown(&item.attrs);
                self.judge(&item.attrs, &item.ident);
                syn::visit::visit_item_struct(self, item);
                self.is_shown = false;
            }

            fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
                self.is_shown = is_shown(&item.attrs);
                self.judge(&item.attrs, &item.ident);
                syn::visit::visit_item_enum(self, item);
                self.is_shown = false;
            }

            fn visit_field(&mut self, field: &'ast syn::Field) {
                if let Some(name) = &field.ident {
                    self.judge(&field.attrs, name);
                }
            }
        }
    };
}

judged! {
    visit_variant(syn::Variant);
    visit_item_const(syn::ItemConst);
    visit_item_static(syn::ItemStatic);
    visit_item_type(syn::ItemType);
    visit_item_trait(syn::ItemTrait);
    visit_item_mod(syn::ItemMod);
    visit_item_fn(syn::ItemFn) .sig;
    visit_impl_item_fn(syn::ImplItemFn) .sig;
    visit_trait_item_fn(syn::TraitItemFn) .sig;
    visit_impl_item_const(syn::ImplItemConst);
    visit_trait_item_const(syn::TraitItemConst);
}

fn comments_of(source: &str) -> Vec<String> {
    let mut comments = Comments::default();
    comments.visit_file(&syn::parse_file(source).unwrap());
    comments.found
}

#[test]
fn a_comment_says_more_than_the_name() {
    let root = capstan_test_parts::root();
    let mut found = Vec::new();
    for file in sources() {
        let below = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if !FOR_OTHERS.iter().any(|package| below.starts_with(package)) {
            let comments = comments_of(&fs::read_to_string(&file).unwrap());
            found.extend(comments.into_iter().map(|comment| format!("{below}: {comment}")));
        }
    }
    assert!(found.is_empty(), "take these comments out, or say more:\n{}", found.join("\n"));
}

#[test]
fn the_test_sees_comments_that_say_the_name_alone() {
    let source = "
        /// A Git source.
        pub struct GitSource {
            /// Its branch.
            branch: String,
            /// The branch that is applied.
            other: String,
            /// The name of the Secret.
            pub secret_name: String,
            /// `owner/name`
            repository: String,
        }
        #[derive(Parser)]
        struct Shown {
            /// The branch.
            branch: String,
        }
        enum Kind {
            /// Policies.
            Policy,
            /// A policy
            /// of two lines.
            Policy,
        }
        impl Kind {
            /// Reads it.
            fn read() {}
            /// Reads it whole.
            fn read() {}
        }";
    assert_eq!(
        comments_of(source),
        [
            "`/// A Git source.` above `GitSource`",
            "`/// Its branch.` above `branch`",
            "`/// The name of the Secret.` above `secret_name`",
            "`/// Policies.` above `Policy`",
            "`/// Reads it.` above `read`",
        ]
    );
}
