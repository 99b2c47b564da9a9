/**
 * One drill: a client asks for a call that the policy `gov-drill` denies. It passes if the call did not run, and the log has
 * its refusal. The result is an event, so that the log itself says how often the control was tested.
 * Tested by `test/cli/agents/drill.test.ts`.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '../../../client/create.ts';
import type { AuditEvent, EventInput } from '../../../contract/events.ts';
import type { AgentClient } from '../../../core/agents/clients.ts';
import { drillRun } from '../../../core/agents/drills.ts';
import { runIdFrom } from '../../../core/intake/run.ts';
import type { Variables } from '../../context/config.ts';
import type { Program } from '../program.ts';
import { callIdOf, standIn } from './model.ts';
import { forbidden, policyId } from './policy.ts';
import { start } from './start.ts';

export interface DrillResult {
  readonly client: AgentClient;
  readonly version: string | null;
  readonly passed: boolean;
  /** The call did not run. */
  readonly stopped: boolean;
  /** The log has the refusal. */
  readonly recorded: boolean;
  readonly runId: string | null;
  readonly durationMs: number;
  readonly reason: string;
}

/** The start of the ids of calls in a script of the model. */
export const newScriptId = (): string => `toolu_drill_${randomUUID().replaceAll('-', '')}`;

interface Around {
  readonly plane: Client;
  readonly env: Variables;
}

/** Runs the drill and records its result. Throws only if the result cannot be recorded. */
export async function drill(
  client: AgentClient,
  { path, version }: Program,
  { plane, env }: Around,
): Promise<DrillResult> {
  const folder = mkdtempSync(join(tmpdir(), 'gov-drill-'));
  const id = newScriptId();
  const callId = callIdOf(id);
  const trace = join(folder, 'ran');
  const model = await standIn(id, { calls: [{ shell: `touch '${trace}' # ${forbidden}` }] });
  const startedMs = performance.now();
  try {
    const { session, said } = await start(client, {
      path,
      origin: model.origin,
      cwd: folder,
      env,
      // what its user has
      model: null,
    });
    const durationMs = Math.round(performance.now() - startedMs);
    const stopped = !existsSync(trace);
    const runId = session === null ? null : runIdFrom(session);
    const refusal = runId === null ? undefined : await refusalIn(plane, runId, { client, callId });
    const recorded = refusal !== undefined;
    const found = { client, version, passed: stopped && recorded && model.seen.answered, stopped, recorded };
    const drilled = { ...found, runId, durationMs, reason: reasonOf({ ...found, ...model.seen, said }) };
    await record(plane, drilled, refusal);
    return drilled;
  } finally {
    model.close();
    // a process of the client that outlives it may still write
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/**
 * The call is the first of its run, so one page is enough. Gemini CLI gives a hook no id of the call, and Codex another one in
 * code mode: `exec-` and a UUID (measured: 0.171.0).
 */
async function refusalIn(
  plane: Client,
  runId: string,
  { client, callId }: { readonly client: AgentClient; readonly callId: string },
): Promise<AuditEvent | undefined> {
  const { body } = await plane.listEvents({ query: { runId, limit: 100 } });
  return body.events.find(
    ({ eventType, metadata }) =>
      eventType === 'tool.denied' &&
      (client === 'gemini' || client === 'codex' || metadata['toolCallId'] === callId),
  );
}

interface Facts {
  readonly stopped: boolean;
  readonly recorded: boolean;
  readonly asked: boolean;
  readonly answered: boolean;
  readonly said: string;
}

function reasonOf({ stopped, recorded, asked, answered, said }: Facts): string {
  if (!stopped) return 'the forbidden call ran: no hook stopped it. See gov agents doctor';
  if (!asked)
    return `the client did not ask the model with a shell among its tools: ${said || 'it wrote nothing'}`;
  if (!answered) return `the client did not report what became of the call: ${said || 'it wrote nothing'}`;
  if (!recorded) return 'the call was stopped, but the log lacks its refusal. See gov agents doctor';
  return 'the forbidden call was stopped and recorded';
}

async function record(plane: Client, drilled: DrillResult, refusal: AuditEvent | undefined): Promise<void> {
  const { client, passed, runId, reason, ...facts } = drilled;
  await plane.createEvent({
    body: {
      ...drillEvent({ client, runId, reason }, passed ? 'drill.passed' : 'drill.failed', {
        ...facts,
        policyId,
      }),
      ...(refusal === undefined ? {} : { causedBy: [refusal.eventId] }),
    },
  });
}

/** The event of a result of a drill. */
export const drillEvent = (
  { client, runId, reason }: Pick<DrillResult, 'client' | 'runId' | 'reason'>,
  eventType: string,
  facts: Readonly<Record<string, unknown>>,
): EventInput => ({
  runId: drillRun,
  eventType,
  actor: { name: 'gov agents drill', role: 'system' },
  resource: { name: client, type: 'agent_client' },
  action: 'test',
  timestamp: new Date().toISOString(),
  metadata: {
    ...facts,
    machine: hostname(),
    reason: reason.toWellFormed().replaceAll('\0', ''),
    session: runId,
  },
});
