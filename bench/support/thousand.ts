/** A proof of a run of 1,000 events, for the benchmarks of its verifiers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../../src/client/create.ts';
import { startPlane } from './harness.ts';
import { recordedEvents } from './recorded.ts';

type Enclosed = 'none' | 'records' | 'disclosed';

export interface Thousand {
  /** The bundle with events as the query says. */
  readonly bundles: Readonly<Record<Enclosed, Uint8Array>>;
  /** Text of the trust file. */
  readonly trust: string;
  /** Of the plane, which has ended. */
  readonly dataDir: string;
}

/** Records and proves the run on a plane of its own. */
export async function thousandEvents(): Promise<Thousand> {
  const plane = await startPlane();
  const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey });
  const runId = 'thousand';
  const events = recordedEvents('verify')
    .slice(0, 1000)
    .map((event) => ({ ...event, runId }));
  for (const from of [0, 500])
    await client.createEvents({ body: { events: events.slice(from, from + 500) } });
  const proof = (await client.createProof({ body: { runId } })).body;
  if (!('proofId' in proof)) throw new Error('expected a proof, got a job');
  const params = { proofId: proof.proofId };
  const bundle = async (enclosed: Enclosed): Promise<Uint8Array> =>
    (await client.getProofBundle({ params, query: { events: enclosed } })).bytes;
  const bundles = {
    none: await bundle('none'),
    records: await bundle('records'),
    disclosed: await bundle('disclosed'),
  };
  client.close();
  await plane.stop();
  return { bundles, trust: readFileSync(join(plane.dataDir, 'trust'), 'utf8'), dataDir: plane.dataDir };
}
