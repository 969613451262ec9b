//! The rules of the inventory and of templates. Their verdicts fall in `capstan_inventory`; here they have their entries.

use super::judged_elsewhere::rule;

rule!(CYCLE, INVENTORY_CYCLE, "inventory-cycle");
rule!(DEFINITION_REMOVED, DEFINITION_REMOVED, "definition-removed");
rule!(FINAL, INVENTORY_FINAL, "inventory-final");
rule!(FOLDER_CLASH, INVENTORY_FOLDER_CLASH, "inventory-folder-clash");
rule!(FOLDER_DIFFERS, INVENTORY_FOLDER_DIFFERS, "inventory-folder-differs");
rule!(LEVEL, INVENTORY_LEVEL, "inventory-level");
rule!(REACH, INVENTORY_REACH, "inventory-reach");
rule!(REFERENCE, INVENTORY_REFERENCE, "inventory-reference");
rule!(REQUIRED, INVENTORY_REQUIRED, "inventory-required");
rule!(TYPE, INVENTORY_TYPE, "inventory-type");
rule!(UNKNOWN_KIND, INVENTORY_UNKNOWN_KIND, "inventory-unknown-kind");
rule!(UNKNOWN_VALUE, INVENTORY_UNKNOWN_VALUE, "inventory-unknown-value");
rule!(UNUSED_VALUE, INVENTORY_UNUSED_VALUE, "inventory-unused-value");
rule!(TEMPLATE_ERROR, TEMPLATE_ERROR, "template-error");
rule!(TEMPLATE_LIMIT, TEMPLATE_LIMIT, "template-limit");
rule!(VALUES_EDITED, VALUES_EDITED, "values-edited");
