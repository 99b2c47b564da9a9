/**
 * The verdict about a proof: of this machine from its bundle, or of the service about an id.
 * Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import type { BundleEvent } from '../../core/proofs/bundle.ts';
import { openEventDisclosures } from '../../core/proofs/disclosed.ts';
import { EventReader } from '../../core/proofs/read-bundle.ts';
import type { ProofVerdict } from '../../core/proofs/verdict.ts';
import { verifyBundleFile, type VerifyOptions } from '../../core/proofs/verify.ts';
import type { TrustSource } from '../context/trust.ts';
import type { RepeatableSource } from '../terminal/spool.ts';
import type { BrokenBy, ShownVerdict } from '../terminal/verdict.ts';

/** The service computes from its tables; only a bundle has what shows that they have everything. */
const notCompared = {
  id: 'completeness',
  result: 'not_checked',
  detail: 'a bundle shows whether events are missing: gov proofs get PROOFID --out FILE',
} as const;

export async function verdictOfService(
  client: Client,
  proof: { readonly proofId: string },
): Promise<ShownVerdict> {
  const { body } = await client.verifyProof({ body: proof });
  return { ...body, source: 'service', checks: [notCompared], notes: [] };
}

export async function verdictHere(
  read: RepeatableSource['read'],
  source: TrustSource | null,
  options: VerifyOptions = {},
): Promise<ProofVerdict & ShownVerdict> {
  const verdict = await verifyBundleFile(read, source?.trust ?? null, options);
  return {
    ...verdict,
    source: 'offline',
    trustedOrigin: source?.trust.origin ?? null,
    trustFrom: source?.from ?? null,
    brokenBy: await brokenBy(read, verdict),
  };
}

/** The event at the leaf that broke a policy; its tool if the bundle discloses it. */
async function brokenBy(
  read: RepeatableSource['read'],
  { violation }: ProofVerdict,
): Promise<BrokenBy | null> {
  if (violation === null) return null;
  const found: BundleEvent[] = [];
  const reader = new EventReader((event) => {
    if (event.index === violation.index) found.push(event);
  });
  for await (const chunk of read()) {
    reader.push(chunk);
    if (found.length > 0) break;
  }
  const [event] = found;
  if (event === undefined) return null;
  const { eventId } = JSON.parse(event.record) as { eventId: string }; // the verifier read it
  const fields = openEventDisclosures(event).digests ?? [];
  const tool = fields.find(({ pointer }) => pointer === '/resource/name' || pointer === '/resource')?.value;
  return { eventId, tool: typeof tool === 'string' ? tool : null };
}
