/**
 * Sessions of real clients as the sources of a run report them: the hook, telemetry, the transcript. A hook's events are
 * those of a program that asks first: the call with its decision, then its result.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { EventInput } from '../../../src/contract/events.ts';
import { CoverageJudge, type Coverage, type CoverageRules } from '../../../src/core/coverage/judge.ts';
import { saltPool } from '../../../src/core/events/disclosure.ts';
import { draftEvent, sealEvent } from '../../../src/core/events/record.ts';
import { readRunEvent, type RunEvent } from '../../../src/core/events/run-entry.ts';
import { decodeRequest } from '../../../src/core/intake/otlp/protobuf.ts';
import { reconcile, type StoredEvent } from '../../../src/core/intake/reconcile.ts';
import { importRuns } from '../../../src/core/intake/registry.ts';
import type { ImportedRun } from '../../../src/core/intake/run.ts';
import { documents } from '../../../src/core/intake/source.ts';
import { parseTimestamp } from '../../../src/core/time.ts';
import { data } from '../../paths.ts';

export interface Session {
  readonly runId: string;
  readonly hook: readonly EventInput[];
  readonly otlp: readonly { readonly signal: string; readonly bytes: Buffer }[];
  readonly transcript: readonly string[];
}

interface HookBody {
  readonly hook_event_name: string;
  readonly tool_name: string;
  readonly tool_use_id: string;
}

const folder = 'agents';
const read = (name: string): string => readFileSync(data(`${folder}/${name}`), 'utf8');

const bodiesIn = (name: string): Session['otlp'] =>
  readdirSync(data(`${folder}/${name}`))
    .toSorted()
    .flatMap((file) => {
      const [, signal] = /_v1_(traces|logs)$/.exec(file) ?? [];
      const bytes = readFileSync(data(`${folder}/${name}/${file}`));
      return signal === undefined ? [] : [{ signal, bytes }];
    });

/** A hook builds its events as importers do, and names itself. */
const written = { recordedBy: 'hook', timestampSource: 'source' };

/** `atMs`: when the hook ran, which its body does not say. */
const hookEvents = (runId: string, bodies: readonly HookBody[], atMs: number): EventInput[] =>
  bodies.flatMap(({ hook_event_name: name, tool_name: tool, tool_use_id: toolCallId }, at): EventInput[] => {
    const shared = {
      runId,
      actor: { name: 'claude-code', role: 'agent' },
      resource: { name: tool, type: 'tool' },
      timestamp: new Date(atMs + at).toISOString(),
    };
    if (name === 'PreToolUse') {
      const metadata = {
        ...written,
        toolCallId,
        evaluationId: 'pev_01jq3v5k8hf7wb3c9x2m4n6p8r',
        argumentsHash: 'sha256:00',
      };
      return [{ ...shared, eventType: 'tool.call', action: 'call', metadata }];
    }
    if (name !== 'PostToolUse') return [];
    return [
      {
        ...shared,
        eventType: 'tool.result',
        action: 'complete',
        metadata: { ...written, toolCallId, outcome: 'ok' },
      },
    ];
  });

export function claudeSession(): Session {
  const runId = 'a48c2586-1147-4b76-9f7a-4637e11f95e6';
  const name = 'claude-code-2.1.331-allowed';
  const bodies = readdirSync(data(`${folder}/${name}`))
    .filter((file) => file.endsWith('_hook'))
    .toSorted()
    .map((file) => JSON.parse(read(`${name}/${file}`)) as HookBody);
  return {
    runId,
    hook: hookEvents(runId, bodies, Date.parse('2026-11-25T04:12:33.765Z')),
    otlp: bodiesIn(name),
    transcript: read(`transcript-${runId}.jsonl`).split('\n').filter(Boolean),
  };
}

/** The hooks of Codex were recorded in another session, of the same call. */
export function codexSession(): Session {
  const runId = '01a210e7-d996-7a00-b02a-f68b288485e0';
  const bodies = read('codex-hooks.jsonl')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as HookBody);
  return {
    runId,
    hook: hookEvents(runId, bodies, Date.parse('2026-11-25T04:12:40.900Z')),
    otlp: bodiesIn('codex-0.169-allowed'),
    transcript: read(`transcript-rollout-2026-11-25T04-12-39-${runId}.jsonl`).split('\n').filter(Boolean),
  };
}

export const importedOtlp = (bodies: Session['otlp']): ImportedRun[] =>
  bodies.length === 0
    ? []
    : [
        ...importRuns([{ value: bodies.map(({ bytes }) => decodeRequest(bytes)), line: 1 }], {
          format: 'otlp',
          importedAt: 0,
          sourceName: 'otlp',
        }),
      ];
export const importedTranscript = (lines: readonly string[]): ImportedRun[] =>
  lines.length === 0
    ? []
    : [
        ...importRuns(documents(lines.join('\n'), 'session.jsonl'), {
          format: 'auto',
          importedAt: 0,
          sourceName: 'session.jsonl',
        }),
      ];

const asStored = (event: EventInput): StoredEvent => ({
  ...event,
  actor: event.actor as StoredEvent['actor'],
  resource: (event.resource as StoredEvent['resource']) ?? null,
  metadata: event.metadata ?? {},
  causedBy: event.causedBy ?? null,
  clientEventId: event.clientEventId ?? null,
});

/** The events of a run after each source in turn has reported to it. */
export function reported(sources: readonly (readonly EventInput[] | ImportedRun)[]): EventInput[] {
  const run: EventInput[] = [];
  for (const source of sources) {
    if (!('events' in source)) {
      run.push(...source);
      continue;
    }
    const found = reconcile(source, run.map(asStored));
    if ('pointer' in found) throw new Error(`expected a recording that fits, got ${found.pointer}`);
    run.push(...found.events.filter((event) => event !== null));
  }
  return run;
}

const salt = saltPool((bytes) => Buffer.alloc(bytes, 7));

/** Events as leaves of a log, in this order. `serverMs`: when each was recorded. */
export const asLeaves = (
  events: readonly EventInput[],
  serverMs: (at: number) => number = () => 0,
): RunEvent[] =>
  events.map((event, index) => {
    const draft = draftEvent(event, parseTimestamp(event.timestamp) ?? 0, salt);
    if ('code' in draft) throw new Error(draft.detail);
    const { record } = sealEvent(draft, { index, runSeq: index, serverMs: serverMs(index), random: 0 });
    return readRunEvent({ index, record, disclosures: draft.disclosures });
  });

export function judged(
  events: readonly EventInput[],
  serverMs?: (at: number) => number,
  rules?: CoverageRules,
): Coverage {
  const judge = new CoverageJudge(rules);
  for (const leaf of asLeaves(events, serverMs)) {
    judge.add({ ...readRunEvent(leaf), disclosures: leaf.disclosures });
  }
  return judge.finish();
}
