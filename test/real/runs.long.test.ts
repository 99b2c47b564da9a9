/**
 * The whole way on recorded runs of real agents: imported by the tool into a plane of its own, proved, bundled,
 * verified offline. `test/real/support/all.ts` does the same with the tool alone, for every run, and prints the figures.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTrust } from '../../src/core/note/checkpoint.ts';
import { verifyBundle } from '../../src/core/proofs/verify.ts';
import { type AuditEvent, type CausalGraph, paginate } from '../../src/client/index.ts';
import { defaultLayers } from '../../src/contract/proofs.ts';
import { govHere } from '../cli/support/tool.ts';
import { hasData } from '../paths.ts';
import { eachOf, type PlaneProcess, startPlaneProcess } from './support/plane.ts';
import { eventsOfOpenHands, history, type Source, sources } from './support/sources.ts';

interface Summary {
  readonly accepted: number;
  /** Recorded before, and not sent again. */
  readonly known: number;
  readonly rejected: number;
  readonly imports: readonly { readonly runId: string; readonly items: number; readonly events: number }[];
}

const push = async (plane: PlaneProcess, { format, files }: Source, more: readonly string[] = []) => {
  const words = ['events', 'push', '--from', format, ...files.map(({ path }) => path), '-o', 'json'];
  return JSON.parse((await plane.run([...words, ...more])).stdout) as Summary;
};

async function eventsOf(plane: PlaneProcess, runId: string): Promise<AuditEvent[]> {
  const { body } = await plane.client.listEvents({ query: { runId, limit: 1000 } });
  expect(body.nextCursor).toBeNull();
  return body.events;
}

describe.skipIf(!hasData)('recorded runs of real agents (skipped without the recorded runs)', () => {
  const read = hasData ? Object.values(sources).map((source) => source()) : [];
  const pushed = new Map<Source['format'], Summary>();
  const runIds = (format?: Source['format']): string[] => [
    ...new Set(
      [...pushed].flatMap(([each, { imports }]) =>
        format === undefined || each === format ? imports.map(({ runId }) => runId) : [],
      ),
    ),
  ];
  let plane: PlaneProcess;
  /** Every event by its clientEventId, as it was after the first import. */
  const recorded = new Map<string | null, AuditEvent>();

  beforeAll(async () => {
    plane = await startPlaneProcess();
    for (const source of read) pushed.set(source.format, await push(plane, source));
    const lists = await eachOf(runIds(), (runId) => eventsOf(plane, runId));
    for (const event of lists.flat()) recorded.set(event.clientEventId, event);
  }, 300_000);
  afterAll(() => plane.end());

  it.each(read.map((source) => [source.format, source] as const))(
    '%s: the import records all runs and all items, and each event once',
    async (format, source) => {
      const { accepted = 0, known = 0, rejected, imports = [] } = pushed.get(format) ?? {};
      expect(rejected).toBe(0);
      expect(imports.reduce((sum, { items }) => sum + items, 0)).toBe(source.items);
      expect(imports.reduce((sum, { events }) => sum + events, 0)).toBe(accepted + known);
      const counts = await eachOf(runIds(format), async (runId) => {
        const { body } = await plane.client.countEvents({ query: { runId } });
        return [runId, body.count] as const;
      });
      expect(new Map(counts)).toEqual(new Map(imports.map(({ runId, events }) => [runId, events])));
      expect(counts.length).toBe(source.runs);
      expect(counts.reduce((sum, [, count]) => sum + count, 0)).toBe(source.events);
    },
  );

  it('the recordings are 252 runs of 9,503 events, and each run is in the list of runs', async () => {
    const listed: string[] = [];
    for await (const { runId } of paginate(plane.client.listRuns, { query: { limit: 200 } }))
      listed.push(runId);
    // the plane records its own doings in a run of this name
    expect(listed.toSorted()).toEqual([...runIds(), 'gov.system'].toSorted());
    expect([runIds().length, recorded.size]).toEqual([252, 9503]);
  });

  it(
    'repeated imports record each event once, also with another batch size',
    { timeout: 300_000 },
    async () => {
      for (const source of read) {
        const { accepted = 0, known = 0 } = pushed.get(source.format) ?? {};
        expect(await push(plane, source, ['--batch-size', '499'])).toMatchObject({
          accepted: 0,
          known: accepted + known,
          rejected: 0,
        });
      }
      const lists = await eachOf(runIds(), (runId) => eventsOf(plane, runId));
      const ids = (events: Iterable<AuditEvent>) =>
        new Map(
          [...events].map(({ clientEventId, eventId, leafHash }) => [clientEventId, [eventId, leafHash]]),
        );
      expect(ids(lists.flat())).toEqual(ids(recorded.values()));
    },
  );

  it('runs of OpenHands have exactly the causes of the source in `gov graphs get`', async () => {
    const documents = sources.openHands().files.flatMap((file) => file.documents);
    const keys = new Map(
      [...recorded.values()].map(({ eventId, clientEventId }) => [eventId, clientEventId]),
    );
    let causes = 0;
    for (const [at, runId] of runIds('openhands').entries()) {
      const { code, stdout } = await govHere(['graphs', 'get', runId, '-o', 'json'], plane);
      expect(code).toBe(0);
      const { edges, nodes } = JSON.parse(stdout) as CausalGraph;
      const found = edges
        .filter(({ type }) => type === 'causes')
        .map(({ source, target }) => `${keys.get(source)} → ${keys.get(target)}`);
      const events = history(documents[at]);
      const place = new Map(events.map(({ id }, index) => [id, index]));
      const stated = events.flatMap(({ cause }, index) =>
        typeof cause === 'number' ? [`${runId}:${place.get(cause)} → ${runId}:${index}`] : [],
      );
      expect(found.toSorted()).toEqual(stated.toSorted());
      expect(nodes.filter(({ type }) => type === 'event').length).toBe(eventsOfOpenHands(documents[at]));
      causes += stated.length;
    }
    expect(causes).toBe(117);
  });

  it('runs of τ-bench have all 1,164 tool calls linked to their results', async () => {
    const byId = new Map([...recorded.values()].map((event) => [event.eventId, event]));
    const linked = await eachOf(runIds('openai-chat'), async (runId) => {
      const { body } = await plane.client.getGraph({ params: { runId } });
      return body.edges.filter(({ source, target, type }) => {
        const [call, result] = [byId.get(source), byId.get(target)];
        if (call?.eventType !== 'tool.call' || result?.eventType !== 'tool.result') return false;
        expect(type).toBe('produces');
        expect(call.metadata['toolCallId']).toBe(result.metadata['toolCallId']);
        expect(call.resource).toEqual(result.resource);
        return true;
      });
    });
    const edges = linked.flat();
    expect(edges.length).toBe(sources.tauBench().toolCalls);
    expect(edges.length).toBe(1164);
    expect(new Set(edges.map(({ source }) => source)).size).toBe(1164);
    expect(new Set(edges.map(({ target }) => target)).size).toBe(1164);
  });

  it('all recorded runs get proofs, and every bundle verifies offline', { timeout: 300_000 }, async () => {
    const trust = parseTrust(plane.trust);
    const layers = [...defaultLayers, 'log_inclusion'];
    const proved = await eachOf(runIds(), async (runId) => {
      const { status, body } = await plane.client.createProof({ body: { runId, composed: { layers } } });
      if (status !== 201) throw new Error(`expected the proof of ${runId}, got a job`);
      const { bytes } = await plane.client.getProofBundle({
        params: { proofId: body.proofId },
        query: { events: 'disclosed' },
      });
      const verdict = verifyBundle(bytes, trust);
      expect(verdict, runId).toMatchObject({ verified: true, code: null, runId, proofId: body.proofId });
      expect(verdict.layers.map(({ name, basis }) => `${name} ${basis}`)).toEqual([
        'event_integrity recomputed',
        'causal_consistency recomputed',
        'policy_compliance attested',
        'log_inclusion attested',
      ]);
      expect(verdict.checks.find(({ id }) => id === 'graph_derivation')?.result).toBe('passed');
      expect(verdict.digests).toMatchObject({ withheld: 0, missing: 0 });
      return { runId, bytes };
    });
    expect(proved.length).toBe(252);
    for (const format of pushed.keys()) {
      const { runId, bytes } = proved.find((each) => runIds(format).includes(each.runId)) ?? proved[0]!;
      const file = join(plane.folder, `${runId}.govproof.json`);
      writeFileSync(file, bytes);
      const { stdout } = await plane.run(['proofs', 'verify', file, '-o', 'json']);
      expect(JSON.parse(stdout)).toMatchObject({ verified: true, runId, source: 'offline' });
    }
  });
});
