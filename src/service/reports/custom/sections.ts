/**
 * The sections of the built-in templates that a custom template may choose, by id. Each figure and each check of a
 * built-in report belongs to one section, and goes with it. Proven by `test/service/reports/custom/compose.test.ts`,
 * which builds every template and compares.
 */
import { limits } from '../../../contract/limits.ts';
import type { ReportSectionId } from '../../../contract/report-words.ts';

export interface SectionSpec {
  /** As the template writes it. */
  readonly title: string;
  /** Ids of its tables. */
  readonly tables: readonly string[];
  /** Names of figures of the summary. */
  readonly figures: readonly string[];
  /** Names of checks. */
  readonly checks: readonly string[];
}

const oversight = [
  'People answered the requests for approval',
  `Approvers took at least ${limits.reportQuickApprovalSeconds} s`,
  'Nobody approved their own request',
];

export const sections: Readonly<Record<ReportSectionId, SectionSpec>> = {
  'ai-act-logging/law': { title: 'What the law asks of logs', tables: [], figures: [], checks: [] },
  'ai-act-logging/systems': {
    title: 'Systems and periods of use',
    tables: ['systems', 'periods-of-use'],
    figures: ['systems', 'runs', 'events', 'unnamed'],
    checks: ['Events were recorded automatically', 'Each run names its AI system'],
  },
  'ai-act-logging/risks': {
    title: 'Events that help to find risks',
    tables: [],
    figures: [],
    checks: [],
  },
  'ai-act-logging/modifications': {
    title: 'Modifications',
    tables: ['modifications'],
    figures: ['modifications'],
    checks: [],
  },
  'ai-act-logging/oversight': {
    title: 'Human oversight',
    tables: ['approvals'],
    figures: ['oversight'],
    checks: oversight,
  },
  'ai-act-logging/retention': {
    title: 'Retention',
    tables: [],
    figures: ['retention'],
    checks: ['Contents are kept for at least six months'],
  },
  'run-evidence/run': {
    title: 'The run',
    tables: [],
    figures: ['record', 'compliance', 'lasted'],
    checks: ['All fields of the events are kept'],
  },
  'run-evidence/events': {
    title: 'What happened',
    tables: ['events'],
    figures: ['events'],
    checks: ['No event of the run is missing'],
  },
  'run-evidence/decisions': {
    title: 'What was decided',
    tables: ['decisions', 'approvals', 'tool-calls'],
    figures: ['decisions', 'exceptions', 'ungoverned', 'deniedButRan'],
    checks: ['The run obeyed the policies in force', 'No tool call ran without a decision'],
  },
  'run-evidence/proofs': {
    title: 'How to check it',
    tables: ['proofs', 'replays'],
    figures: ['proof'],
    checks: ['A proof of the run is attached'],
  },
  'policy-changes/changes': {
    title: 'Changes',
    tables: ['policy-changes'],
    figures: ['changes', 'inForce', 'withRemark', 'alone', 'withoutReason', 'weakened'],
    checks: ['A second person put each version in force', 'Each change of what is in force has a reason'],
  },
  'policy-changes/in-force': {
    title: 'What was in force',
    tables: ['policies-in-force'],
    figures: ['atEnd'],
    checks: [],
  },
  'policy-changes/risk-router': {
    title: 'Risk router',
    tables: ['risk-configurations'],
    figures: ['configs'],
    checks: [],
  },
  'decisions-exceptions/decisions': {
    title: 'Decisions',
    tables: ['decisions'],
    figures: ['exceptions', 'evaluations', 'denied', 'escalated', 'warned'],
    checks: [],
  },
  'decisions-exceptions/approvals': {
    title: 'Answers of people',
    tables: ['approvals'],
    figures: ['approved', 'refused', 'expired', 'medianOpen', 'quick'],
    checks: oversight,
  },
  'decisions-exceptions/risk-router': {
    title: 'Risk router',
    tables: ['risk-decisions'],
    figures: ['riskExceptions'],
    checks: [],
  },
  'tool-access/tools': {
    title: 'Granted and used',
    tables: ['tool-access'],
    figures: ['undecided', 'calls', 'unused', 'deniedOnly', 'agents', 'tools', 'refused'],
    checks: ['Each tool call has a decision', 'Agents used all tools that they were granted'],
  },
  'tool-access/data': { title: 'Data', tables: ['data-access'], figures: [], checks: [] },
  'tool-access/credentials': {
    title: 'Credentials',
    tables: ['credentials'],
    figures: ['credentials'],
    checks: [],
  },
  'integrity-completeness/log': {
    title: 'The log',
    tables: ['faults', 'checkpoints'],
    figures: ['faults', 'leaves', 'events'],
    checks: [
      'No plane broke its own log',
      'No usage report is missing',
      'The index of the log covers the period',
    ],
  },
  'integrity-completeness/clocks': {
    title: 'Clocks',
    tables: [],
    figures: ['clock', 'skewed'],
    checks: ['The clock of the service did not jump', 'Clients state times close to those of the log'],
  },
  'integrity-completeness/sources': {
    title: 'Sources',
    tables: ['sources', 'quiet-times'],
    figures: ['silent', 'missing', 'quiet'],
    checks: ['No source of telemetry fell silent'],
  },
  'integrity-completeness/ungoverned': {
    title: 'What ran ungoverned',
    tables: ['coverage-alarms'],
    figures: ['alarms'],
    checks: ['Nothing ran ungoverned'],
  },
  'replay-drift/replays': {
    title: 'Replays',
    tables: ['replays'],
    figures: ['differing', 'replays', 'runsReplayed', 'runs'],
    checks: ['Recorded decisions give the same result again'],
  },
  'replay-drift/drift': {
    title: 'Drift',
    tables: ['drift', 'conditions'],
    figures: ['drifting', 'critical', 'high'],
    checks: ['No critical or high drift was found'],
  },
  'incident-bundle/timeline': {
    title: 'What happened',
    tables: ['timeline', 'affected-runs'],
    figures: ['failures', 'first', 'last', 'runs', 'proofs'],
    checks: ['Each affected run has an attached proof'],
  },
  'incident-bundle/changes-before': {
    title: 'What had changed before',
    tables: ['changes-before'],
    figures: ['changes'],
    checks: [],
  },
  'incident-bundle/deadlines': {
    title: 'When reports are due',
    tables: [],
    figures: [],
    checks: [],
  },
  'usage-statement/units': {
    title: 'Units',
    tables: ['units-by-day'],
    figures: ['audit_event', 'compliance_proof', 'risk_decision', 'replay_verification', 'meterLeaves'],
    checks: [
      'A signed checkpoint covers the metering log',
      'The days add up to the totals of the metering log',
    ],
  },
  'usage-statement/billing': {
    title: 'What is billed',
    tables: ['units-by-month', 'plane-reports'],
    figures: ['planeReports'],
    checks: [
      'Counters of quotas agree with the metering log',
      'Reports of data planes follow from each other',
    ],
  },
  'retention-deletion/erasures': {
    title: 'Erasures',
    tables: ['erasures'],
    figures: ['values', 'stillStored', 'erasures', 'byRequest'],
    checks: ['Erased values are no longer stored'],
  },
  'retention-deletion/prunings': {
    title: 'Prunings',
    tables: ['prunings'],
    figures: ['prunings', 'prunedBelow'],
    checks: ['Prunings left the hashes of the log as they were'],
  },
  'retention-deletion/rules': {
    title: 'Rules',
    tables: ['retention-changes'],
    figures: ['retention', 'legalHold'],
    checks: ['No legal hold was broken'],
  },
  'executive-summary/summary': {
    title: 'In short',
    tables: ['attention'],
    figures: ['attention', 'systems', 'runs', 'events', 'decisions', 'stopped', 'approvals', 'proofs'],
    checks: [],
  },
};
