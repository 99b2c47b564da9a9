/**
 * `gov proofs get ID`: gets the proof, or its bundle for verification without the service.
 * Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import { createHash } from 'node:crypto';
import { bundleMediaType, bundleTlogProof } from '../../../core/proof/bundle.ts';
import { readBundle } from '../../../core/proof/read-bundle.ts';
import type { ComplianceProof } from '../../../contract/proofs.ts';
import type { Invocation, Run } from '../../program/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { isStdout, refuseExisting, writeOutput } from '../../terminal/output-file.ts';
import type { Out } from '../../terminal/out.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import type { proofsGet as spec } from './spec.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { args, flags, out, session } = invocation;
  if (flags.out !== undefined) refuseExisting(flags.out, flags, invocation);
  const client = await session.client();
  const params = { proofId: args.proofId };
  const wantsBundle = flags.bundle || flags.out !== undefined || flags.format !== undefined;
  if (!wantsBundle) {
    const { body } = await client.getProof({ params });
    return printProof(body, out);
  }
  const query =
    flags.format === 'dsse'
      ? ({ events: 'none', attestation: true, completeness: false } as const)
      : { events: flags.events, ...(flags.v1 ? { completeness: false } : {}) };
  const { bytes } = await client.getProofBundle({ params, query });
  const format = flags.format ?? 'govproof';
  await deliver(invocation, convert(bytes, format));
  if (format === 'govproof' && !flags.v1 && lacksIndex(bytes)) await noteUnchecked(out, args.proofId);
};

type Saving = Pick<Invocation, 'io' | 'out' | 'signal'>;
type Format = 'govproof' | 'tlog-proof' | 'dsse';

/** Returns the bundle in the given form. Errors: exit 5 if the bundle lacks that part. */
function convert(bytes: Uint8Array, format: Format): Uint8Array {
  switch (format) {
    case 'govproof':
      return bytes;
    case 'tlog-proof':
      return Buffer.from(bundleTlogProof(readBundle(bytes)));
    case 'dsse': {
      const { dsse } = readBundle(bytes);
      if (dsse !== undefined) return Buffer.from(`${JSON.stringify(dsse)}\n`);
      throw new CliError(exit.notFound, 'the bundle has no DSSE envelope', {
        code: 'NO_ATTESTATION',
        hint: 'use the tlog-proof form, which the log signs: --format tlog-proof',
      });
    }
  }
}

async function deliver(call: Invocation<typeof spec>, document: Uint8Array): Promise<void> {
  const { flags, out } = call;
  if (flags.out !== undefined && !isStdout(flags.out, call)) {
    if ((flags.format ?? 'govproof') === 'govproof') await saveBundle(flags.out, document, call);
    else await save(flags.out, document, call);
  } else if (!out.settings.tty) {
    await out.raw(document);
  } else {
    const text = Buffer.from(document).toString();
    await out.line(flags.format === 'tlog-proof' ? Safe.clean(text) : Safe.json(JSON.parse(text), 2));
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

/** Whether a bundle does not show whether anything is missing. */
export const lacksIndex = (bundle: Uint8Array): boolean =>
  Buffer.from(bundle).includes(`"mediaType":"${bundleMediaType}"`);

/** Says that a proof or bundle does not show that nothing is missing, and what to do. */
export const noteUnchecked = (out: Out, proofId: string): Promise<void> =>
  out.warn(
    safe`none missing: not checked, because the index of the log is still built; later: gov proofs get ${proofId} --out FILE`,
  );

/** Writes a bundle to a file, and names the command that verifies it. */
export async function saveBundle(file: string, bundle: Uint8Array, call: Saving): Promise<void> {
  await save(file, bundle, call);
  await call.out.note(safe`verify it: gov proofs verify ${file}`);
}

async function save(file: string, document: Uint8Array, call: Saving): Promise<void> {
  await writeOutput(file, document, call);
  const hash = createHash('sha256').update(document).digest('hex');
  await call.out.note(safe`wrote ${file} (${document.length} bytes, sha256 ${hash})`);
}
