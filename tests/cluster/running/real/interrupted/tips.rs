//! What befalls the branch.

use jiff::Timestamp;

use super::{CUSTOMER, HOME, Table, is_applied, is_fleet_status};

pub(super) async fn attempt(table: &mut Table) {
    goes_back(table).await;
    is_emptied(table).await;
    is_renamed(table).await;
    is_deleted(table).await;
}

/// Pushed by force to an older commit: that one is applied, and what only the newer one had goes.
async fn goes_back(table: &mut Table) {
    let clusters = table.uids();
    table.say();
    table.town.repository.write(
        &format!("{CUSTOMER}/one/base/more.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one-more}\ndata: {key: \"0\"}\n",
    );
    table.commit("A ConfigMap more");
    table.applied().await;
    assert_eq!(table.says_of("one-more").as_deref(), Some("0"));

    let since = Timestamp::now();
    table.town.repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
    table.says -= 1;
    table.town.ask();
    let killed = table.kill_at(since, is_applied).await;
    table.applied().await;
    table.wait_for_status("one", "True Done", &[]).await;
    assert_eq!(table.deleted(since), ["configmaps one-more"]);
    assert_eq!(table.uids(), clusters);
    table.note("an older commit, pushed by force", "it is applied, and what it does not have goes", &killed);
}

/// A tree without history in which nothing is, pushed by force.
async fn is_emptied(table: &mut Table) {
    let since = Timestamp::now();
    let repository = &table.town.repository;
    let head = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["checkout", "-q", "--orphan", "other"]);
    repository.git(&["rm", "-q", "-r", "-f", "."]);
    repository.write("README.md", "Nothing is here.\n");
    repository.commit_all("Without history");
    repository.git(&["branch", "-q", "-M", "other", "main"]);
    table.town.ask();
    let killed = table.kill_at(since, is_fleet_status).await;
    table.source_is("UnknownManagementCluster").await;
    table.town.repository.git(&["reset", "-q", "--hard", &head]);
    rests(table, since).await;
    table.note("a tree without history, pushed by force", "refused, and nothing is touched", &killed);
}

/// The branch has another name: nobody guesses which.
async fn is_renamed(table: &mut Table) {
    let since = Timestamp::now();
    table.town.repository.git(&["branch", "-q", "-m", "main", "trunk"]);
    table.town.ask();
    let killed = table.kill_at(since, is_fleet_status).await;
    table.source_is("SourceMissing").await;
    assert_eq!(table.written(since), [""; 0]);

    // Once the Fleet names the new branch, the reconciler follows it.
    name_branch(table, "trunk");
    table.say();
    table.commit("On the branch with its new name");
    table.applied().await;
    table.town.repository.git(&["branch", "-q", "-m", "trunk", "main"]);
    name_branch(table, "main");
    rests(table, since).await;
    table.note(
        "the default branch renamed",
        "told, and nothing is touched until the Fleet names it",
        &killed,
    );
}

fn name_branch(table: &Table, name: &str) {
    let change = format!(r#"{{"spec":{{"source":{{"git":{{"branch":"{name}"}}}}}}}}"#);
    table.town.plane.kubectl(&["patch", "fleet", "fleet", "-n", HOME, "--type=merge", "-p", &change]);
}

/// The branch is gone.
async fn is_deleted(table: &mut Table) {
    let since = Timestamp::now();
    table.town.repository.git(&["checkout", "-q", "-b", "aside"]);
    table.town.repository.git(&["branch", "-q", "-D", "main"]);
    table.town.ask();
    let killed = table.kill_at(since, is_fleet_status).await;
    table.source_is("SourceMissing").await;
    table.town.repository.git(&["checkout", "-q", "-b", "main"]);
    rests(table, since).await;
    assert_eq!(table.written(since), [""; 0]);
    table.say();
    table.commit("It is back");
    table.applied().await;
    table.note(
        "the default branch deleted",
        "told, and nothing is touched; it goes on where it is back",
        &killed,
    );
}

/// Waits until the source is fetched again and every cluster is reconciled. Nothing was deleted meanwhile.
async fn rests(table: &Table, since: Timestamp) {
    table.town.ask();
    table.source_is("Fetched").await;
    table.applied().await;
    table.town.look_again().await;
    assert_eq!(table.deleted(since), [""; 0]);
}
