import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reconcile, type StoredEvent } from '../../../../src/core/intake/reconcile.ts';
import type { ImportedRun } from '../../../../src/core/intake/run.ts';
import { expectToFit, importText, importValue, meta, ofType } from '../fits.ts';

const text = readFileSync(join(import.meta.dirname, '../corpus/claude-stream.jsonl'), 'utf8');
const lines = text
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));
const read = (given: readonly object[] = lines): ImportedRun[] =>
  importText(given.map((line) => JSON.stringify(line)).join('\n'), { sourceName: 'out.jsonl' });

/** The lines of the stream, as the file of its session has them. */
const session = lines
  .filter(({ type }) => type === 'user' || type === 'assistant')
  .map(({ session_id: sessionId, tool_use_result: toolUseResult, agent_id: agentId, ...line }) => ({
    ...line,
    sessionId,
    version: '2.1.332',
    toolUseResult,
    ...(agentId === undefined ? {} : { agentId, isSidechain: true }),
    ...(line.uuid === 'u7' ? { permissionDecision: { decision: 'reject', source: 'config' } } : {}),
    message:
      line.uuid === 'u8'
        ? { ...line.message, stop_reason: 'end_turn', usage: { output_tokens: 9 } }
        : line.message,
  }));

const stored = (events: ImportedRun['events']): StoredEvent[] =>
  events.map((event) => ({
    ...event,
    actor: event.actor as StoredEvent['actor'],
    resource: (event.resource as StoredEvent['resource']) ?? null,
    metadata: event.metadata ?? {},
    causedBy: event.causedBy ?? null,
    clientEventId: event.clientEventId ?? null,
  }));
/** The events that a recording adds to a run. */
const added = (run: ImportedRun | undefined, before: readonly StoredEvent[]): ImportedRun['events'] => {
  const found = reconcile(run!, before);
  if ('pointer' in found) throw new Error(`${found.pointer} of ${found.clientEventId}`);
  return found.events.filter((event) => event !== null);
};
const facts = /^(?:tool\.|prompt\.|output\.|model\.)/;

describe('the output of claude -p as JSON', () => {
  it('gives the run of its session, with calls of subagents and endings', () => {
    const runs = read();
    expectToFit(runs);
    expect(runs.map(({ runId, format }) => [runId, format])).toEqual([['s20', 'claude-stream']]);
    const results = ofType(runs, 'tool.result').map((event) => [
      event.actor,
      meta(event).toolCallId,
      meta(event).outcome,
    ]);
    expect(results).toEqual([
      [{ name: 'claude-code/a9', role: 'agent' }, 't2', 'ok'],
      [{ name: 'claude-code', role: 'agent' }, 't1', 'ok'],
      [{ name: 'claude-code', role: 'agent' }, 't3', 'denied'],
    ]);
    expect(meta(ofType(runs, 'run.started')[0])).toMatchObject({
      importer: 'claude-stream',
      version: '2.1.332',
    });
  });

  it('is the same as one list, and as one line with the last answer alone', () => {
    const [list] = importValue(lines, { sourceName: 'out.json' });
    expect(list?.events).toEqual(read()[0]?.events);
    const last = importValue(lines.at(-1), { sourceName: 'out.json' });
    expect(last.map(({ runId, events }) => [runId, events.map(({ eventType }) => eventType)])).toEqual([
      ['s20', ['run.started', 'agent.step']],
    ]);
  });

  it('and the file of its session have each fact once, whichever comes first', () => {
    const [stream] = read();
    const [file] = importText(session.map((line) => JSON.stringify(line)).join('\n'), {
      sourceName: 's20.jsonl',
    });
    const after = added(stream, stored(file!.events));
    expect(after.filter(({ eventType }) => facts.test(eventType))).toEqual([]);
    const before = stored(stream!.events);
    const completions = added(file, before);
    expect(new Set(completions.map(({ eventType }) => eventType))).toEqual(new Set(['event.completed']));
    // once more adds nothing
    expect(added(file, [...before, ...stored(completions)])).toEqual([]);
    expect(added(stream, [...before, ...stored(completions)])).toEqual([]);
  });

  it('a subagent whose first words only its file has is no conflict', () => {
    const [stream] = read();
    const before = stored(stream!.events).map((event) =>
      event.clientEventId === 's20:u3.model' ? { ...event, causedBy: ['s20:u2.call'] } : event,
    );
    const words = { ...session[2], uuid: 'u30', type: 'user', message: { role: 'user', content: 'Look.' } };
    const [file] = importValue([words, session[2]], { sourceName: 'agent-a9.jsonl' });
    expect(added(file, before).map(({ eventType }) => eventType)).toEqual(['prompt.submitted']);
  });

  it('a call that a hook recorded is an observation', () => {
    const hook: StoredEvent = {
      eventType: 'tool.call',
      actor: { name: 'claude-code', role: 'agent' },
      resource: { name: 'Bash', type: 'tool' },
      action: 'execute',
      timestamp: '2026-11-20T10:00:05Z',
      metadata: { recordedBy: 'hook', toolCallId: 't3', evaluationId: 'evl_1' },
      causedBy: null,
      clientEventId: 'h1',
    };
    const calls = added(read()[0], [hook]).filter(({ metadata }) => metadata?.['toolCallId'] === 't3');
    expect(calls.map(({ eventType, metadata }) => [eventType, metadata?.['observed']])).toEqual([
      ['x.tool.observed', 'tool.call'],
      ['tool.result', undefined],
    ]);
  });

  it('parts of an answer that never came whole are named', () => {
    const [run] = read(lines.filter(({ uuid }) => uuid !== 'u2'));
    expect(run?.remainder.map(({ where, why }) => [where, why])).toEqual([
      ['line 3', 'a line of type stream_event'],
      ['line 4', 'a line of type stream_event'],
      ['line 5', 'a line of type stream_event'],
      ['line 6', 'a line of type stream_event'],
    ]);
  });

  it('an end with an error is an error of the run, once', () => {
    const end = { ...lines.at(-1), subtype: 'error_during_execution', is_error: true, result: undefined };
    const failed = read([...lines.slice(0, -1), { ...end, errors: ['boom'] }]);
    expect(
      ofType(failed, 'run.error').map((event) => [meta(event).content, meta(event).extra.error]),
    ).toEqual([[[{ type: 'text', text: 'boom' }], 'error_during_execution']]);
    const said = {
      type: 'assistant',
      session_id: 's20',
      uuid: 'u9',
      error: 'rate_limit',
      message: {
        id: 'x',
        model: '<synthetic>',
        role: 'assistant',
        content: [{ type: 'text', text: 'API Error' }],
      },
    };
    const twice = read([...lines.slice(0, -1), said, { ...end, result: 'API Error' }]);
    expect(ofType(twice, 'run.error').map((event) => meta(event).content[0].text)).toEqual(['API Error']);
  });
});
