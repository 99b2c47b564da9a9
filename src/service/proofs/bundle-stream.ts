/**
 * Sends a large bundle in parts, each made when the client is ready for it. Proven by
 * `test/service/proofs/bundle-stream.engines.long.test.ts` and `test/service/proofs/bundle-graph.long.test.ts`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { StreamResponse } from '../call/answer.ts';
import type { BundlePlan, Tasks } from '../call/work.ts';
import type { Services } from '../port/services.ts';
import { listAfter } from './bundle-lists.ts';

export const streamedBundle = (services: Services, plan: BundlePlan): StreamResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  bytes: plan.bytes,
  chunks: () => partsOf(services, plan),
  // a proof stays; an erasure is noticed by the number of bytes
  still: () => Promise.resolve(),
});

/**
 * Throws where the bytes are not as many as planned. A value that was erased since then is missing, and the erasure is
 * not in the plan: no verifier would accept that bundle. The client gets an incomplete answer, and asks again.
 */
async function* partsOf(
  services: Services,
  { texts, bytes, lists }: BundlePlan,
): AsyncGenerator<Uint8Array, void, undefined> {
  let left = bytes;
  for await (const part of allParts(services, { texts, lists })) {
    left -= part.length;
    if (left < 0) break;
    yield part;
  }
  if (left !== 0) {
    throw new GovError(
      'CONFLICT',
      'expected the events as they were when the bundle was planned, got others',
    );
  }
}

async function* allParts(
  services: Services,
  { texts, lists }: Pick<BundlePlan, 'texts' | 'lists'>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [at, text] of texts.entries()) {
    yield text;
    const list = listAfter(texts, at);
    if (lists === null || list === null) continue;
    for (let from: number | null = 0; from !== null;) {
      const part: Part = await nextPart(services, { projectId: lists.projectId, lists, list, from });
      if (part.bytes.length > 0) yield part.bytes;
      from = part.next;
    }
  }
}

interface Part {
  readonly bytes: Uint8Array;
  readonly next: number | null;
}

/** A part is a light task: it has about so many events. */
const partEvents = 1000;

/** Waits where too many tasks wait: the client cannot ask for the rest alone. */
async function nextPart({ work }: Services, input: Tasks['bundlePart']['input']): Promise<Part> {
  let bytes: Uint8Array = new Uint8Array();
  const write = async (given: Uint8Array): Promise<void> => void (bytes = given);
  for (let tries = 1; ; tries++) {
    try {
      const { next } = await work.run('bundlePart', input, { events: partEvents, host: { write } });
      return { bytes, next };
    } catch (error) {
      const isBusy = error instanceof GovError && error.code === 'OVERLOADED';
      if (!isBusy || tries === limits.bundlePartTries) throw error;
      await delay(limits.overloadRetrySeconds * 1000);
    }
  }
}
