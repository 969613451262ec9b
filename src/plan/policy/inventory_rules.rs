//! The rules of the inventory and of templates. Their verdicts fall in `capstan_inventory`; here they have their entries.

use super::rule::{About, Rule};
use capstan_model::finding::{RuleEntry, rules};

/// A rule whose verdict falls in `capstan_inventory`.
pub(super) struct InventoryRule(&'static About);

impl Rule for InventoryRule {
    fn about(&self) -> &'static About {
        self.0
    }
}

/// An entry with its page.
macro_rules! rule {
    ($name:ident, $entry:ident, $page:literal) => {
        pub(super) static $name: InventoryRule = {
            const ENTRY: &RuleEntry = rules::$entry;
            static ABOUT: About =
                About::new(ENTRY, include_str!(concat!("../../../docs/rules/", $page, ".md")));
            InventoryRule(&ABOUT)
        };
    };
}

rule!(CYCLE, INVENTORY_CYCLE, "inventory-cycle");
rule!(FINAL, INVENTORY_FINAL, "inventory-final");
rule!(FOLDER_CLASH, INVENTORY_FOLDER_CLASH, "inventory-folder-clash");
rule!(LEVEL, INVENTORY_LEVEL, "inventory-level");
rule!(REFERENCE, INVENTORY_REFERENCE, "inventory-reference");
rule!(REQUIRED, INVENTORY_REQUIRED, "inventory-required");
rule!(TYPE, INVENTORY_TYPE, "inventory-type");
rule!(UNKNOWN_KIND, INVENTORY_UNKNOWN_KIND, "inventory-unknown-kind");
rule!(UNKNOWN_VALUE, INVENTORY_UNKNOWN_VALUE, "inventory-unknown-value");
rule!(UNUSED_VALUE, INVENTORY_UNUSED_VALUE, "inventory-unused-value");
rule!(TEMPLATE_ERROR, TEMPLATE_ERROR, "template-error");
rule!(TEMPLATE_LIMIT, TEMPLATE_LIMIT, "template-limit");
rule!(VALUES_EDITED, VALUES_EDITED, "values-edited");
