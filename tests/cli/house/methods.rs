//! Methods of one type call those in other files of it in one direction: an arrow that no import shows.
//!
//! A call is `self.x(…)`, `Self::x(…)`, or one by the name of the type. Calls within macros are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use syn::visit::Visit;

use super::circles::{Arrows, Module, circle_through};
use super::{Map, PACKAGES, is_for_tests, is_test, module_depth};

/// Types whose files call one another in a circle today: package, type, in how many files. The number may only fall.
const IN_CIRCLES: &[(&str, &str, usize)] = &[];

/// What a file defines and calls of each type.
#[derive(Default)]
struct Methods {
    /// The type whose methods are read.
    of: Option<String>,
    defined: BTreeSet<(String, String)>,
    called: BTreeSet<(String, String)>,
}

impl Methods {
    fn of(source: &str) -> Self {
        let mut methods = Self::default();
        methods.visit_file(&syn::parse_file(source).unwrap());
        methods
    }
}

impl<'ast> Visit<'ast> for Methods {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        if is_for_tests(&item.attrs) {
            return;
        }
        let outer = std::mem::replace(&mut self.of, name);
        syn::visit::visit_item_impl(self, item);
        self.of = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let method = item.sig.ident.to_string();
        self.defined.extend(self.of.clone().map(|of| (of, method)));
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let is_own = matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("self"));
        let method = call.method.to_string();
        self.called.extend(self.of.clone().filter(|_| is_own).map(|of| (of, method)));
        syn::visit::visit_expr_method_call(self, call);
    }

    /// `Self::x`, called here or handed on as a function.
    fn visit_expr_path(&mut self, named: &'ast syn::ExprPath) {
        let parts: Vec<String> = named.path.segments.iter().map(|part| part.ident.to_string()).collect();
        if let (Some(of), [kind, method]) = (&self.of, parts.as_slice())
            && (kind == "Self" || kind == of)
        {
            self.called.insert((of.clone(), method.clone()));
        }
        syn::visit::visit_expr_path(self, named);
    }
}

/// The types of which files call one another in a circle, and how many files do.
fn in_circles(files: &BTreeMap<Module, String>) -> BTreeMap<String, usize> {
    let read: BTreeMap<&Module, Methods> =
        files.iter().map(|(module, source)| (module, Methods::of(source))).collect();
    let mut homes: BTreeMap<&(String, String), &Module> = BTreeMap::new();
    for (module, methods) in &read {
        homes.extend(methods.defined.iter().map(|method| (method, *module)));
    }
    let mut of_types: BTreeMap<&str, Arrows> = BTreeMap::new();
    for (module, methods) in &read {
        for method in methods.called.difference(&methods.defined) {
            if let Some(home) = homes.get(method) {
                let arrows = of_types.entry(&method.0).or_default().entry((*module).clone()).or_default();
                arrows.insert((*home).clone(), method.1.clone());
            }
        }
    }
    let counted = of_types.into_iter().map(|(name, arrows)| {
        let in_one = arrows.keys().filter(|file| circle_through(&arrows, file).is_some());
        (name.to_owned(), in_one.count())
    });
    counted.filter(|(_, files)| *files > 0).collect()
}

#[test]
fn methods_call_those_of_other_files_in_one_direction() {
    let mut found = BTreeMap::new();
    for package in PACKAGES {
        let map = Map::read(package);
        let files = map.files().into_iter().filter(|file| !is_test(file.strip_prefix(&map.root).unwrap()));
        let read = files.map(|file| (module_depth(&map.root, &file), fs::read_to_string(&file).unwrap()));
        found.extend(in_circles(&read.collect()).into_iter().map(|(name, files)| ((*package, name), files)));
    }
    let written = IN_CIRCLES.iter().map(|(package, name, files)| ((*package, (*name).to_owned()), *files));
    assert_eq!(found, written.collect(), "left: what there is, right: what is written in this file");
}

#[test]
fn the_test_sees_circles_of_methods() {
    let seen = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(module, source)| (vec![(*module).to_owned()], (*source).to_owned()));
        in_circles(&files.collect())
    };
    let there = ("a", "impl Run<'_> { async fn a(self) { self.b().await; } }");
    let back = ("b", "impl Run<'_> { async fn b(&self) { let x = { self.a() }; } }");
    let leaf = ("b", "impl Run<'_> { async fn b(&self) { self.c(); } fn c(&self) {} }");
    assert_eq!(seen(&[there, back]), BTreeMap::from([("Run".to_owned(), 2)]));
    assert!(seen(&[there, leaf]).is_empty());
    // By the name of the type, and as a value.
    for back in ["Self::a(x);", "Run::a(x);", "x.map(Self::a);"] {
        let back = format!("impl Run<'_> {{ async fn b(&self) {{ {back} }} }}");
        assert_eq!(seen(&[there, ("b", &back)]), BTreeMap::from([("Run".to_owned(), 2)]), "{back}");
    }
    // Another type's method of that name is another one.
    assert!(
        seen(&[there, ("b", "impl Run<'_> { fn b(self) {} } impl Other { fn c(self) { self.a(); } }")])
            .is_empty()
    );
}
