/**
 * `gov forward add`, `list`, `test`, `remove`: the section `forwards` of plane.json or service.json. A changed file is
 * checked before it replaces the old one, and a crash leaves the old file or the new one. A serving process reads it
 * at its next start. Proven by `test/cli/commands/forward.test.ts`.
 */
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { testNotice } from '../../core/forwards/notice.ts';
import type { LogSource } from '../../core/forwards/record.ts';
import { silentLog } from '../../service/call/log.ts';
import { readPlaneFile } from './config.ts';
import { rewriteMembers } from '../config/rewrite.ts';
import type { Variables } from '../config/layers.ts';
import { readServiceFile } from '../service/config.ts';
import { Bucket } from '../forwards/bucket.ts';
import {
  forwardsOf,
  targetOf,
  type ForwardsFile,
  type ForwardTarget,
  type TargetFile,
} from '../forwards/config.ts';
import { lineOf } from '../forwards/gather.ts';
import { openTransport } from '../forwards/open.ts';
import { checkFiles } from '../forwards/secure.ts';
import type { SendOutcome } from '../forwards/transport.ts';

interface ForwardsEdit {
  readonly path: string;
  readonly isPlane: boolean;
  readonly file: ForwardsFile;
}

/** NOT_FOUND where the directory is neither a plane nor a service. */
function fileOf(dataDir: string): ForwardsEdit {
  const [plane, service] = [join(dataDir, 'plane.json'), join(dataDir, 'service.json')];
  if (existsSync(plane)) return { path: plane, isPlane: true, file: readPlaneFile(plane) };
  if (existsSync(service)) return { path: service, isPlane: false, file: readServiceFile(service) };
  throw new GovError('NOT_FOUND', `expected a plane or a service in ${dataDir}; give --data DIR`);
}

/** The targets of a data directory. */
export function readTargets(dataDir: string): readonly ForwardTarget[] {
  const { path, file } = fileOf(dataDir);
  return forwardsOf(file, { path, dataDir });
}

/**
 * Adds a target. CONFLICT where there is one of its name, VALIDATION_ERROR for an invalid member or a file that cannot be
 * read, FORBIDDEN for a secret that others may read.
 */
export function addTarget(dataDir: string, target: TargetFile): ForwardTarget {
  const { file, ...place } = fileOf(dataDir);
  const before = file.forwards ?? [];
  if (before.some(({ name }) => name === target.name)) {
    const detail = `expected a new name, got ${target.name}, which exists; remove that target first, or give another name`;
    throw new GovError('CONFLICT', detail);
  }
  const [added] = forwardsOf({ forwards: [target] }, { path: place.path, dataDir });
  if (added === undefined) throw new Error('expected one target, got none');
  checkFiles(added);
  replace(place, [...before, target]);
  return added;
}

/**
 * NOT_FOUND where there is no such target. Its position stays: a target of the same name continues there, and one with an
 * address of before where that address ended.
 */
export function removeTarget(dataDir: string, name: string): void {
  const { file, ...place } = fileOf(dataDir);
  const before = file.forwards ?? [];
  const after = before.filter((target) => target.name !== name);
  if (after.length === before.length) throw unknown(dataDir, name);
  replace(place, after);
}

const unknown = (dataDir: string, name: string): GovError =>
  new GovError('NOT_FOUND', `expected a forward target of ${dataDir}, got ${name}; see gov forward list`);

function replace({ path, isPlane }: Omit<ForwardsEdit, 'file'>, forwards: readonly TargetFile[]): void {
  const members = { forwards: forwards.length === 0 ? undefined : forwards };
  rewriteMembers(path, members, isPlane ? readPlaneFile : readServiceFile);
}

/**
 * Opens the bucket of a configured target, by its name, or of a described one. NOT_FOUND without such a target,
 * VALIDATION_ERROR for one that is no object store, or whose members or secret are missing.
 */
export function openBucket({
  dataDir,
  at,
  env,
}: {
  readonly dataDir: string;
  readonly at: string | TargetFile;
  readonly env: Variables;
}): { readonly bucket: Bucket; readonly prefix: string } {
  const target =
    typeof at === 'string'
      ? readTargets(dataDir).find(({ name }) => name === at)
      : targetOf(at, { from: 'flags', dataDir });
  if (target === undefined) throw unknown(dataDir, String(at));
  if (target.kind !== 's3')
    throw new GovError('VALIDATION_ERROR', `expected a target s3://BUCKET/PREFIX, got ${target.to}`);
  return { bucket: new Bucket(target, env), prefix: target.prefix };
}

export interface TestDelivery {
  readonly name: string;
  readonly to: string;
  /** Id of the record, by which it can be found at the receiver. */
  readonly id: string;
  readonly ok: boolean;
  readonly said: string;
  readonly durationMs: number;
}

/** Sends one record that is marked as a test, and waits for the answer. Changes no position. */
export async function tryTarget(
  dataDir: string,
  name: string,
  { env, nowMs, random }: { readonly env: Variables; readonly nowMs: number; readonly random: string },
): Promise<TestDelivery> {
  const target = readTargets(dataDir).find((each) => each.name === name);
  if (target === undefined) throw unknown(dataDir, name);
  const started = performance.now();
  const id = `test-${random}`;
  const sent = await sendOne(target, { source: sourceIn(dataDir), env, nowMs, id });
  const said = sent.ok ? (sent.said ?? told[target.kind]) : sent.failed;
  const ok = sent.ok && (sent.refused ?? 0) === 0;
  return { name, to: target.to, id, ok, said, durationMs: Math.round(performance.now() - started) };
}

const told = {
  syslog: 'the receiver read the record and ended the connection',
  http: 'the receiver took the record',
  s3: 'the store has the objects below gov-forward-test/',
} as const;

interface One {
  readonly source: LogSource;
  readonly env: Variables;
  readonly nowMs: number;
  readonly id: string;
}

async function sendOne(target: ForwardTarget, { source, env, nowMs, id }: One): Promise<SendOutcome> {
  const host = hostname();
  const transport = await openTransport(target, { env, hostname: host, log: silentLog });
  try {
    const line = lineOf(testNotice(source, { nowMs, id }), { target, hostname: host });
    // a folder of its own, so that the chain of manifests of a project stays as it is
    const place = target.kind === 's3' ? { ...source, projectId: 'gov-forward-test' } : source;
    const sent = await transport.send({ source: place, from: 0, to: 1, lines: [line] }, null);
    if (!sent.ok || sent.isKept) return sent;
    return (await transport.confirm?.(10_000)) ?? sent;
  } finally {
    transport.close();
  }
}

/** The project of a plane; a service has many, so its name stands for them. */
function sourceIn(dataDir: string): LogSource {
  const { path, isPlane } = fileOf(dataDir);
  if (isPlane) return readPlaneFile(path);
  const { name } = readServiceFile(path);
  return { projectId: name, organizationId: name, environment: 'production', origin: name };
}
