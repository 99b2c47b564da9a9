/**
 * `gov proofs get ID`: gets the proof, or its bundle for verification without the service.
 * Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import { createHash } from 'node:crypto';
import { bundleTlogProof } from '../../../core/proof/bundle.ts';
import { readBundle } from '../../../core/proof/read-bundle.ts';
import type { Invocation, Run } from '../../program/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { isStdout, refuseExisting, writeOutput } from '../../terminal/output-file.ts';
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
    return out.one(body, viewOf('getProof'));
  }
  const query =
    flags.format === 'dsse'
      ? ({ events: 'none', attestation: true, completeness: false } as const)
      : { events: flags.events, ...(flags.v1 ? { completeness: false } : {}) };
  const { bytes } = await client.getProofBundle({ params, query });
  const document = convert(bytes, flags.format ?? 'govproof');
  await deliver(invocation, document);
};

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
    await writeOutput(flags.out, document, call);
    const hash = createHash('sha256').update(document).digest('hex');
    await out.note(safe`wrote ${flags.out} (${document.length} bytes, sha256 ${hash})`);
    if ((flags.format ?? 'govproof') === 'govproof')
      await out.note(safe`verify it: gov proofs verify ${flags.out}`);
  } else if (!out.settings.tty) {
    await out.raw(document);
  } else {
    const text = Buffer.from(document).toString();
    await out.line(flags.format === 'tlog-proof' ? Safe.clean(text) : Safe.json(JSON.parse(text), 2));
  }
}
