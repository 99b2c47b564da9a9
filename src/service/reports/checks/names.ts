/**
 * The checks of the built-in templates by id, with the names that reports print. A name says no more than the check examines.
 * `test/service/reports/checks/fails.test.ts` has a log for each on which it fails, and one on which it is NOT SHOWN.
 */
import { limits } from '../../../contract/limits.ts';

export const checks = {
  recorded: 'Events were recorded automatically',
  namesSystem: 'Each run names its AI system',
  keptSixMonths: 'The setting keeps contents for at least six months',
  answered: 'The requests for approval were answered',
  tookTime: `Approvers took at least ${limits.reportQuickApprovalSeconds} s`,
  notOwnRequest: 'No credential decided its own request',
  runWhole: 'The index of the log has no further event of the run',
  runProved: 'A proof of the run is attached',
  runObeyed: 'The run obeyed the policies in force',
  runGoverned: 'No tool call ran without a decision',
  runBalanced: 'The recordings of the run balance',
  fieldsKept: 'All fields of the events are kept',
  secondPerson: 'A second person put each version in force',
  hasReason: 'Each change of what is in force has a reason',
  callDecided: 'Each tool call has a decision',
  grantsUsed: 'Agents used all tools that they were granted',
  planesWhole: 'No plane broke its own log',
  usageWhole: 'No usage report is missing',
  ackedKept: 'The database lost no acknowledged entry',
  clockSteady: 'The clock of the service did not jump',
  sourcesSend: 'No source of telemetry is silent',
  allGoverned: 'Nothing ran ungoverned',
  bypassesShut: 'No tried way around hooks is open',
  balanced: 'Recordings of other programs balance',
  clientClocks: 'Clients state times close to those of the log',
  indexCovers: 'The index of the log covers the period',
  sameResult: 'Recorded decisions give the same result again',
  noGraveDrift: 'No critical or high drift was found',
  runsProved: 'Each affected run has an attached proof',
  meterSigned: 'A signed checkpoint covers the metering log',
  daysAddUp: 'The days add up to the totals of the metering log',
  quotasAgree: 'Counters of quotas agree with the metering log',
  planesLinked: 'Reports of data planes follow from each other',
  valuesGone: 'Erased values are no longer stored',
  prunedRoots: 'Prunings left the hashes of the log as they were',
  holdKept: 'No legal hold was broken',
} as const;

export type CheckId = keyof typeof checks;

/** The things that each check examines. Without one, it is NOT SHOWN. The reference page prints them. */
export const examines: Readonly<Record<CheckId, string>> = {
  recorded:
    'runs with an event that names its decision, its hook, the MCP proxy or telemetry and was recorded within 5 min, or that says that the recorder dropped events. A run without either is not shown: an import or an event that somebody typed looks the same',
  namesSystem: 'runs of the period',
  keptSixMonths: 'events of the period, by the setting of the project when the report was made',
  answered: 'requests for approval. An expired one fails; an open one is not shown',
  tookTime: 'approvals',
  notOwnRequest: 'decided requests, by their credentials',
  runWhole: 'the answer of the log on how many events the run has',
  runProved: 'the attached proof, which is verified with the keys of the log',
  runObeyed:
    'the layer `policy_compliance` of the newest proof. A proof of fewer events than the run has is not shown',
  runGoverned: 'tool calls of the run, as coverage judges them',
  runBalanced:
    'balances of recordings of the run in which the scanner found something to compare. Recordings without one are not shown',
  fieldsKept: 'events of the run',
  secondPerson:
    'versions that were put in force, also by a rollback. Two credentials that are not shown to be of two persons are not shown',
  hasReason: 'changes of what is in force',
  callDecided: 'tool calls of the period',
  grantsUsed: 'tools that a decision of the period allowed',
  planesWhole: `reports of data planes in the period, and faults that the log has of them. A plane that reported nothing for ${limits.reportPlaneSilentHours} h is not shown`,
  usageWhole: `reports of data planes in the period, and faults that the log has of them. A plane that reported nothing for ${limits.reportPlaneSilentHours} h is not shown`,
  ackedKept: 'entries of the period, among them those that record a loss',
  clockSteady: 'entries of the period',
  sourcesSend: `services that sent telemetry for at least ${limits.sourceSilentHours} h, as known when the report was made. Silence before is not in it`,
  allGoverned: 'tool calls of the period, as coverage judges them',
  bypassesShut:
    'ways around the hooks of clients that gov agents drill --bypasses tried in the period, by client and machine. One whose newest attempt shows nothing is not shown',
  balanced:
    'balances of recordings of runs of the period in which the scanner found something to compare. Recordings without one are not shown',
  clientClocks: 'events of the period',
  indexCovers: `entries of the period. Those above the index fail where it is more than ${limits.indexLeaves} entries behind the log, and are not shown otherwise`,
  sameResult: 'replays that repeated a decision, or a step of a graph or of another run',
  noGraveDrift: 'replays with a snapshot to compare',
  runsProved: 'attached proofs, which are verified with the keys of the log. A run without one is not shown',
  meterSigned: 'the signed checkpoint of the metering log, and the units that follow from it',
  daysAddUp: 'leaves of the metering log in the period, whose own units are added up again',
  quotasAgree: 'whole months that have ended',
  planesLinked: 'reports of data planes in the period',
  valuesGone: 'erased values, which are looked for in the store',
  prunedRoots: 'prunings of the period',
  holdKept: 'erasures and prunings of the period, where the log records a hold',
};

/** The checks that read events of a period, which a pruning may have moved to an archive. */
export const readsEvents: ReadonlySet<CheckId> = new Set<CheckId>([
  'recorded',
  'namesSystem',
  'keptSixMonths',
  'fieldsKept',
  'callDecided',
  'grantsUsed',
  'allGoverned',
  'bypassesShut',
  'balanced',
  'clientClocks',
]);

/** The checks that each report has, whatever its template. */
export const commonChecks = {
  rowsFromLog: 'The rows come from the signed log',
  logSigned: 'The log signed the checkpoint',
  witnessed: 'Witnesses cosigned the checkpoint',
} as const;

const proofOf: Readonly<Record<string, string>> = {
  [checks.runObeyed]: checks.runProved,
  [checks.daysAddUp]: checks.meterSigned,
  [checks.quotasAgree]: checks.meterSigned,
};

/** The names of the checks that a check rests on: each rests on the log, whose leaves rest on its signature. */
export function restsOn(name: string): readonly string[] {
  const { logSigned, rowsFromLog, witnessed } = commonChecks;
  if (name === logSigned) return [];
  if (name === rowsFromLog || name === witnessed) return [logSigned];
  const proof = proofOf[name];
  return [logSigned, rowsFromLog, ...(proof === undefined ? [] : [proof])];
}

/** Of the main table of a report. Nobody but the operator vouches for what the log lists. */
export const tableCheck = (title: string): string =>
  `The table “${title}” has every row that the signed log lists`;

/** Says that more can follow; it neither passes nor fails. */
export const periodOver = 'The period is over';
