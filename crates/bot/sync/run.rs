//! One run over one repository: what it starts from, and its subjects, each with the handles that it needs.

use capstan_bot_core::facts::Facts;
use jiff::Timestamp;
use secrecy::SecretString;

use super::Ports;
use super::answers::RequestAnswers;
use super::approvals::Approvals;
use super::binding::RequestBinder;
use super::campaigns::{CampaignProblems, CampaignReader};
use super::checks::{CheckSubjects, HeadChecks, HeadJudge, LivePreflights, Outlooks, TestMerges};
use super::clusters::ClusterPulls;
use super::commits::Commits;
use super::components::ComponentSupply;
use super::dashboard::DashboardIssue;
use super::deciding::PullDecisions;
use super::elsewhere::Outside;
use super::ended::EndedPulls;
use super::heads::Heads;
use super::inline::BranchRender;
use super::inputs::ClusterInputs;
use super::kubeconfigs::OwnerFiles;
use super::merging::ProposalMerges;
use super::onboarding::OnboardingPull;
use super::planning::TreePlanner;
use super::proposals::Proposals;
use super::publish::Publisher;
use super::reporters::ReportReader;
use super::request_subjects::RequestSubjects;
use super::requests::Inbox;
use crate::performing::Performer;
use capstan_ports::{Clock, CodeHost, Hints, Records, Repository};

/// What a run starts from, which does not change while it runs. A step passes its results on to the next one.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) ports: &'a Ports,
    pub(super) hints: &'a Hints,
    /// When it began.
    pub(super) began: Timestamp,
    pub(super) facts: &'a Facts,
    pub(super) token: &'a SecretString,
    pub(super) performer: &'a Performer<'a>,
}

impl<'a> Run<'a> {
    pub(super) const fn repository(self) -> &'a Repository {
        &self.facts.repository
    }

    pub(super) fn host(self) -> &'a dyn CodeHost {
        self.ports.host.as_ref()
    }

    pub(super) fn records(self) -> &'a dyn Records {
        self.ports.records.as_ref()
    }

    fn clock(self) -> &'a dyn Clock {
        self.ports.clock.as_ref()
    }

    // What reads Git, and asks the planner.

    fn commits(self) -> Commits<'a> {
        Commits { mirror: self.ports.mirror.as_ref(), token: self.token, facts: self.facts }
    }

    pub(super) fn heads(self) -> Heads<'a> {
        Heads { host: self.host(), commits: self.commits() }
    }

    pub(super) const fn planner(self) -> TreePlanner<'a> {
        TreePlanner { planner: &self.ports.planner, today: self.facts.today }
    }

    fn inputs(self) -> ClusterInputs<'a> {
        ClusterInputs { commits: self.commits(), planner: self.planner() }
    }

    pub(super) fn outside(self) -> Outside<'a> {
        let mirror = self.ports.mirror.as_ref();
        Outside { host: self.host(), mirror, repository: self.repository() }
    }

    pub(super) fn components(self) -> ComponentSupply<'a> {
        ComponentSupply { supplier: self.ports.components.as_ref(), facts: self.facts, heads: self.heads() }
    }

    pub(super) fn reports(self) -> ReportReader<'a> {
        ReportReader {
            reconcilers: self.ports.reconcilers.as_ref(),
            host: self.host(),
            clock: self.clock(),
            facts: self.facts,
            inputs: self.inputs(),
        }
    }

    // Requests.

    pub(super) fn inbox(self) -> Inbox<'a> {
        Inbox {
            host: self.host(),
            records: self.records(),
            clock: self.clock(),
            facts: self.facts,
            hints: self.hints,
            began: self.began,
            performer: self.performer,
        }
    }

    fn request_subjects(self) -> RequestSubjects<'a> {
        RequestSubjects { facts: self.facts, inputs: self.inputs() }
    }

    pub(super) fn binder(self) -> RequestBinder<'a> {
        RequestBinder {
            host: self.host(),
            clock: self.clock(),
            facts: self.facts,
            heads: self.heads(),
            merges: self.merges(),
            subjects: self.request_subjects(),
        }
    }

    pub(super) fn answers(self) -> RequestAnswers<'a> {
        let (facts, heads, performer) = (self.facts, self.heads(), self.performer);
        RequestAnswers {
            facts,
            performer,
            subjects: self.request_subjects(),
            clusters: ClusterPulls { clock: self.clock(), facts, heads, performer },
            render: BranchRender {
                commits: self.commits(),
                merges: self.merges(),
                outlooks: self.outlooks(),
                performer,
            },
            preflights: self.preflights(),
        }
    }

    pub(super) fn dashboard(self) -> DashboardIssue<'a> {
        DashboardIssue {
            host: self.host(),
            records: self.records(),
            clock: self.clock(),
            facts: self.facts,
            hints: self.hints,
            performer: self.performer,
        }
    }

    // Proposals.

    pub(super) fn proposals(self) -> Proposals<'a> {
        Proposals {
            host: self.host(),
            clock: self.clock(),
            facts: self.facts,
            performer: self.performer,
            decisions: PullDecisions {
                host: self.host(),
                facts: self.facts,
                heads: self.heads(),
                inputs: self.inputs(),
            },
            campaigns: CampaignReader {
                host: self.host(),
                clock: self.clock(),
                repository: self.repository(),
                webhooks: self.ports.webhooks.as_ref(),
                inputs: self.inputs(),
            },
            publisher: self.publisher(),
        }
    }

    pub(super) fn ended_pulls(self) -> EndedPulls<'a> {
        EndedPulls { host: self.host(), clock: self.clock(), facts: self.facts, performer: self.performer }
    }

    fn publisher(self) -> Publisher<'a> {
        Publisher {
            clock: self.clock(),
            facts: self.facts,
            commits: self.commits(),
            performer: self.performer,
        }
    }

    pub(super) fn approvals(self) -> Approvals<'a> {
        Approvals {
            host: self.host(),
            facts: self.facts,
            heads: self.heads(),
            merges: self.merges(),
            subjects: self.request_subjects(),
            publisher: self.publisher(),
        }
    }

    pub(super) fn proposal_merges(self) -> ProposalMerges<'a> {
        ProposalMerges {
            host: self.host(),
            records: self.records(),
            clock: self.clock(),
            repository: self.repository(),
            performer: self.performer,
            subjects: self.check_subjects(),
        }
    }

    // Checks.

    fn check_subjects(self) -> CheckSubjects<'a> {
        CheckSubjects { host: self.host(), facts: self.facts }
    }

    fn merges(self) -> TestMerges<'a> {
        TestMerges { host: self.host(), commits: self.commits(), subjects: self.check_subjects() }
    }

    fn outlooks(self) -> Outlooks<'a> {
        Outlooks { planner: self.planner(), outside: self.outside() }
    }

    fn preflights(self) -> LivePreflights<'a> {
        LivePreflights {
            host: self.host(),
            records: self.records(),
            clock: self.clock(),
            reconcilers: self.ports.reconcilers.as_ref(),
            facts: self.facts,
            hints: self.hints,
            heads: self.heads(),
            planner: self.planner(),
            merges: self.merges(),
        }
    }

    pub(super) fn checks(self) -> HeadChecks<'a> {
        HeadChecks {
            host: self.host(),
            records: self.records(),
            clock: self.clock(),
            planner: self.ports.planner.as_ref(),
            facts: self.facts,
            hints: self.hints,
            performer: self.performer,
            judge: HeadJudge {
                commits: self.commits(),
                planner: self.planner(),
                merges: self.merges(),
                outlooks: self.outlooks(),
                campaigns: CampaignProblems {
                    clock: self.clock(),
                    repository: self.repository(),
                    webhooks: self.ports.webhooks.as_ref(),
                },
                components: self.components(),
            },
            preflights: self.preflights(),
        }
    }

    // Pull requests beside the proposals.

    pub(super) fn onboarding(self) -> OnboardingPull<'a> {
        OnboardingPull {
            records: self.records(),
            clock: self.clock(),
            facts: self.facts,
            heads: self.heads(),
            planner: self.planner(),
            performer: self.performer,
        }
    }

    pub(super) fn owner_files(self) -> OwnerFiles<'a> {
        OwnerFiles {
            reconcilers: self.ports.reconcilers.as_ref(),
            facts: self.facts,
            heads: self.heads(),
            performer: self.performer,
        }
    }
}
