//! Reconcilers that enrolled, as people are shown them.

use capstan_live::agent::{AgentId, PublicKey};
use capstan_plan::settings::ManagementClusterUid;
use capstan_ports::{Agent, Clock as _, Enrolled, Enrolment as _, Invitation};
use jiff::SignedDuration;

use super::world::{SigningIn, World};

const ID: &str = "01J9ZQ3Z4X6M8N0P2R4S6T8V0W";
const UID: &str = "6f1c2d3e-0000-4000-8000-00000000000a";

/// Invites a reconciler as `ada@bot`, and has it enrol.
pub(super) async fn enrol(world: &World) -> Agent {
    let (database, now) = (&world.bench.database, world.bench.clock.now());
    let invitation = Invitation {
        hash: "hash of the code".to_owned(),
        management_cluster: ManagementClusterUid::parse(UID).unwrap(),
        agent: Some("standby".to_owned()),
        invited_by: "ada@bot".to_owned(),
        expires_at: now + SignedDuration::from_hours(1),
    };
    database.save_invitation(&invitation).await.unwrap();
    let agent = Agent {
        id: AgentId::parse(ID).unwrap(),
        management_cluster: invitation.management_cluster.clone(),
        name: "as it calls itself".to_owned(),
        public_key: PublicKey::new([7; 32]),
        invited_by: String::new(),
        enrolled_at: now,
        seen_at: None,
        revoked_at: None,
    };
    assert_eq!(database.enrol(&invitation.hash, &agent).await.unwrap(), Enrolled::Yes);
    agent
}

#[tokio::test(flavor = "multi_thread")]
async fn who_enrolled_for_what_by_whose_wish_is_on_the_page_and_in_the_audit_trail() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    enrol(&world).await;
    let audit = world.local("/audit?action=agent-enrolled").await;
    audit.has("data-label=\"Who\">ada@bot</td>");
    audit.has("data-label=\"What\">agent-enrolled</td>");
    // The first 16 hex digits of the SHA-256 of the key.
    let detail = format!(
        "data-label=\"Detail\">{ID} (standby) enrolled for the management cluster {UID}, with the key 4bb06f8e4e3a7715</td>"
    );
    audit.has(&detail);
    audit.lacks("as it calls itself");
    let page = world.local("/reconcilers").await;
    page.has(&format!("scope=\"row\">standby<span class=\"quiet id\">{ID}</span></th>"));
    page.has(&format!("data-label=\"Management cluster\"><span class=\"id\">{UID}</span></td>"));
    page.has("<span class=\"badge mood-good\">enrolled</span>");
    page.has("data-label=\"Invited by\">ada@bot</td>");

    assert!(world.bench.database.revoke(&AgentId::parse(ID).unwrap(), "wim@bot").await.unwrap());
    let audit = world.local("/audit?actor=wim@bot").await;
    audit.has("data-label=\"What\">agent-revoked</td>");
    audit.has(&format!("data-label=\"Detail\">{ID} was revoked, and what it reported forgotten</td>"));
    world.local("/reconcilers").await.has("<span class=\"badge mood-waits\">revoked</span>");

    // It belongs to no repository: no right in one shows it to anybody.
    let ada = world.sign_in("ada").await;
    let audit = world.page("/audit", &ada).await;
    audit.has("proposal-opened");
    audit.lacks(ID);
    assert_eq!(world.page("/reconcilers", &ada).await.status, 404);
}
