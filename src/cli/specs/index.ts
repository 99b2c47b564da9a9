/** All commands, generated and hand-made, and the nouns they stand under. */
import type { CommandSpec } from '../command.ts';
import { generatedSpecs } from '../manifest.ts';
import * as approvals from './approvals.ts';
import * as auth from './auth.ts';
import { eventsPush, eventsTail } from './events.ts';
import { erase } from './erase.ts';
import * as exports from './exports.ts';
import * as general from './general.ts';
import { graphsGet, graphsLineage } from './graphs.ts';
import { jobsWait } from './jobs.ts';
import * as keys from './keys.ts';
import * as operate from './operate.ts';
import { logFsck, planeInit, planeServe, planeStatus } from './plane.ts';
import * as planeConfig from './planeconfig.ts';
import * as policy from './policy.ts';
import * as projects from './projects.ts';
import * as replay from './replay.ts';
import * as risk from './risk.ts';
import * as service from './service.ts';
import * as tools from './tools.ts';
import * as planes from './planes.ts';
import { logCompact, logPrune } from './prune.ts';
import { quickstart } from './quickstart.ts';
import { proofsCreate, proofsGet, proofsVerify } from './proofs.ts';
import * as telemetry from './telemetry.ts';
import * as usage from './usage.ts';
import * as witness from './witness.ts';

/** Nouns in the order of `gov --help`, under the headings they stand below. */
export const nouns: readonly (readonly [heading: string, noun: string, summary: string])[] = [
  ['Start', 'quickstart', ''],
  ['Record', 'events', 'Audit events: push, list, follow'],
  ['Record', 'runs', 'Runs of agents'],
  ['Decide', 'policy', 'Policies: what agents may do'],
  ['Decide', 'risk', 'Risk of what they do'],
  ['Decide', 'tools', 'Tool calls: decide, run what is allowed'],
  ['Decide', 'approvals', 'What a person decides'],
  ['Prove', 'proofs', 'Compliance proofs: make, fetch, verify'],
  ['Prove', 'graphs', 'Causal graphs of runs'],
  ['Prove', 'replay', 'Recorded decisions, made again'],
  ['Prove', 'export', 'Files of all that was recorded, which prove themselves'],
  ['Prove', 'log', 'The log on disk'],
  ['Erase', 'erase', ''],
  ['Erase', 'erasures', 'What was erased, and when'],
  ['Operate', 'plane', 'The data plane on this machine'],
  ['Operate', 'service', 'The hosted service on this machine'],
  ['Operate', 'witness', 'A witness of logs, which cosigns their checkpoints'],
  ['Operate', 'jobs', 'Jobs of the service'],
  ['Operate', 'health', ''],
  ['Account', 'auth', 'Sign up, sign in, sign out'],
  ['Account', 'projects', 'Projects of the organization'],
  ['Account', 'keys', 'API keys of a project'],
  ['Account', 'planes', 'Data planes that report to the service'],
  ['Account', 'usage', 'Metered operations and quotas'],
  ['Account', 'billing', 'Billing, and how long bodies are kept'],
  ['This tool', 'context', 'Services you talk to'],
  ['This tool', 'completion', ''],
  ['This tool', 'commands', ''],
  ['This tool', 'help', ''],
  ['This tool', 'version', ''],
];

const handMade: readonly CommandSpec[] = [
  quickstart,
  erase,
  eventsPush,
  eventsTail,
  proofsCreate,
  proofsGet,
  proofsVerify,
  graphsGet,
  graphsLineage,
  ...Object.values(policy),
  ...Object.values(risk),
  ...Object.values(tools),
  ...Object.values(approvals),
  ...Object.values(replay),
  ...Object.values(exports),
  jobsWait,
  planeInit,
  planeServe,
  planeStatus,
  ...Object.values(planeConfig),
  ...Object.values(operate),
  ...Object.values(telemetry),
  ...Object.values(service),
  ...Object.values(witness),
  logFsck,
  logPrune,
  logCompact,
  ...Object.values(auth),
  ...Object.values(projects),
  ...Object.values(keys),
  ...Object.values(planes),
  ...Object.values(usage),
  ...Object.values(general),
];

const verbOrder = [
  'signup',
  'login',
  'push',
  'create',
  'list',
  'get',
  'show',
  'use',
  'set',
  'update',
  'count',
  'tail',
  'verify',
  'init',
  'serve',
  'status',
  'token',
];

/** Verbs that are not in the list follow those that are. */
function rank({ name }: CommandSpec): number {
  const at = verbOrder.indexOf(name.split(' ')[1] ?? '');
  return at < 0 ? verbOrder.length : at;
}

/** The commands under one noun; a hand-made one replaces a generated one of the same name. */
export function specsOf(noun: string): CommandSpec[] {
  const byName = new Map<string, CommandSpec>();
  const mine = handMade.filter(({ name }) => name.split(' ')[0] === noun);
  for (const spec of [...generatedSpecs(noun), ...mine]) byName.set(spec.name, spec);
  return [...byName.values()].sort((one, other) => rank(one) - rank(other));
}

export const allSpecs = (): CommandSpec[] => nouns.flatMap(([, noun]) => specsOf(noun));

/** The other number of a noun, accepted but not shown: event for events, policy for policies; plane and planes are two. */
export function otherNumber(noun: string): string | undefined {
  if (!nouns.some(([, each, summary]) => each === noun && summary !== '')) return undefined;
  const other = inOtherNumber(noun);
  return nouns.some(([, each]) => each === other) ? undefined : other;
}

function inOtherNumber(noun: string): string {
  if (noun.endsWith('ies')) return `${noun.slice(0, -3)}y`;
  if (noun.endsWith('s')) return noun.slice(0, -1);
  return noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}
