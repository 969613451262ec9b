//! What an applier does with the content of a folder alone, done here without effect.

use capstan_model::ids::ClusterId;
use capstan_plan::boundary::{Scopes, Surroundings, boundary_in_git};
use capstan_plan::templates::{self, TemplateNames};

use super::Fleet;
use super::services::{ClusterServices, render_service};

/// Reads a folder and its services, renders them, judges the boundary, names the templates. The results are
/// dropped: the applier of the folder reports them. No other folder is read.
pub fn try_folder(fleet: &Fleet, id: &ClusterId) {
    let _read = (fleet.own_settings(id).is_ok(), ClusterServices::of(fleet, id).is_ok());
    if let Ok(mut rendered) = fleet.render(id) {
        let (settings, scopes) = (fleet.settings(), Scopes::default());
        let around = Surroundings { folder: id, settings, scopes: &scopes, neighbours: None };
        let _judged = boundary_in_git(&rendered, &around);
        let _named = templates::name_templates(&mut rendered.objects, &TemplateNames::default(), &[]);
    }
    for service in fleet.folder(id).iter().flat_map(|folder| &folder.services) {
        let _rendered = render_service(fleet, id, &service.folder).is_ok();
    }
}
