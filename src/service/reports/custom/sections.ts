/**
 * The sections of the built-in templates that a custom template may choose, by id. Each figure and each check of a
 * built-in report belongs to one section, and goes with it. Proven by `test/service/reports/custom/compose.test.ts`,
 * which builds every template and compares.
 */
import type { ReportSectionId } from '../../../contract/report-words.ts';
import { checks as names } from '../checks/names.ts';

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

const oversight = [names.answered, names.tookTime, names.notOwnRequest];

export const sections: Readonly<Record<ReportSectionId, SectionSpec>> = {
  'ai-act-logging/law': { title: 'What the law asks of logs', tables: [], figures: [], checks: [] },
  'ai-act-logging/systems': {
    title: 'Systems and periods of use',
    tables: ['systems', 'periods-of-use'],
    figures: ['systems', 'runs', 'events', 'unnamed'],
    checks: [names.recorded, names.namesSystem],
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
    checks: [names.keptSixMonths],
  },
  'run-evidence/run': {
    title: 'The run',
    tables: [],
    figures: ['record', 'compliance', 'lasted'],
    checks: [names.fieldsKept],
  },
  'run-evidence/events': {
    title: 'What happened',
    tables: ['events'],
    figures: ['events'],
    checks: [names.runWhole],
  },
  'run-evidence/decisions': {
    title: 'What was decided',
    tables: ['decisions', 'approvals', 'tool-calls'],
    figures: ['decisions', 'exceptions', 'ungoverned', 'deniedButRan'],
    checks: [names.runObeyed, names.runGoverned],
  },
  'run-evidence/proofs': {
    title: 'How to check it',
    tables: ['proofs', 'replays'],
    figures: ['proof'],
    checks: [names.runProved],
  },
  'policy-changes/changes': {
    title: 'Changes',
    tables: ['policy-changes'],
    figures: ['changes', 'inForce', 'withRemark', 'alone', 'unknown', 'withoutReason', 'weakened'],
    checks: [names.secondPerson, names.hasReason],
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
    title: 'Answers to requests for approval',
    tables: ['approvals'],
    figures: ['open', 'approved', 'refused', 'expired', 'medianOpen', 'quick', 'signed'],
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
    checks: [names.callDecided, names.grantsUsed],
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
    checks: [names.planesWhole, names.usageWhole, names.indexCovers],
  },
  'integrity-completeness/clocks': {
    title: 'Clocks',
    tables: [],
    figures: ['clock', 'skewed'],
    checks: [names.clockSteady, names.clientClocks],
  },
  'integrity-completeness/sources': {
    title: 'Sources',
    tables: ['sources', 'quiet-times'],
    figures: ['silent', 'missing', 'quiet'],
    checks: [names.sourcesSend],
  },
  'integrity-completeness/ungoverned': {
    title: 'What ran ungoverned',
    tables: ['coverage-alarms'],
    figures: ['alarms'],
    checks: [names.allGoverned],
  },
  'replay-drift/replays': {
    title: 'Replays',
    tables: ['replays'],
    figures: ['differing', 'replays', 'runsReplayed', 'runs'],
    checks: [names.sameResult],
  },
  'replay-drift/drift': {
    title: 'Drift',
    tables: ['drift', 'conditions'],
    figures: ['drifting', 'critical', 'high'],
    checks: [names.noGraveDrift],
  },
  'incident-bundle/timeline': {
    title: 'What happened',
    tables: ['timeline', 'affected-runs'],
    figures: ['failures', 'first', 'last', 'runs', 'proofs'],
    checks: [names.runsProved],
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
    checks: [names.meterSigned, names.daysAddUp],
  },
  'usage-statement/billing': {
    title: 'What is billed',
    tables: ['units-by-month', 'plane-reports'],
    figures: ['planeReports'],
    checks: [names.quotasAgree, names.planesLinked],
  },
  'retention-deletion/erasures': {
    title: 'Erasures',
    tables: ['erasures'],
    figures: ['values', 'stillStored', 'erasures', 'byRequest'],
    checks: [names.valuesGone],
  },
  'retention-deletion/prunings': {
    title: 'Prunings',
    tables: ['prunings'],
    figures: ['prunings', 'prunedBelow'],
    checks: [names.prunedRoots],
  },
  'retention-deletion/rules': {
    title: 'Rules',
    tables: ['retention-changes'],
    figures: ['retention', 'legalHold'],
    checks: [names.holdKept],
  },
  'executive-summary/summary': {
    title: 'In short',
    tables: ['attention'],
    figures: ['attention', 'systems', 'runs', 'events', 'decisions', 'stopped', 'approvals', 'proofs'],
    checks: [],
  },
};
