/**
 * Tries the known ways around the hooks of a client, one after the other, and says of each whether it is open. A way is open
 * if it made its mark, and no decision of that action came first. It is shut only if the same attempt makes its mark where
 * nothing of gov is in the way: else the attempt shows nothing. Each result is an event.
 * Tested by `test/cli/agents/bypasses.test.ts`.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '../../../client/create.ts';
import { GovApiError } from '../../../client/errors.ts';
import { bypassType, type BypassResult } from '../../../core/agents/bypasses.ts';
import type { AgentClient } from '../../../core/agents/clients.ts';
import { runIdFrom } from '../../../core/intake/run.ts';
import { makeFolder } from '../../../files/make-folder.ts';
import type { Variables } from '../../context/config.ts';
import type { Program } from '../program.ts';
import type { Scope, Setup } from '../setup/edit.ts';
import { closingText, denied, type Bypass } from './bypasses/bypass.ts';
import { copySettings, findOnPath, hiding } from './copies.ts';
import { drillEvent, newScriptId } from './judge.ts';
import { standIn } from './model.ts';
import { start } from './start.ts';

export interface Tried {
  readonly client: AgentClient;
  readonly version: string | null;
  /** Where the hooks are; null: nowhere. */
  readonly scope: Scope | null;
  readonly id: string;
  readonly title: string;
  /** A row of `openSettings`; null: no setting of the client is about it. */
  readonly setting: string | null;
  readonly closes: string;
  readonly result: BypassResult;
  readonly reason: string;
  readonly runId: string | null;
  readonly durationMs: number;
}

export interface Drilled {
  readonly setup: Setup;
  readonly program: Program;
  readonly scope: Scope | null;
  readonly plane: Client;
  readonly env: Variables;
  readonly etc: string;
  /** The words of a shell that run this gov, and the file with its key. */
  readonly gov: string;
  readonly keyFile: string | null;
}

interface Attempted {
  /** When the mark was made; null: it was not. */
  readonly markedMs: number | null;
  readonly mark: string;
  /** Whether the client reported the result of the last call. */
  readonly answered: boolean;
  readonly said: string;
  readonly runId: string | null;
  /** Why an attempt without a mark says nothing; null if it was really made. */
  readonly premise: string | null;
}

type Judged = Pick<Tried, 'result' | 'reason' | 'runId'>;

const plain: Bypass = {
  id: 'plain-call',
  title: 'A call without a way around',
  closes: '',
  prepare: (place) => ({ calls: [denied(place)] }),
};

/** Why the ways of a client cannot be tried: a call without any is not stopped in the copies. Null: it is. */
export async function obstacle(drilled: Drilled): Promise<string | null> {
  const { result, reason } = await judge(plain, drilled);
  return result === 'shut' ? null : `a call without a way around it was not stopped either: ${reason}`;
}

/** Tries one way, and a second time without gov where the first one left no mark. Records the result. */
export async function tryBypass(
  bypass: Bypass,
  drilled: Drilled,
  obstacle: string | null = null,
): Promise<Tried> {
  const { id, title, setting = null } = bypass;
  const { client } = drilled.setup;
  const startedMs = performance.now();
  const judged =
    obstacle === null
      ? await judge(bypass, drilled)
      : ({ result: 'not_shown', reason: obstacle, runId: null } as const);
  const durationMs = Math.round(performance.now() - startedMs);
  const { version } = drilled.program;
  const tried = {
    client,
    version,
    scope: drilled.scope,
    id,
    title,
    setting,
    closes: closingText(bypass),
    ...judged,
    durationMs,
  };
  await record(drilled.plane, tried);
  return tried;
}

async function judge(bypass: Bypass, drilled: Drilled): Promise<Judged> {
  const tried = await attempt(bypass, drilled, 'governed');
  if (typeof tried === 'string') return { result: 'not_shown', reason: tried, runId: null };
  const { runId, markedMs, said, answered, premise } = tried;
  const judged = (result: BypassResult, reason: string): Judged => ({ result, reason, runId });
  if (runId !== null) await denyQuestions(drilled.plane, runId);
  if (markedMs !== null) {
    const isDecided = bypass.isTheCall !== true && (await decidedBefore(drilled.plane, tried));
    return isDecided ? judged('shut', 'a decision of this action came first') : judged('open', 'it worked');
  }
  if (!answered) return judged('not_shown', `the client did not end its turn: ${said || 'it wrote nothing'}`);
  if (premise !== null) return judged('not_shown', premise);
  const isRefused = runId !== null && (await isDenied(drilled.plane, runId));
  if (isRefused && bypass.isBehindCall === true)
    return judged('not_shown', 'a policy refused the call behind which it hides');
  const control = await attempt(bypass, drilled, 'ungoverned');
  if (typeof control === 'string') return judged('not_shown', control);
  if (control.markedMs === null)
    return judged(
      'not_shown',
      `it does not work without gov either: ${control.said || 'the client wrote nothing'}`,
    );
  return judged(
    'shut',
    isRefused ? 'the call was refused, and the refusal recorded' : 'the client did not take it',
  );
}

/** Runs the client once in folders of its own. A text says why the attempt cannot be made. */
async function attempt(
  bypass: Bypass,
  { setup, program, env, etc, gov, keyFile }: Drilled,
  way: 'governed' | 'ungoverned',
): Promise<Attempted | string> {
  const wrapper = way === 'governed' ? [] : hiding(env, etc);
  if (wrapper === null)
    return 'no program hides the settings of the administrator: install bwrap (bubblewrap)';
  const folder = mkdtempSync(join(tmpdir(), 'gov-drill-'));
  const [home, project, mark] = [join(folder, 'home'), join(folder, 'project'), join(folder, 'mark')];
  for (const each of [home, project]) makeFolder(each, 0o700);
  const variables = copySettings(setup, { env, etc, home, hasHooks: way === 'governed' });
  const find = (name: string): string | null => findOnPath(name, env);
  try {
    const place = { home, project, mark, gov, keyFile, find };
    const prepared = bypass.prepare(place);
    if (typeof prepared === 'string') return prepared;
    const { env: more, flags, settings, model: name, ...script } = prepared;
    const model = await standIn(newScriptId(), script);
    try {
      const { session, said } = await start(setup.client, {
        path: program.path,
        origin: model.origin,
        cwd: project,
        env: { ...variables, ...more },
        temporary: folder,
        wrapper,
        flags,
        settings,
        model: name,
      });
      const runId = session === null ? null : runIdFrom(session);
      const premise = bypass.premise?.(place) ?? null;
      return { markedMs: madeMs(mark), mark, answered: model.seen.answered, said, runId, premise };
    } finally {
      model.close();
    }
  } finally {
    // a process of the client that outlives it may still write
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

const madeMs = (path: string): number | null =>
  statSync(path, { throwIfNoEntry: false })?.birthtimeMs ?? null;

/** Whether the log has an evaluation that names the mark, of a time before the mark. Needs one clock for both. */
async function decidedBefore(plane: Client, { runId, mark, markedMs }: Attempted): Promise<boolean> {
  if (runId === null || markedMs === null) return false;
  const { body } = await plane.listPolicyEvaluations({ query: { runId, limit: 100 } });
  return body.data.some(
    ({ checkpoint, evaluatedAt }) =>
      JSON.stringify(checkpoint).includes(mark) && Date.parse(evaluatedAt) <= markedMs,
  );
}

async function isDenied(plane: Client, runId: string): Promise<boolean> {
  const { body } = await plane.listEvents({ query: { runId, eventType: 'tool.denied', limit: 1 } });
  return body.events.length > 0;
}

/** Nobody has to answer a question that a drill caused. A key that may not decide leaves it open until it expires. */
async function denyQuestions(plane: Client, runId: string): Promise<void> {
  try {
    const { body } = await plane.listApprovals({ query: { runId, status: 'pending' } });
    for (const { approvalId } of body.data)
      await plane.decideApproval({
        params: { approvalId },
        body: { outcome: 'denied', comment: 'gov agents drill asked, and nobody has to answer' },
      });
  } catch (cause) {
    if (!(cause instanceof GovApiError)) throw cause;
  }
}

async function record(plane: Client, { runId, reason, client, ...facts }: Tried): Promise<void> {
  const open = facts.result === 'not_shown' ? null : facts.result === 'open';
  await plane.createEvent({
    body: drillEvent({ client, runId, reason }, bypassType, { ...facts, client, open }),
  });
}
