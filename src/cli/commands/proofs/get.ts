/**
 * `gov proofs get ID`: gets the proof, or its bundle for verification without the service.
 * Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import { createHash } from 'node:crypto';
import type { Client } from '../../../client/create.ts';
import { openBundle, type OpenBundle } from '../../../client/open.ts';
import { bundleTlogProof } from '../../../core/proofs/bundle.ts';
import { readFrame } from '../../../core/proofs/read-bundle.ts';
import type { ComplianceProof } from '../../../contract/proofs.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { trustFrom } from '../../context/trust.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import {
  isStdout,
  openOutput,
  refuseExisting,
  writeOutput,
  type Output,
} from '../../terminal/output-file.ts';
import type { Out } from '../../terminal/out.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import type { proofsGet as spec } from '../../specs/prove/proofs.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { counted } from '../../terminal/numbers.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { args, flags, out, session } = invocation;
  if (flags.out !== undefined) refuseExisting(flags.out, flags, invocation);
  const client = await session.client();
  const params = { proofId: args.proofId };
  const wantsBundle = flags.bundle || flags.wait || flags.out !== undefined || flags.format !== undefined;
  if (!wantsBundle) {
    const { body } = await client.getProof({ params });
    return printProof(body, out);
  }
  const { format = 'govproof' } = flags;
  if (flags.wait) await waited(invocation, client);
  if (format !== 'govproof')
    return deliverPart(invocation, await partOf(client, args.proofId, format), format);
  const query = { events: flags.events, ...(flags.v1 ? { completeness: false } : {}) };
  let lacksIndex: boolean;
  if (flags.out !== undefined && !isStdout(flags.out, invocation)) {
    const place = await openPlace(flags.out, invocation);
    const open = () => openBundle(client, { params, query });
    lacksIndex = await saveBundle(place, open, invocation).finally(place.close);
  } else if (out.settings.tty) {
    const { body } = await client.getProofBundle({ params, query });
    lacksIndex = body.completeness === undefined;
    await out.line(Safe.json(body, 2));
  } else {
    const seen = watched((await openBundle(client, { params, query })).chunks);
    await writeOutput('-', seen.chunks, invocation);
    lacksIndex = seen.lacksIndex();
  }
  if (!flags.v1 && lacksIndex) await noteUnchecked(out, args.proofId);
};

/** Waits for the witnesses that --trust requires. Loaded only then. */
async function waited(call: Invocation<typeof spec>, client: Client): Promise<void> {
  const { args, flags, session } = call;
  const { waitForWitnesses } = await import('../../runs/cosigned.ts');
  const source = trustFrom(flags, session);
  const isShort = flags.v1 || (flags.format ?? 'govproof') !== 'govproof';
  const query = isShort ? ({ completeness: false } as const) : {};
  await waitForWitnesses(client, { proofId: args.proofId, source, query }, call);
}

type SaveCall = Pick<Invocation, 'io' | 'out' | 'signal'>;
type Part = 'tlog-proof' | 'dsse';

/** Returns a part of the bundle as a document of its own. Errors: exit 5 if the bundle lacks it. */
async function partOf(client: Client, proofId: string, part: Part): Promise<Uint8Array> {
  const query = { events: 'none', completeness: false, attestation: part === 'dsse' } as const;
  const { bytes } = await client.getProofBundle({ params: { proofId }, query });
  const frame = readFrame(bytes);
  if (part === 'tlog-proof') return Buffer.from(bundleTlogProof(frame));
  if (frame.dsse !== undefined) return Buffer.from(`${JSON.stringify(frame.dsse)}\n`);
  throw new CliError(exit.notFound, 'the bundle has no DSSE envelope', {
    code: 'NO_ATTESTATION',
    hint: 'use the tlog-proof form, which the log signs: --format tlog-proof',
  });
}

async function deliverPart(call: Invocation<typeof spec>, document: Uint8Array, part: Part): Promise<void> {
  const { flags, out } = call;
  if (flags.out !== undefined && !isStdout(flags.out, call)) {
    const place = await openPlace(flags.out, call);
    await save(place, document, call).finally(place.close);
  } else if (!out.settings.tty) await out.raw(document);
  else {
    const text = Buffer.from(document).toString();
    await out.line(part === 'tlog-proof' ? Safe.clean(text) : Safe.json(JSON.parse(text), 2));
  }
}

/** Prints a proof: its layers as a list for people, else as the service answered. */
export async function printProof(proof: ComplianceProof, out: Out): Promise<void> {
  if (!out.isHuman) return out.one(proof, viewOf('getProof'));
  const { bold, green, red } = out.styles;
  const { proofId, runId, createdAt, proofHash, layers } = proof;
  await out.lines([
    safe`${bold('Proof')}  ${proofId}`,
    safe`  run      ${runId}`,
    safe`  created  ${createdAt}`,
    safe`  hash     ${proofHash}`,
    bold('Layers'),
    ...layers.map(({ name, verified }) =>
      verified ? safe`  ${green('✓')} ${name}` : safe`  ${red('✗')} ${name}: does not hold`,
    ),
  ]);
}

/** Says that a proof or bundle does not show that nothing is missing, and what to do. */
export const noteUnchecked = (out: Out, proofId: string): Promise<void> =>
  out.warn(
    safe`none missing: not checked, because the index of the log is still built; later: gov proofs get ${shellWord(proofId)} --out FILE`,
  );

interface BundleStream {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** After the last chunk: whether the bundle does not show that nothing is missing. */
  readonly lacksIndex: () => boolean;
}

/** Looks for the index while a bundle passes. In a text of JSON its quotes would be escaped. */
function watched(chunks: AsyncIterable<Uint8Array>): BundleStream {
  const sought = '"completeness":{';
  let found = false;
  const passing = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    let before = Buffer.alloc(0);
    for await (const chunk of chunks) {
      const seen = Buffer.concat([before, chunk]);
      found ||= seen.includes(sought);
      before = seen.subarray(-sought.length);
      yield chunk;
    }
  };
  return { chunks: passing(), lacksIndex: () => !found };
}

/** Where `--out` writes. */
export interface NamedOutput extends Output {
  readonly name: string;
}

/** Errors: those of `openOutput`. Call it before the request, so that no answer is lost to an unwritable place. */
export const openPlace = async (name: string, call: SaveCall): Promise<NamedOutput> => ({
  ...(await openOutput(name, call)),
  name,
});

/** Writes a bundle as it arrives, and names the command that verifies it. Returns whether it lacks the index. */
export async function saveBundle(
  place: NamedOutput,
  open: () => Promise<OpenBundle>,
  call: SaveCall,
): Promise<boolean> {
  const { chunks, lacksIndex } = watched((await open()).chunks);
  await save(place, chunks, call);
  await call.out.note(safe`verify it: gov proofs verify ${shellWord(place.name)}`);
  return lacksIndex();
}

/** Where it fails or is interrupted, nothing of a file is left. */
async function save(
  { name, write }: NamedOutput,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  call: SaveCall,
): Promise<void> {
  const hash = createHash('sha256');
  let size = 0;
  const sent = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const piece of content instanceof Uint8Array ? [content] : content) {
      hash.update(piece);
      size += piece.length;
      yield piece;
    }
  };
  await write(sent());
  await call.out.note(safe`wrote ${name} (${counted(size, 'byte')}, sha256 ${hash.digest('hex')})`);
}
