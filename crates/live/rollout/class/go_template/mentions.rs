//! Which variables a template reads, whether or not it can be computed.

use super::pieces::{TemplatePiece, pieces};
use super::tokens::{TemplateToken, tokens};

/// What a template reads of the variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::rollout::class) enum Mentions {
    /// These fields, by their paths: `workers.size`.
    Fields(Vec<String>),
    /// Perhaps anything.
    Anything,
}

/// The fields that a template names, whether or not it can be computed. Within `range` and `with` a name belongs to
/// another value; it is counted nevertheless, and that value is named too.
pub(in crate::rollout::class) fn mentions(template: &str) -> Mentions {
    let Ok(pieces) = pieces(template) else { return Mentions::Anything };
    let mut fields = Vec::new();
    for piece in pieces {
        let TemplatePiece::Action(action) = piece else { continue };
        let Ok(tokens) = tokens(action) else { return Mentions::Anything };
        for token in tokens {
            match token {
                TemplateToken::Field(path) | TemplateToken::RootField(path) if path.is_empty() => {
                    return Mentions::Anything;
                }
                TemplateToken::Field(path) | TemplateToken::RootField(path) => fields.push(path.join(".")),
                TemplateToken::Root => return Mentions::Anything,
                _ => {}
            }
        }
    }
    fields.sort();
    fields.dedup();
    Mentions::Fields(fields)
}
