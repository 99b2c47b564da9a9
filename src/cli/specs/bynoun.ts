/**
 * All commands, generated and hand-made, by the noun they stand under. Nothing but data: what is built holds the result
 * (`scripts/frozen.ts`), so that a command makes no other's flags.
 */
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
