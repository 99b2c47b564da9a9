/**
 * Keys changed beside a serving plane: `gov plane keys` leaves an order in `keys/`, which nobody but the owner of the keys
 * can write, and the process that serves takes it within a second: it signs nothing while the leaf is appended and the keys
 * of the log are taken, and answers in a file beside. Recording goes on. A crash leaves what one of a plane that does not
 * serve leaves. Proven by `test/plane/keys/rotate-serving.long.test.ts`.
 */
import { existsSync, linkSync, lstatSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../src/contract/limits.ts';
import { GovError, problems, type ProblemCode } from '../../src/contract/problems.ts';
import { now, randomBytes } from '../../src/host/process/clock.ts';
import { replacePrivate } from '../../src/host/data/files.ts';
import type { Background } from '../../src/host/process/run.ts';
import type { Checkpoints } from '../../src/service/log/checkpoints.ts';
import type { Log } from '../../src/service/call/log.ts';
import type { Store, TreeName } from '../../src/store/port/store.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { takeLock } from '../../src/store/file/lock.ts';
import type { PlaneKeys } from './own.ts';
import type { KeyOrder, KeysChanged } from './rotate.ts';

interface Order {
  /** 32 hex digits. */
  readonly id: string;
  readonly order: KeyOrder;
  /** Unix milliseconds: whoever ordered it waits no longer. */
  readonly untilMs: number;
}

type Answer = { readonly id: string } & (
  | { readonly changed: KeysChanged }
  | { readonly refused: { readonly code: string; readonly detail: string } }
);

/** `.part`: of a moment, and in no backup. One order waits at a time; each is answered in a file of its own. */
const orderPath = (dataDir: string): string => join(dataDir, 'keys', 'order.part');
const answerPath = (dataDir: string, id: string): string => join(dataDir, 'keys', `answer-${id}.part`);

const lookMs = 500;

/** The process that serves a data directory; null where none does, whatever one that crashed has left. */
export function servingProcess(dataDir: string): number | null {
  if (!isHeld(storeFiles(dataDir).lock)) return null;
  try {
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')) as { pid?: unknown };
    if (typeof pid !== 'number') return null;
    process.kill(pid, 0);
    return pid;
  } catch {
    return null; // something else holds it, which whoever opens the store is told
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

/** What the process that serves answers; CONFLICT where it does not, or another order waits. */
export async function askServing(dataDir: string, order: KeyOrder, pid: number): Promise<KeysChanged> {
  const id = randomBytes(16).toString('hex');
  const answerFile = answerPath(dataDir, id);
  place(dataDir, { id, order, untilMs: now() + limits.keyOrderSeconds * 1000 });
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
    `expected process ${pid}, which serves ${dataDir}, to change the keys within ${limits.keyOrderSeconds} s; ` +
    'look at its log; or stop it, and repeat';
  throw new GovError('CONFLICT', detail);
}

/** The order appears with its text or not at all, and in place of none that somebody waits for. */
function place(dataDir: string, order: Order): void {
  const file = orderPath(dataDir);
  const draft = join(dataDir, 'keys', `order-${order.id}.part`);
  if ((jsonIn<Order>(file)?.untilMs ?? Infinity) < now()) rmSync(file, { force: true });
  try {
    replacePrivate(draft, `${JSON.stringify(order)}\n`);
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new GovError(
      'CONFLICT',
      'another order to change the keys waits; look at what it did, then repeat',
    );
  } finally {
    rmSync(draft, { force: true });
  }
}

function resultOf(answer: Answer): KeysChanged {
  if ('changed' in answer) return answer.changed;
  const { code, detail } = answer.refused;
  throw new GovError(Object.hasOwn(problems, code) ? (code as ProblemCode) : 'INTERNAL', detail);
}

/** Null where there is none yet, or something else, such as a pipe, which reading would wait for. */
function jsonIn<Value>(path: string): Value | null {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return null;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Value; // written by this release beside this one
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

/** Takes orders beside a serving plane. `options` is asked when the first one comes. */
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

/** Never rejects: whatever lies in the folder, the plane serves on. */
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
    log.error({ err: error }, 'an order to change the keys of the log could not be answered');
  }
}

/** Null for what is no order of this release. */
function orderIn(path: string): Order | null {
  const found = jsonIn<Partial<Order> | null>(path);
  const { id, order, untilMs } = found ?? {};
  const isKnown = order === 'rotate' || order === 'retire';
  if (typeof id !== 'string' || !idForm.test(id) || !isKnown || typeof untilMs !== 'number') return null;
  return { id, order, untilMs };
}

const idForm = /^[0-9a-f]{32}$/;

/** Answers that nobody came for, and orders that nobody could give. */
function removeOldParts(dataDir: string): void {
  const folder = join(dataDir, 'keys');
  for (const name of readdirSync(folder).filter((each) =>
    /^(?:answer|order)-[0-9a-f]{32}\.part$/.test(each),
  )) {
    const path = join(folder, name);
    // an asker takes its answer away meanwhile
    const writtenMs = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (writtenMs < now() - limits.keyOrderSeconds * 1000) rmSync(path, { force: true });
  }
}

async function answerTo({ id, order }: Order, options: KeyOrdersOptions): Promise<Answer> {
  const { projectId, checkpoints, log } = options;
  try {
    const { signed } = await import('./rotate.ts');
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

/** Throws as signing does: keys of a log that is not signed any more do not change. */
async function refuseUnsigned(
  tree: TreeName,
  { projectId, checkpoints, store }: KeyOrdersOptions,
): Promise<void> {
  const { checkpoint, note } = await checkpoints.sign(projectId, tree);
  // which looks at a head that was signed before against what was learnt since
  await store.saveCheckpoint(projectId, tree, checkpoint, () => note);
}

async function changeHere(
  order: KeyOrder,
  { dataDir, store, keys, log }: KeyOrdersOptions,
): Promise<KeysChanged> {
  const { changeKeys } = await import('./rotate.ts');
  const taken = async (): Promise<void> => {
    try {
      await keys.reload();
    } catch (cause) {
      const detail = 'the keys in force could not be taken, and nothing is signed until a restart';
      const failed = new GovError('STORAGE_FAULT', detail, { cause });
      keys.fail(failed);
      log.error({ err: failed }, 'the log has other keys than this process');
      throw failed;
    }
  };
  return changeKeys({ dataDir, store, taken }, order);
}
