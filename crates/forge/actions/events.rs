//! Events that are recorded for the App's webhook.

use serde_json::{Value, json};

use crate::clock::{now, rfc3339};
use crate::error::ApiError;
use crate::outbox::Delivery;
use crate::random::random_guid;
use crate::state::{Account, State};
use crate::views;

impl State {
    /// Records an event of a repository for the App, if it is installed there and subscribed.
    pub(crate) fn emit(
        &mut self,
        full_name: &str,
        sender: &Account,
        event: &str,
        action: &str,
        payload: Value,
    ) {
        let Ok(repository) = self.repository(full_name) else { return };
        let Some(installation) = self.installation_for(repository).map(|installation| installation.id) else {
            return;
        };
        let always = (event, action) == ("check_run", "rerequested")
            || (event, action) == ("check_run", "requested_action")
            || (event, action) == ("check_suite", "rerequested");
        if !always && !self.app.events.iter().any(|subscribed| subscribed == event) {
            return;
        }
        let view = match event {
            "push" => views::push_repository(repository),
            _ => views::repository(repository),
        };
        let repository_id = repository.id;
        let mut body = json!({});
        if !action.is_empty() {
            body["action"] = json!(action);
        }
        let mut body = views::extend(body, payload);
        body["repository"] = view;
        body["sender"] = views::simple_user(sender, &self.web);
        body["installation"] = json!({"id": installation, "node_id": format!("IN_{installation}")});
        self.post(event, action, &body, Some(installation), Some(repository_id));
    }

    /// Records an event about an installation.
    pub(crate) fn emit_installation(
        &mut self,
        installation: u64,
        sender: &Account,
        event: &str,
        action: &str,
        payload: Value,
    ) {
        let Some(found) = self.installations.get(&installation) else { return };
        let view = views::installation(found, &self.app, &self.web);
        let mut body = views::extend(json!({"action": action, "installation": view}), payload);
        body["sender"] = views::simple_user(sender, &self.web);
        self.post(event, action, &body, Some(installation), None);
    }

    /// Records the event that GitHub sends when a webhook is set up.
    pub(crate) fn emit_ping(&mut self) {
        let id = self.app.id;
        let mut config = json!({"content_type": "json", "insecure_ssl": "0", "secret": "********"});
        if let Some(url) = &self.app.webhook_url {
            config["url"] = json!(url);
        }
        let body = json!({
            "zen": "Keep it logically awesome.",
            "hook_id": id,
            "hook": {
                "type": "App",
                "id": id,
                "app_id": id,
                "name": "web",
                "active": true,
                "events": self.app.events,
                "config": config,
                "created_at": rfc3339(self.app.created_at),
                "updated_at": rfc3339(self.app.created_at),
                "deliveries_url": format!("{}/app/hook/deliveries", self.web),
            },
        });
        self.post("ping", "", &body, None, None);
    }

    fn post(
        &mut self,
        event: &str,
        action: &str,
        body: &Value,
        installation: Option<u64>,
        repository: Option<u64>,
    ) {
        let delivery = Delivery {
            id: self.fresh_id(),
            guid: random_guid(),
            event: event.to_owned(),
            action: (!action.is_empty()).then(|| action.to_owned()),
            payload: body.to_string().into(),
            redelivery: false,
            status_code: 0,
            status: "pending".to_owned(),
            response: String::new(),
            installation,
            repository,
            at: now(),
            duration_seconds: 0.0,
        };
        self.outbox.add(delivery);
    }

    /// Queues the same event once more, under the same GUID.
    pub(crate) fn redeliver(&mut self, id: u64) -> bool {
        let Some(original) = self.outbox.find(id).cloned() else { return false };
        let again = Delivery {
            id: self.fresh_id(),
            redelivery: true,
            status_code: 0,
            status: "pending".to_owned(),
            response: String::new(),
            at: now(),
            ..original
        };
        self.outbox.add(again);
        true
    }

    /// Records a `pull_request` event with the pull request as it is now.
    pub(crate) fn emit_pull(
        &mut self,
        full_name: &str,
        number: u64,
        sender: &Account,
        action: &str,
        payload: Value,
    ) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let (issue, pull) = here.pull(number)?;
        let view = views::pull(self, here, issue, pull);
        let payload = views::extend(json!({"number": number, "pull_request": view}), payload);
        self.emit(full_name, sender, "pull_request", action, payload);
        Ok(())
    }

    /// Records an `issues` event with the issue as it is now.
    pub(crate) fn emit_issue(
        &mut self,
        full_name: &str,
        number: u64,
        by: &Account,
        action: &str,
        more: Value,
    ) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let payload = json!({"issue": views::issue(here, here.issue(number)?)});
        self.emit(full_name, by, "issues", action, views::extend(payload, more));
        Ok(())
    }
}
