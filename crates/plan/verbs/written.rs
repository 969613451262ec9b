//! What follows a verb, as a person writes it: what the audit trail and notices say of a command.

use std::fmt;

use capstan_model::ids::ClusterId;

use super::argument::{HoldArguments, OfCluster, OfCommit, OfConflict, Overruled, ReasonArgument, Rule, To};
use super::campaign::{Order, OrderWhat};
use super::clusters::{Back, ClusterFrom, DestroyArguments};

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.id())
    }
}

impl fmt::Display for Overruled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words(f, &[for_cluster(self.cluster.as_ref()), self.rule.to_string(), self.reason.clone()])
    }
}

impl fmt::Display for OfCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&for_cluster(self.0.as_ref()))
    }
}

impl fmt::Display for ReasonArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or_default())
    }
}

impl fmt::Display for HoldArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = self.until.map_or_else(String::new, |day| format!("until {day}"));
        words(f, &[for_cluster(self.cluster.as_ref()), self.reason.clone().unwrap_or_default(), until])
    }
}

impl fmt::Display for OfConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = self.object.as_ref().map_or_else(String::new, |(kind, name)| format!("{kind}/{name}"));
        let path = if self.path.is_root() { "all".to_owned() } else { self.path.to_string() };
        words(f, &[for_cluster(self.cluster.as_ref()), object, path])
    }
}

impl fmt::Display for OfCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or_default())
    }
}

impl fmt::Display for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = self.cluster.as_ref().map_or_else(String::new, ToString::to_string);
        let release = self.release.as_ref().map_or_else(String::new, |release| format!("to {release}"));
        words(f, &[cluster, release])
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, rest) = match &self.what {
            OrderWhat::Stop(reason) => ("stop", reason.clone().unwrap_or_default()),
            OrderWhat::Resume => ("resume", String::new()),
            OrderWhat::Skip(cluster) => ("skip", cluster.to_string()),
        };
        let of = self.of.as_ref().map_or_else(String::new, |campaign| format!("of {campaign}"));
        words(f, &[word.to_owned(), rest, of])
    }
}

impl fmt::Display for Back {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cluster.as_ref().map_or(Ok(()), |cluster| cluster.fmt(f))
    }
}

/// Without the values of its variables: the pull request shows them.
impl fmt::Display for ClusterFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.cluster, self.release)
    }
}

impl fmt::Display for DestroyArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words(f, &[self.cluster.to_string(), self.reason.clone().unwrap_or_default()])
    }
}

/// As the grammar takes it: a cluster in the root begins with `./`.
fn for_cluster(cluster: Option<&ClusterId>) -> String {
    cluster.map_or_else(String::new, |cluster| {
        let lead = if cluster.as_str().contains('/') { "" } else { "./" };
        format!("for {lead}{cluster}")
    })
}

fn words(f: &mut fmt::Formatter<'_>, parts: &[String]) -> fmt::Result {
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    f.write_str(&parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Verb};

    fn command(text: &str) -> Command {
        let (word, given) = text.split_once(' ').unwrap_or((text, ""));
        Verb::named(word).unwrap().with(given).unwrap()
    }

    #[test]
    fn a_command_is_written_as_it_was_given() {
        for text in [
            "help",
            "plan",
            "plan for gauss/peu01",
            "hold for ./peu01 the audit until 2026-12-01",
            "keep for gauss/peu01 MachinePool/a /spec/replicas",
            "take all",
            "override removes-machines the pool is empty",
            "explain component-downgrade",
            "merge 1a2b3c4",
            "upgrade gauss/peu01 to aws/v22.0.0",
            "upgrade to aws/v22.0.0",
            "rollback",
            "rollback gauss/peu01",
            "campaign stop wrong image of fleet",
            "campaign resume",
            "campaign skip gauss/peu01",
            "pause the audit",
            "destroy gauss/peu01 no longer used",
        ] {
            assert_eq!(command(text).to_string(), text);
        }
        assert_eq!(
            command("create gauss/peu01 from aws/v22.0.0 REGION=eu").to_string(),
            "create gauss/peu01 from aws/v22.0.0"
        );
    }
}
