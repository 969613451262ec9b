//! What an applier does with the content of a folder alone, done here without effect.

use capstan_model::ids::ClusterId;
use capstan_plan::boundary::{Scopes, Surroundings, boundary_in_git};
use capstan_plan::templates::{self, TemplateNames};

use super::Fleet;

impl Fleet {
    /// Reads a folder and its services, renders them, judges the boundary, names the templates. The results are
    /// dropped: the applier of the folder reports them. No other folder is read.
    pub fn try_folder(&self, id: &ClusterId) {
        let _read =
            (self.tombstones(id).is_ok(), self.recorded_components(id).is_ok(), self.services(id).is_ok());
        if let Ok(mut rendered) = self.render(id) {
            let scopes = Scopes::default();
            let around =
                Surroundings { folder: id, settings: &self.settings, scopes: &scopes, neighbours: None };
            let _judged = boundary_in_git(&rendered, &around);
            let _named = templates::name_templates(&mut rendered.objects, &TemplateNames::default(), &[]);
        }
        for service in self.folder(id).iter().flat_map(|folder| &folder.services) {
            let _rendered = self.render_service(id, &service.folder).is_ok();
        }
    }
}
