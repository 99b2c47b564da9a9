/**
 * The change of log keys while the plane serves. `gov plane keys` writes an order into `keys/`, where only the
 * owner of the keys can write. The serving process takes the order within a second. It stops signing while it
 * appends the leaf and loads the new keys, and writes the result into another file. Recording continues. A
 * crash leaves the same state as in a plane that does not serve (`rotate.ts`). Proven by
 * `test/plane/keys/rotate-serving.long.test.ts`.
 */
import { existsSync, linkSync, lstatSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { codeOf } from '../../src/files/write-fault.ts';
import { limits } from '../../src/contract/limits.ts';
import { GovError, problems, type ProblemCode } from '../../src/contract/problems.ts';
import { now, randomBytes } from '../../src/host/process/clock.ts';
import { replacePrivate } from '../../src/host/files/private.ts';
import type { Background } from '../../src/host/process/run.ts';
import { readRunFile } from '../../src/host/files/run.ts';
import type { Checkpoints } from '../../src/service/log/checkpoints.ts';
import type { Log } from '../../src/service/call/log.ts';
import type { Store } from '../../src/store/port/store.ts';
import type { TreeName } from '../../src/store/port/store.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { takeLock } from '../../src/store/file/lock.ts';
import type { PlaneKeys } from './own.ts';
import type { KeyOrder } from './order.ts';
import type { KeyChangeResult } from './order.ts';

interface Order {
  /** 32 hex digits. */
  readonly id: string;
  readonly order: KeyOrder;
  /** Unix milliseconds. After this time the caller no longer waits. */
  readonly untilMs: number;
}

type Answer = { readonly id: string } & (
  | { readonly changed: KeyChangeResult }
  | { readonly refused: { readonly code: string; readonly detail: string } }
);

/**
 * `.part` files are temporary, and backups skip them. One order waits at a time. Each answer has a file of its
 * own.
 */
const orderPath = (dataDir: string): string => join(dataDir, 'keys', 'order.part');
const answerPath = (dataDir: string, id: string): string => join(dataDir, 'keys', `answer-${id}.part`);

const lookMs = 500;

/** The process that serves a data directory. Null where none serves it, also after a crash. */
export function servingProcess(dataDir: string): number | null {
  if (!isHeld(storeFiles(dataDir).lock)) return null;
  const { pid } = readRunFile(dataDir);
  if (pid === undefined) return null;
  try {
    process.kill(pid, 0);
    return pid;
  } catch {
    return null; // another process holds the lock: opening the store reports it
  }
}

function isHeld(lock: string): boolean {
  if (!existsSync(lock)) return false;
  try {
    takeLock(lock, process.pid).release();
    return false;
  } catch (error) {
    if (error instanceof GovError && error.code === 'CONFLICT') return true;
    throw error;
  }
}

/**
 * Orders the change and returns the result of the serving process. CONFLICT where it does not answer in time,
 * or another order waits.
 */
export async function askServing(dataDir: string, order: KeyOrder, pid: number): Promise<KeyChangeResult> {
  const id = randomBytes(16).toString('hex');
  const answerFile = answerPath(dataDir, id);
  placeOrder(dataDir, { id, order, untilMs: now() + limits.keyOrderSeconds * 1000 });
  const deadline = performance.now() + limits.keyOrderSeconds * 1000;
  while (performance.now() < deadline) {
    const answer = jsonIn<Answer>(answerFile);
    if (answer !== null) {
      rmSync(answerFile, { force: true });
      return resultOf(answer);
    }
    await pause(lookMs / 10);
  }
  if (jsonIn<Order>(orderPath(dataDir))?.id === id) rmSync(orderPath(dataDir), { force: true });
  const detail =
    `expected process ${pid}, which serves ${dataDir}, to change the keys within ${limits.keyOrderSeconds} s, got no answer; ` +
    'read its log, or stop it and repeat';
  throw new GovError('CONFLICT', detail);
}

/**
 * Creates the order file atomically. Replaces an expired order only. A crash leaves a draft or an order, and
 * both expire.
 */
function placeOrder(dataDir: string, order: Order): void {
  const file = orderPath(dataDir);
  const draft = join(dataDir, 'keys', `order-${order.id}.part`);
  if ((jsonIn<Order>(file)?.untilMs ?? Infinity) < now()) rmSync(file, { force: true });
  try {
    replacePrivate(draft, `${JSON.stringify(order)}\n`);
    linkSync(draft, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new GovError(
      'CONFLICT',
      'expected no other order to change the keys, but one waits; check its result, then repeat',
    );
  } finally {
    rmSync(draft, { force: true });
  }
}

function resultOf(answer: Answer): KeyChangeResult {
  if ('changed' in answer) return answer.changed;
  const { code, detail } = answer.refused;
  throw new GovError(Object.hasOwn(problems, code) ? (code as ProblemCode) : 'INTERNAL', detail);
}

/** Null where the file does not exist yet or is not a regular file, such as a pipe that would block. */
function jsonIn<Value>(path: string): Value | null {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return null;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Value; // this release wrote it
  } catch {
    return null;
  }
}

export interface KeyOrdersOptions {
  readonly dataDir: string;
  readonly projectId: string;
  readonly store: Store;
  readonly keys: PlaneKeys;
  readonly checkpoints: Checkpoints;
  readonly log: Log;
}

/** Takes orders while the plane serves. Calls `options` when the first order arrives. */
export function keyOrders(dataDir: string, options: () => KeyOrdersOptions): Background {
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;
  const look = (): void => {
    if (working !== undefined || !existsSync(orderPath(dataDir))) return;
    working = take(options()).finally(() => (working = undefined));
  };
  return {
    start: () => {
      timer ??= setInterval(look, lookMs).unref();
    },
    stop: async () => {
      clearInterval(timer);
      await working;
    },
  };
}

/** Never rejects: an unexpected file in the folder does not stop the plane. */
async function take(options: KeyOrdersOptions): Promise<void> {
  const { dataDir, log } = options;
  try {
    const asked = orderIn(orderPath(dataDir));
    rmSync(orderPath(dataDir), { recursive: true, force: true });
    removeOldParts(dataDir);
    if (asked === null || asked.untilMs < now()) return;
    const answer = await answerTo(asked, options);
    replacePrivate(answerPath(dataDir, asked.id), `${JSON.stringify(answer)}\n`);
  } catch (error) {
    log.error({ err: error }, 'could not answer an order to change the keys of the log');
  }
}

/** Null for anything but an order of this release. */
function orderIn(path: string): Order | null {
  const found = jsonIn<Partial<Order> | null>(path);
  const { id, order, untilMs } = found ?? {};
  const isKnown = order === 'rotate' || order === 'retire';
  if (typeof id !== 'string' || !idForm.test(id) || !isKnown || typeof untilMs !== 'number') return null;
  return { id, order, untilMs };
}

const idForm = /^[0-9a-f]{32}$/;

/** Removes answers that no caller fetched and drafts of interrupted orders. */
function removeOldParts(dataDir: string): void {
  const folder = join(dataDir, 'keys');
  for (const name of readdirSync(folder).filter((each) =>
    /^(?:answer|order)-[0-9a-f]{32}\.part$/.test(each),
  )) {
    const path = join(folder, name);
    // the caller may remove its answer meanwhile
    const writtenMs = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (writtenMs < now() - limits.keyOrderSeconds * 1000) rmSync(path, { force: true });
  }
}

async function answerTo({ id, order }: Order, options: KeyOrdersOptions): Promise<Answer> {
  const { projectId, checkpoints, log } = options;
  try {
    const { signed } = await import('./change.ts');
    for (const tree of trees) await refuseUnsigned(tree, options);
    const taken = await checkpoints.between(projectId, () => changeHere(order, options));
    const changed = await signed(taken, async () => {
      for (const tree of trees) await checkpoints.sign(projectId, tree);
    });
    const { change, leaf, keys, warning } = changed;
    log[warning === null ? 'info' : 'error']({ change, leaf, keys, warning }, 'the keys of the log changed');
    return { id, changed };
  } catch (error) {
    log.error({ err: error, order }, 'the keys of the log did not change as ordered');
    const code = error instanceof GovError ? error.code : 'INTERNAL';
    return { id, refused: { code, detail: error instanceof Error ? error.message : String(error) } };
  }
}

const trees: readonly TreeName[] = ['audit', 'metering'];

/** Throws as signing does. A log that can no longer be signed keeps its keys. */
async function refuseUnsigned(
  tree: TreeName,
  { projectId, checkpoints, store }: KeyOrdersOptions,
): Promise<void> {
  const { checkpoint, note } = await checkpoints.sign(projectId, tree);
  // compares a head that was signed earlier with newer knowledge
  await store.saveCheckpoint(projectId, tree, checkpoint, () => note);
}

async function changeHere(
  order: KeyOrder,
  { dataDir, store, keys, log }: KeyOrdersOptions,
): Promise<KeyChangeResult> {
  const { changeKeys } = await import('./change.ts');
  const taken = async (): Promise<void> => {
    try {
      await keys.reload();
    } catch (cause) {
      const detail =
        'expected to load the keys in force, which failed; the plane signs nothing until a restart';
      const failed = new GovError('STORAGE_FAULT', detail, { cause });
      keys.fail(failed);
      log.error({ err: failed }, 'the log has other keys than this process');
      throw failed;
    }
  };
  return changeKeys({ dataDir, store, taken }, order);
}
