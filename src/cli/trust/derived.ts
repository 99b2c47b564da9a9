/** The index of a log, derived from the records of `--entries`. Tested by `test/docs/index-witness.test.ts`. */
import { resolve } from 'node:path';
import { deriveEntries } from '../../core/evidence/entries-file.ts';
import type { DerivedLog } from '../../core/proofs/strength.ts';
import { GovError } from '../../contract/problems.ts';
import type { Invocation } from '../context/command.ts';
import type { TrustSource } from '../context/trust.ts';
import { usage } from '../program/exit.ts';
import { fileReread } from '../terminal/spool.ts';

/** Nothing without `--entries`. Errors: exit 2 for a file that does not have the records of a trusted checkpoint. */
export async function derivedFrom(
  { io, signal }: Pick<Invocation, 'io' | 'signal'>,
  { entries }: { readonly entries: string | undefined },
  source: TrustSource | null,
): Promise<{ readonly derived?: DerivedLog }> {
  if (entries === undefined) return {};
  if (source === null)
    throw usage('--entries: expected a trusted key of the log, got none', 'give --trust FILE');
  const { read } = fileReread(resolve(io.cwd, entries), signal);
  try {
    return { derived: await deriveEntries(read, source.trust) };
  } catch (cause) {
    if (cause instanceof GovError) throw usage(`${entries}: ${cause.message}`);
    throw cause;
  }
}
