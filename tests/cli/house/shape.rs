//! How large things may become before nobody finds a way through them: a type in many files, a function of many
//! parameters, a package, a name that means many things.
//!
//! What is beyond a limit today has its number here, and it may only fall: a number that is too high fails as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use capstan_plan::verbs::Verb;
use syn::visit::Visit;

use super::{Map, PACKAGES, is_for_tests, is_test, walk};

/// In how many files a type may have `impl` blocks of its own.
const FILES_OF_A_TYPE: usize = 6;

/// Types in more files than that: package, type, files.
const SCATTERED: &[(&str, &str, usize)] = &[];

/// How many parameters a function may have. A tuple counts as its parts.
const PARAMETERS: usize = 6;

/// Functions with more: package, how many there are.
const MANY_PARAMETERS: &[(&str, usize)] = &[];

/// How many lines a package may have, tests aside. `plan` is the heart's largest idea, and has no limit.
const LINES_OF_A_PACKAGE: usize = 25_000;

/// How many types may share a name.
const TYPES_OF_A_NAME: usize = 2;

/// How many types would need another name.
const SHARED_NAMES: usize = 0;

/// What a file of the product defines.
#[derive(Default)]
struct Shape {
    implemented: BTreeSet<String>,
    defined: Vec<String>,
    /// Functions of too many parameters.
    wide: Vec<String>,
}

impl Shape {
    fn of(file: &Path) -> Self {
        let mut shape = Self::default();
        shape.visit_file(&syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap());
        shape
    }

    fn count(&mut self, signature: &syn::Signature) {
        let parameters: usize = signature.inputs.iter().map(parts).sum();
        if parameters > PARAMETERS {
            self.wide.push(format!("{} ({parameters})", signature.ident));
        }
    }
}

/// The number of values in a parameter: a tuple counts by its parts, and the receiver does not count.
fn parts(parameter: &syn::FnArg) -> usize {
    fn of_type(kind: &syn::Type) -> usize {
        match kind {
            syn::Type::Tuple(tuple) => tuple.elems.iter().map(of_type).sum(),
            syn::Type::Reference(reference) => of_type(&reference.elem),
            syn::Type::Paren(inner) => of_type(&inner.elem),
            _ => 1,
        }
    }
    match parameter {
        syn::FnArg::Receiver(_) => 0,
        syn::FnArg::Typed(typed) => of_type(&typed.ty),
    }
}

impl<'ast> Visit<'ast> for Shape {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.defined.push(item.ident.to_string());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.defined.push(item.ident.to_string());
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.defined.push(item.ident.to_string());
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.defined.push(item.ident.to_string());
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_for_tests(&item.attrs) {
            return;
        }
        if let (None, syn::Type::Path(path)) = (&item.trait_, &*item.self_ty)
            && let Some(last) = path.path.segments.last()
        {
            self.implemented.insert(last.ident.to_string());
        }
        // The parameters of a trait's method are the trait's.
        if item.trait_.is_none() {
            syn::visit::visit_item_impl(self, item);
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.count(signature);
    }
}

/// The files of a package's product.
fn product(package: &str) -> Vec<PathBuf> {
    let root = Map::read(package).root;
    walk(&root).into_iter().filter(|file| !is_test(file.strip_prefix(&root).unwrap())).collect()
}

#[test]
fn no_type_is_spread_over_many_files() {
    let mut spread = BTreeMap::new();
    for package in PACKAGES {
        let mut files: BTreeMap<String, usize> = BTreeMap::new();
        for file in product(package) {
            for name in Shape::of(&file).implemented {
                *files.entry(name).or_default() += 1;
            }
        }
        let many = files.into_iter().filter(|(_, files)| *files > FILES_OF_A_TYPE);
        spread.extend(many.map(|(name, files)| (((*package).to_owned(), name), files)));
    }
    let written =
        SCATTERED.iter().map(|(package, name, files)| (((*package).to_owned(), (*name).to_owned()), *files));
    assert_eq!(spread, written.collect(), "left: what there is, right: what is written in this file");
}

#[test]
fn no_function_has_many_parameters() {
    let mut wide = BTreeMap::new();
    let mut named = Vec::new();
    for package in PACKAGES {
        for file in product(package) {
            let functions = Shape::of(&file).wide;
            if !functions.is_empty() {
                *wide.entry(*package).or_insert(0) += functions.len();
                named.push(format!("{}: {}", file.display(), functions.join(", ")));
            }
        }
    }
    let written: BTreeMap<&str, usize> = MANY_PARAMETERS.iter().copied().collect();
    assert_eq!(
        wide,
        written,
        "left: what there is, right: what is written in this file\n{}",
        named.join("\n")
    );
}

#[test]
fn no_package_is_too_large() {
    for package in PACKAGES.iter().filter(|package| **package != "crates/plan") {
        let lines: usize =
            product(package).iter().map(|file| fs::read_to_string(file).unwrap().lines().count()).sum();
        assert!(lines <= LINES_OF_A_PACKAGE, "{package} has {lines} lines: it holds more than one idea");
    }
}

#[test]
fn a_name_means_one_thing() {
    let mut defined: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in PACKAGES.iter().flat_map(|package| product(package)) {
        for name in Shape::of(&file).defined {
            defined.entry(name).or_default().push(file.display().to_string());
        }
    }
    let shared: Vec<_> = defined.iter().filter(|(_, files)| files.len() > TYPES_OF_A_NAME).collect();
    let too_many: usize = shared.iter().map(|(_, files)| files.len() - TYPES_OF_A_NAME).sum();
    assert_eq!(
        too_many, SHARED_NAMES,
        "more types share a name, or fewer: then lower the number\n{shared:#?}"
    );
}

/// What people ask first, and where `src/lib.rs` sends them.
#[test]
fn the_map_says_where_to_go() {
    let map = fs::read_to_string(capstan_test_parts::root().join("src/lib.rs")).unwrap();
    for asked in
        ["a slash-command", "a tick of the dashboard", "a field of a kind of Capstan's own", "another cloud"]
    {
        assert!(map.contains(&format!("//! | {asked}")), "no row says where to go for {asked}");
    }
}

/// What a slash-command decides and answers is in the file of its name.
#[test]
fn every_slash_command_has_its_file() {
    let folder = capstan_test_parts::root().join("crates/bot-core/commands");
    // The same command for the other side of a conflict.
    let is_of_another = |word: &str| word == "take";
    for word in Verb::ALL.iter().map(|verb| verb.word()).filter(|word| !is_of_another(word)) {
        let file = folder.join(format!("{word}.rs"));
        assert!(file.is_file(), "`{word}` has no file {}", file.display());
    }
}

#[test]
fn a_tuple_counts_as_its_parts() {
    let counted = |source: &str| {
        let function: syn::ItemFn = syn::parse_str(source).unwrap();
        function.sig.inputs.iter().map(parts).sum::<usize>()
    };
    assert_eq!(counted("fn f(a: u8, b: &str) {}"), 2);
    assert_eq!(counted("fn f((a, b): (u8, u8), c: &(u8, (u8, u8))) {}"), 5);
}
