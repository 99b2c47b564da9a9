/**
 * A process that writes to the store in its first argument until it is killed: eight callers, each request
 * under its own key and client event id, some of them sent twice. What was acknowledged is told on stdout,
 * one line each, after the store's promise resolved.
 */
import { randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { saltPool } from '../../src/core/events/disclosure.ts';
import { draftEvent, draftLeaf } from '../../src/core/events/record.ts';
import type { AppendRequest } from '../../src/store/port/store.ts';
import { openStore } from '../../src/store/sqlite/store.ts';

const [dataDir = '', round = '0'] = process.argv.slice(2);
const projectId = 'prj_kill';
const store = openStore({ dataDir, clock: Date, randomBytes, reserveBytes: 0 });
if ((await store.project(projectId)) === null) {
  const origins = { auditOrigin: 'kill/audit', meteringOrigin: 'kill/metering/0' };
  const project = { projectId, organizationId: 'org_kill', environment: 'production' as const, ...origins };
  await store.createProject(project, draftLeaf('gov.genesis/1', { projectId }));
}
writeSync(1, 'ready\n');

const salt = saltPool(randomBytes);
function request(caller: number, step: number): AppendRequest {
  const size = 1 + ((caller * 7 + step) % 40);
  const nowMs = Date.now();
  const leaves = Array.from({ length: size }, (_, at) => {
    const draft = draftEvent(
      {
        runId: `run-${caller}-${step % 5}`,
        eventType: `type.${at % 3}`,
        actor: { name: `caller ${caller}` },
        action: 'write',
        timestamp: new Date(nowMs).toISOString(),
        metadata: { text: 'x'.repeat((at * 97) % 3000) },
        clientEventId: `${round}:${caller}:${step}:${at}`,
      },
      nowMs,
      salt,
    );
    if ('code' in draft) throw new Error(draft.detail);
    return draft;
  });
  return {
    projectId,
    leaves,
    meter: { op: 'audit_event', units: 'accepted' },
    fingerprints: new Map(leaves.map((_, at) => [at, 'f'])),
    idempotency: {
      key: `${round}:${caller}:${step}`,
      fingerprint: 'f',
      response: {
        status: 201,
        body: {
          pieces: leaves.flatMap((_, at) => [at === 0 ? '[' : ',', at]).concat(']'),
          event: { before: '"', after: '"' },
          conflict: 'null',
        },
        headers: {},
      },
    },
  };
}

async function sign(): Promise<void> {
  for (;;) {
    const head = await store.head(projectId, 'audit');
    await store.saveCheckpoint(
      projectId,
      'audit',
      { origin: 'kill/audit', ...head, extensions: [] },
      ({ origin, size, root }) => `${origin}\n${size}\n${root.toString('base64')}\n\n— kill test\n`,
    );
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Writes a line at once. A reader that is slow leaves the pipe full for a moment. */
async function print(line: string): Promise<void> {
  for (;;) {
    try {
      writeSync(1, line);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

async function call(caller: number): Promise<void> {
  for (let step = 0; ; step += 1) {
    const sent = request(caller, step);
    const outcomes = await Promise.all(
      step % 4 === 0 ? [store.append(sent), store.append(sent)] : [store.append(sent)],
    );
    for (const outcome of outcomes) {
      if (outcome.outcome !== 'stored' && outcome.outcome !== 'replayed') throw new Error(outcome.outcome);
      await print(`${sent.idempotency?.key} ${outcome.response?.body}\n`);
    }
  }
}

await Promise.all([sign(), ...Array.from({ length: 8 }, (_, caller) => call(caller))]);
