//! `capstan agents invite|list|revoke`.
//!
//! A join code is printed once, to standard output, and never taken as an argument: what is on a
//! command line is seen by every process of the machine.

use capstan_campaign::wording::minute;
use capstan_live::agent::AgentId;
use capstan_model::dns_name::is_label;
use capstan_plan::settings::ManagementClusterUid;
use capstan_report::Refusal;
use serde_json::json;

use super::arguments::{AgentsCommand, Format};
use super::failure::CommandFailure;
use super::output;
use super::progress::say;
use super::text;
use capstan_bot::agents::{Invitee, NotInvited, invite};
use capstan_ports::{Agent, Clock, Enrolment, RecordsError};

fn failed(error: RecordsError) -> CommandFailure {
    CommandFailure::Failed(Refusal::Agents, error.to_string())
}

/// Runs one command on the bot's records.
///
/// # Errors
/// What was named does not exist, or the records fail.
pub async fn run(
    records: &dyn Enrolment,
    clock: &dyn Clock,
    by: &str,
    command: &AgentsCommand,
) -> Result<(), CommandFailure> {
    match command {
        AgentsCommand::Invite { management_cluster, name } => {
            let management_cluster = ManagementClusterUid::parse(management_cluster).map_err(|error| {
                CommandFailure::Usage(Refusal::Agents, format!("--management-cluster: {error}"))
            })?;
            let name = name.as_deref().map(agent_name).transpose()?;
            let invitee = Invitee { management_cluster, name, invited_by: by.to_owned() };
            let invited = invite(records, clock, invitee).await.map_err(|error| match error {
                NotInvited::Records(error) => failed(error),
                error => CommandFailure::Usage(Refusal::Agents, error.to_string()),
            })?;
            let until = minute(invited.expires_at);
            say!(
                "This join code works once, until {until}. It is not shown again: put it into the Secret that the Fleet names, under `joinCode`."
            );
            output::print_line(invited.code.expose())
        }
        AgentsCommand::List { output } => {
            let agents = records.agents().await.map_err(failed)?;
            output::print_text(&list(&agents, *output))
        }
        AgentsCommand::Revoke { agent } => {
            let id = AgentId::parse(agent).map_err(|error| {
                CommandFailure::Usage(
                    Refusal::Agents,
                    format!("`{agent}`: {error}; `capstan agents list` prints them"),
                )
            })?;
            if records.revoke(&id, by).await.map_err(failed)? {
                output::print_line(&format!("revoked {id}"))
            } else {
                Err(CommandFailure::Usage(Refusal::Agents, format!("there is no active agent {id}")))
            }
        }
    }
}

/// A name that differs from all others in a table.
fn agent_name(text: &str) -> Result<String, CommandFailure> {
    if is_label(text) {
        Ok(text.to_owned())
    } else {
        Err(CommandFailure::Usage(
            Refusal::Agents,
            format!(
                "--name: `{}` is not a name for a reconciler: use lower-case letters, digits and `-`, at most 63",
                text.escape_debug()
            ),
        ))
    }
}

fn list(agents: &[Agent], output: Format) -> String {
    let time = |at: Option<jiff::Timestamp>| at.map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let items = || -> serde_json::Value {
        agents
            .iter()
            .map(|agent| {
                json!({
                    "id": agent.id,
                    "managementCluster": agent.management_cluster,
                    "name": agent.name,
                    "key": agent.public_key.fingerprint(),
                    "invitedBy": agent.invited_by,
                    "enrolledAt": time(Some(agent.enrolled_at)),
                    "seenAt": time(agent.seen_at),
                    "revokedAt": time(agent.revoked_at),
                })
            })
            .collect()
    };
    match output {
        Format::Json => format!("{:#}\n", items()),
        Format::Yaml => output::yaml(&items()),
        Format::Text => table(agents),
    }
}

fn table(agents: &[Agent]) -> String {
    if agents.is_empty() {
        return "No reconciler has enrolled yet; `capstan agents invite` prints a join code.\n".to_owned();
    }
    let row = |agent: &Agent| {
        let seen = agent.seen_at.map(|at| at.strftime("%Y-%m-%d %H:%M").to_string());
        let state = if agent.revoked_at.is_some() { "revoked" } else { "enrolled" };
        vec![
            agent.id.to_string(),
            agent.management_cluster.to_string(),
            seen.unwrap_or_else(|| "never".to_owned()),
            state.to_owned(),
            agent.name.clone(),
            agent.invited_by.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = agents.iter().map(row).collect();
    text::table(&["agent", "management cluster", "seen (UTC)", "state", "name", "invited by"], &rows)
}
