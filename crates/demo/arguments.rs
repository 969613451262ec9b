//! The demo's arguments. A parser library would be compiled before a newcomer sees anything.

use super::failure::{DemoFailure, failed};

pub(super) const HELP: &str = "\
The whole bot on an embedded forge with sample data

Usage: capstan-demo [--tour NAME] [--once] [--port PORT]

      --tour NAME  one tour alone: release, inventory or waves [default: all of them, in this order]
      --once       print what happened and leave
      --port PORT  port of the forge's pages [default: any free one]";

/// What the demo shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tour {
    /// A release becomes pull requests, with conflicts and refusals.
    Release,
    /// An edit of an inventory, and the clusters that it reaches.
    Inventory,
    /// A campaign in waves, stopped and resumed on the dashboard issue, with machines that roll.
    Waves,
}

impl Tour {
    pub(super) const ALL: [Self; 3] = [Self::Release, Self::Inventory, Self::Waves];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Inventory => "inventory",
            Self::Waves => "waves",
        }
    }

    /// What a person sees in its repository, as the end of a sentence.
    pub(super) const fn shows(self) -> &'static str {
        match self {
            Self::Release => "a release becomes pull requests, or reasons why not",
            Self::Inventory => "values become clusters, and an edit says what it reaches",
            Self::Waves => "a campaign moves a release through the fleet, and machines roll",
        }
    }

    fn named(name: &str) -> Result<Self, DemoFailure> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|tour| tour.name() == name)
            .ok_or_else(|| failed(format!("--tour: there is no tour `{name}`; there are {names}")))
    }
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DemoArguments {
    Demo(Demo),
    /// Plans what the bot asks on standard input: the bot starts this program for that.
    Planner {
        memory: u64,
        stack: usize,
    },
    Help,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Demo {
    /// Print what happened and leave.
    pub(super) once: bool,
    /// Port of the forge's pages; 0 is any free one.
    pub(super) port: u16,
    /// The one tour to play.
    pub(super) tour: Option<Tour>,
}

impl Demo {
    /// The tours to play, in their order.
    pub(super) fn tours(&self) -> Vec<Tour> {
        self.tour.map_or_else(|| Tour::ALL.to_vec(), |one| vec![one])
    }
}

impl DemoArguments {
    pub(super) fn read(words: impl Iterator<Item = String>) -> Result<Self, DemoFailure> {
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().flat_map(|word| word.splitn(2, '=')).collect();
        if let [capstan_planner_process::SUBCOMMAND, "--memory", memory, "--stack", stack] = words.as_slice()
        {
            let (memory, stack) =
                (memory.parse::<u64>().map_err(failed)?, stack.parse::<usize>().map_err(failed)?);
            return Ok(Self::Planner { memory, stack });
        }
        let mut demo = Demo::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word {
                "--once" => demo.once = true,
                "--port" => {
                    let port = words.next().and_then(|port| port.parse().ok());
                    demo.port = port.ok_or_else(|| failed("--port: expected a number from 0 to 65535"))?;
                }
                "--tour" => demo.tour = Some(Tour::named(words.next().unwrap_or_default())?),
                "--help" | "-h" => return Ok(Self::Help),
                other => return Err(failed(format!("unknown argument `{other}`; see --help"))),
            }
        }
        Ok(Self::Demo(demo))
    }
}

#[cfg(test)]
mod tests {
    use super::{Demo, DemoArguments, Tour, failed};

    fn read(words: &str) -> Result<DemoArguments, super::DemoFailure> {
        DemoArguments::read(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_start_the_demo_and_the_bot_starts_the_planner() {
        assert_eq!(read(""), Ok(DemoArguments::Demo(Demo::default())));
        assert_eq!(
            read("--once --port 8090"),
            Ok(DemoArguments::Demo(Demo { once: true, port: 8090, tour: None }))
        );
        assert_eq!(
            read("--port=8090"),
            Ok(DemoArguments::Demo(Demo { once: false, port: 8090, tour: None }))
        );
        assert_eq!(read("--once -h"), Ok(DemoArguments::Help));
        assert_eq!(
            read("planner-process --memory=1024 --stack=64"),
            Ok(DemoArguments::Planner { memory: 1024, stack: 64 })
        );
        assert_eq!(read("--port many"), Err(failed("--port: expected a number from 0 to 65535")));
        assert_eq!(
            read("--tour waves"),
            Ok(DemoArguments::Demo(Demo { tour: Some(Tour::Waves), ..Demo::default() }))
        );
        assert_eq!(
            read("--tour"),
            Err(failed("--tour: there is no tour ``; there are release, inventory, waves"))
        );
        assert_eq!(read("serve"), Err(failed("unknown argument `serve`; see --help")));
    }
}
