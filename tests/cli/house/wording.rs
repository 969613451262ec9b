//! Words of what the programs say: string literals of the product, in macros and attributes too, and the documentation of
//! items that becomes help or a schema. [`PHRASES`] do not occur there.
//!
//! A text of fewer words than [`SENTENCE`] is a name or a value. What is between backticks is code, and between braces a
//! value that is filled in.
//!
//! Names have none of them either, nor have comments, which have none of [`IN_COMMENTS`] besides.

use std::fs;
use std::path::{Path, PathBuf};

use capstan_test_parts::sources::{is_test, sources, walk};
use syn::buffer::Cursor;
use syn::parse::{Parse, ParseStream};
use syn::visit::Visit;

use super::is_for_tests;
use crate::docs::words::PHRASES;

/// How many words make a text.
const SENTENCE: usize = 4;

/// What does not occur in comments besides: the subject has a name, and the verb is the usual one.
const IN_COMMENTS: &[&str] = &[
    "as far as can be told",
    "by whomever",
    "cannot be told",
    "comes to nothing",
    "hangs on",
    "in so many words",
    "is heard",
    "is none of",
    "is told",
    "lie in",
    "nobody else's",
    "nobody's",
    "of whom",
    "of which nobody",
    "so many are",
    "so many of",
    "stand in",
    "stood",
    "were heard",
    "what came of",
    "what stands",
    "where it stands",
];

/// Participles that say nothing of what a type is: a name is a noun.
const NO_NAMES: &[&str] = &[
    "Asked", "Begun", "Broken", "Brought", "Checked", "Compared", "Counted", "Decided", "Done", "Edited",
    "Ended", "Failed", "Found", "Given", "Gone", "Heard", "Held", "Judged", "Kept", "Known", "Listed",
    "Looked", "Made", "Merged", "Moved", "Named", "Opened", "Placed", "Planned", "Reached", "Refused",
    "Rendered", "Replaced", "Reported", "Said", "Seen", "Settled", "Shared", "Standing", "Stands", "Taken",
    "Told", "Tried", "Trouble", "Wanted", "Written",
];

/// How many types still have such a name. The number may only fall, and it is what there is.
const SO_NAMED: usize = 11;

/// How many functions, types, constants and modules still have a name with words that do not occur in comments. All of
/// them are in the product: no test has one. The number may only fall, and it is what there is.
const SO_WORDED: usize = 0;

/// Derives that show the documentation of an item to users.
const SHOWN: &[&str] = &["Args", "JsonSchema", "Parser", "Subcommand", "ValueEnum"];

/// Attributes for the compiler alone.
const SILENT: &[&str] = &["allow", "cfg", "cfg_attr", "derive", "doc", "expect"];

/// The texts of a file.
#[derive(Default)]
struct Texts {
    found: Vec<String>,
    is_shown: bool,
}

/// String literals of tokens, in groups too.
struct Literals(Vec<String>);

impl Parse for Literals {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.step(|cursor| {
            let mut found = Vec::new();
            let end = collect(*cursor, &mut found);
            Ok((Self(found), end))
        })
    }
}

fn collect<'a>(mut rest: Cursor<'a>, found: &mut Vec<String>) -> Cursor<'a> {
    while !rest.eof() {
        if let Some(after) = after_documentation(rest) {
            rest = after;
        } else if let Some((inside, _, _, after)) = rest.any_group() {
            collect(inside, found);
            rest = after;
        } else if let Some((literal, after)) = rest.literal() {
            if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                found.push(text.value());
            }
            rest = after;
        } else if let Some((_, after)) = rest.token_tree() {
            rest = after;
        }
    }
    rest
}

/// What follows a comment that documents, where one begins.
fn after_documentation(rest: Cursor<'_>) -> Option<Cursor<'_>> {
    let (mark, rest) = rest.punct()?;
    let (inside, _, _, after) = rest.any_group()?;
    let (word, _) = inside.ident()?;
    (mark.as_char() == '#' && word == "doc").then_some(after)
}

impl Texts {
    fn of(source: &str) -> Vec<String> {
        let mut texts = Self::default();
        texts.visit_file(&syn::parse_file(source).unwrap());
        texts.found
    }

    /// Whether an item's documentation is shown. It is taken, where it is.
    fn enter(&mut self, attributes: &[syn::Attribute]) -> bool {
        let outer = std::mem::replace(&mut self.is_shown, is_shown(attributes));
        self.document(attributes);
        outer
    }

    fn document(&mut self, attributes: &[syn::Attribute]) {
        if self.is_shown {
            let lines: Vec<String> = attributes.iter().filter_map(line).collect();
            self.found.push(lines.concat());
        }
    }
}

fn derived(attribute: &syn::Attribute) -> syn::punctuated::Punctuated<syn::Path, syn::Token![,]> {
    attribute.parse_args_with(syn::punctuated::Punctuated::parse_terminated).unwrap()
}

/// Whether users are shown the documentation of an item with these attributes.
pub(super) fn is_shown(attributes: &[syn::Attribute]) -> bool {
    let derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    derives
        .flat_map(derived)
        .any(|path| path.segments.last().is_some_and(|last| SHOWN.contains(&last.ident.to_string().as_str())))
}

/// A line of documentation.
pub(super) fn line(attribute: &syn::Attribute) -> Option<String> {
    let value = &attribute.meta.require_name_value().ok().filter(|meta| meta.path.is_ident("doc"))?.value;
    match value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_for_tests(&item.attrs) {
            syn::visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let outer = self.enter(&item.attrs);
        syn::visit::visit_item_struct(self, item);
        self.is_shown = outer;
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let outer = self.enter(&item.attrs);
        syn::visit::visit_item_enum(self, item);
        self.is_shown = outer;
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.document(&field.attrs);
        syn::visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.document(&variant.attrs);
        syn::visit::visit_variant(self, variant);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if SILENT.iter().any(|silent| attribute.path().is_ident(silent)) {
            return;
        }
        match &attribute.meta {
            syn::Meta::List(_) => self.found.extend(attribute.parse_args::<Literals>().unwrap().0),
            _ => syn::visit::visit_attribute(self, attribute),
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.found.extend(call.parse_body::<Literals>().unwrap().0);
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.found.push(text.value());
    }
}

/// The words of a text, without code and values. Empty where there are fewer than [`SENTENCE`].
fn words_of(text: &str) -> Vec<String> {
    let is_letter = |c: char| c.is_alphabetic() || "-_'".contains(c);
    let outside = |marks: &[char], text: &str| text.split(marks).step_by(2).collect::<Vec<_>>().join(" _ ");
    let spoken = outside(&['{', '}'], &outside(&['`'], text));
    let spoken = spoken.to_lowercase().replace(|c| !is_letter(c), " ");
    let words: Vec<String> = spoken.split_whitespace().map(str::to_owned).collect();
    if words.len() < SENTENCE { Vec::new() } else { words }
}

/// Which of these phrases a text has.
fn phrases_in(text: &str, phrases: impl Iterator<Item = &'static str>) -> Vec<String> {
    let spoken = format!(" {} ", words_of(text).join(" "));
    phrases.filter(|phrase| spoken.contains(&format!(" {phrase} "))).map(str::to_owned).collect()
}

/// What of a text reads badly.
fn badly(text: &str) -> Vec<String> {
    let mut found = phrases_in(text, PHRASES.iter().map(|(phrase, _)| *phrase));
    let words = words_of(text);
    // `There is no host` and `it is no longer there` read well, `it is no host` does not.
    let padded: Vec<&str> =
        std::iter::once("_").chain(words.iter().map(String::as_str)).chain(["_"]).collect();
    let is_not = padded.windows(4).any(|four| {
        let (["is" | "are" | "was" | "were", "no" | "none"], [before, .., after]) = (&four[1..3], four)
        else {
            return false;
        };
        !["here", "there"].contains(before) && !["longer", "more"].contains(after)
    });
    found.extend(is_not.then(|| "is no".to_owned()));
    found
}

#[test]
fn texts_of_the_programs_read_easily() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let product = |file: &Path| {
        let below = file.strip_prefix(root).unwrap();
        !is_test(below) && !below.starts_with("crates/forge")
    };
    let (mut troubles, mut texts) = (Vec::new(), 0);
    for file in sources().into_iter().filter(|file| product(file)) {
        for text in Texts::of(&fs::read_to_string(&file).unwrap()) {
            texts += 1;
            troubles.extend(
                badly(&text).iter().map(|phrase| format!("{}: `{phrase}` in: {text}", file.display())),
            );
        }
    }
    assert!(troubles.is_empty(), "write these in other words:\n{}", troubles.join("\n"));
    assert!(texts > 20_000, "{texts} texts: the test looks in the wrong place");
}

/// The comments of a file: each paragraph is one, without its code.
fn comments(source: &str) -> Vec<String> {
    let (mut all, mut paragraph, mut is_code) = (Vec::new(), Vec::new(), false);
    for line in source.lines().map(str::trim).chain([""]) {
        let text = line.strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim());
        match text {
            Some(fence) if fence.starts_with("```") => is_code = !is_code,
            Some(text) if !is_code && !text.is_empty() => paragraph.push(text),
            Some(_) => all.push(std::mem::take(&mut paragraph).join(" ")),
            None => {
                is_code = false;
                all.push(std::mem::take(&mut paragraph).join(" "));
            }
        }
    }
    all.retain(|comment| !comment.is_empty());
    all
}

/// The product's files, the tests and the benches.
fn all_files(root: &Path) -> Vec<PathBuf> {
    let beside = ["benches", "tests"].into_iter().flat_map(|folder| walk(&root.join(folder)));
    sources().into_iter().chain(beside).collect()
}

#[test]
fn comments_read_easily() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut troubles, mut read) = (Vec::new(), 0);
    for file in all_files(root) {
        let below = file.strip_prefix(root).unwrap();
        for comment in comments(&fs::read_to_string(&file).unwrap()) {
            read += 1;
            let found = badly_of_any_length(&comment);
            if !found.is_empty() {
                troubles.push(format!("{}: `{}` in: {comment}", below.display(), found.join("`, `")));
            }
        }
    }
    assert!(troubles.is_empty(), "write these in other words:\n{}", troubles.join("\n"));
    assert!(read > 20_000, "{read} comments: the test looks in the wrong place");
}

#[test]
fn a_type_is_named_by_a_noun() {
    let of = |item: &syn::Item| match item {
        syn::Item::Enum(item) => Some(item.ident.to_string()),
        syn::Item::Struct(item) => Some(item.ident.to_string()),
        syn::Item::Trait(item) => Some(item.ident.to_string()),
        syn::Item::Type(item) => Some(item.ident.to_string()),
        _ => None,
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for file in sources().into_iter().filter(|file| !is_test(file.strip_prefix(root).unwrap())) {
        let names = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap().items;
        let names = names.iter().filter_map(of).filter(|name| NO_NAMES.contains(&name.as_str()));
        found.extend(names.map(|name| format!("{}: {name}", file.display())));
    }
    assert_eq!(
        found.len(),
        SO_NAMED,
        "name a new type by what it is; where there are fewer, lower the number\n{}",
        found.join("\n")
    );
}

/// The names that a file defines: functions, types, constants and modules, in blocks too.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn of(source: &str) -> Vec<String> {
        let mut names = Self::default();
        names.visit_file(&syn::parse_file(source).unwrap());
        names.0
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.0.push(signature.ident.to_string());
        syn::visit::visit_signature(self, signature);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        self.0.extend(match item {
            syn::Item::Const(item) => Some(item.ident.to_string()),
            syn::Item::Enum(item) => Some(item.ident.to_string()),
            syn::Item::Mod(item) => Some(item.ident.to_string()),
            syn::Item::Static(item) => Some(item.ident.to_string()),
            syn::Item::Struct(item) => Some(item.ident.to_string()),
            syn::Item::Trait(item) => Some(item.ident.to_string()),
            syn::Item::Type(item) => Some(item.ident.to_string()),
            _ => None,
        });
        syn::visit::visit_item(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.0.push(item.ident.to_string());
        syn::visit::visit_impl_item_const(self, item);
    }
}

/// A name as the words that it is made of: it is split at each `_`, and before a capital that follows a small letter.
fn spelled_out(name: &str) -> String {
    let (mut words, mut last) = (String::new(), '_');
    for letter in name.chars() {
        if letter.is_uppercase() && (last.is_lowercase() || last.is_numeric()) {
            words.push(' ');
        }
        words.extend(if letter == '_' { ' ' } else { letter }.to_lowercase());
        last = letter;
    }
    words
}

/// What of a comment or a name reads badly, however short it is.
fn badly_of_any_length(text: &str) -> Vec<String> {
    let text = "_ ".repeat(SENTENCE) + text;
    [badly(&text), phrases_in(&text, IN_COMMENTS.iter().copied())].concat()
}

/// What of a name reads badly. A name has no apostrophe, and it is read however short it is. `is_none` is Rust's own.
fn badly_named(name: &str) -> Vec<String> {
    if name == "is_none" {
        return Vec::new();
    }
    badly_of_any_length(&spelled_out(name).replace("nobodys", "nobody's"))
}

#[test]
fn names_read_easily() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut read) = (Vec::new(), 0);
    for file in all_files(root) {
        for name in Names::of(&fs::read_to_string(&file).unwrap()) {
            read += 1;
            let words = badly_named(&name);
            if !words.is_empty() {
                let below = file.strip_prefix(root).unwrap();
                found.push(format!("{}: {name}: `{}`", below.display(), words.join("`, `")));
            }
        }
    }
    assert_eq!(
        found.len(),
        SO_WORDED,
        "give the new name other words; where there are fewer, lower the number\n{}",
        found.join("\n")
    );
    assert!(read > 20_000, "{read} names: the test looks in the wrong place");
}

#[test]
fn a_name_is_read_word_by_word() {
    let source = "
        mod outer { const MOST: u8 = 1; }
        struct Plain;
        impl Plain { const LEAST: u8 = 2; const fn is_it(&self) { fn inner() {} } }
        trait Other { fn says(&self); }
    ";
    assert_eq!(Names::of(source), ["outer", "MOST", "Plain", "LEAST", "is_it", "inner", "Other", "says"]);
    assert_eq!(spelled_out("HTTPAnswer_v1Beta"), "httpanswer v1 beta");
    for (name, phrases) in [
        ("MOST_TOLD", &["told"][..]),
        ("WhatStands", &["stands", "what stands"]),
        ("is_no_file", &["is no"]),
        ("it_is_nobodys", &["nobody's"]),
        ("is_no_longer_there", &[]),
        ("is_none", &[]),
        ("untold", &[]),
    ] {
        assert_eq!(badly_named(name), phrases, "{name}");
    }
}

#[test]
fn a_comment_is_a_paragraph_without_its_code() {
    let source = "//! Of the\n//! file.\n//!\n//! ```\n//! whoever\n//! ```\n/// Of an item.\nfn f() {\n    // Within.\n}\n";
    assert_eq!(comments(source), ["Of the file.", "Of an item.", "Within."]);
    // One of two words is read, too.
    assert_eq!(badly_of_any_length("Nobody knows."), ["nobody knows"]);
}

#[test]
fn the_test_sees_what_users_read() {
    let source = r##"
        /// Not shown at all here.
        struct Plain;
        /// What the key
        /// is used for.
        #[derive(Debug, schemars::JsonSchema)]
        struct Shown { #[arg(help = "of an argument")] field: u8 }
        #[expect(unused, reason = "not for users")]
        fn f() {
            tracing::warn!(key = %a, "in a log {}", format!("in a group"));
            let x = r#"in a constant"#;
            table! {
                /// Not shown.
                A => "in a table",
            }
        }
        #[cfg(test)]
        mod tests { const A: &str = "in a test"; }
    "##;
    let texts = Texts::of(source);
    assert_eq!(
        texts,
        [
            " What the key is used for.",
            "",
            "of an argument",
            "in a log {}",
            "in a group",
            "in a constant",
            "in a table"
        ]
    );
    assert_eq!(badly("The cluster stands there: `nobody knows`."), ["stands"]);
    assert_eq!(
        badly("{name} is no file, so that nobody\nknows it"),
        ["nobody knows", "so that nobody", "is no"]
    );
    for good in
        ["there is no file here", "it is no longer there", "stands", "a `stands` b c d", "told_by id of x"]
    {
        assert!(badly(good).is_empty(), "{good}");
    }
}
