/**
 * All commands, generated and hand-made, by the noun they stand under. Nothing but data: what is built holds the result
 * (`scripts/frozen.ts`), so that a command makes no other's flags.
 */
import type { CommandSpec } from '../program/command.ts';
import { generatedSpecs } from '../program/manifest.ts';
import * as approvals from './approvals/spec.ts';
import * as auth from './auth/spec.ts';
import { eventsPush, eventsTail } from './events/spec.ts';
import { erase } from './erase/spec.ts';
import * as exports from './export/spec.ts';
import * as general from './tool/spec.ts';
import { graphsGet, graphsLineage } from './graphs/spec.ts';
import { jobsWait } from './jobs/spec.ts';
import * as keys from './keys/spec.ts';
import * as operate from './plane/operate-spec.ts';
import { logFsck, planeInit, planeServe, planeStatus } from './plane/spec.ts';
import * as planeConfig from './plane/config-spec.ts';
import * as policy from './policy/spec.ts';
import * as projects from './projects/spec.ts';
import * as replay from './replay/spec.ts';
import * as risk from './risk/spec.ts';
import * as service from './service/spec.ts';
import * as tools from './tools/spec.ts';
import * as planes from './planes/spec.ts';
import { logCompact, logPrune } from './log/spec.ts';
import { quickstart } from './quickstart/spec.ts';
import { proofsCreate, proofsGet, proofsVerify } from './proofs/spec.ts';
import * as telemetry from './plane/telemetry-spec.ts';
import * as usage from './usage/spec.ts';
import * as witness from './witness/spec.ts';
import { nouns } from './nouns.ts';

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

/** A hand-made one replaces a generated one of the same name. */
function under(noun: string): readonly CommandSpec[] {
  const byName = new Map<string, CommandSpec>();
  const mine = handMade.filter(({ name }) => name.split(' ')[0] === noun);
  for (const spec of [...generatedSpecs(noun), ...mine]) byName.set(spec.name, spec);
  return [...byName.values()].sort((one, other) => rank(one) - rank(other));
}

export const specsByNoun: Readonly<Record<string, readonly CommandSpec[]>> = Object.fromEntries(
  nouns.map(([, noun]) => [noun, under(noun)]),
);
