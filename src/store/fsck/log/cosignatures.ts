/**
 * `fsck`: compares cosignatures of witnesses (C2SP tlog-cosignature) with their checkpoints.
 * It does not verify them: the log does not contain the keys of witnesses. A verifier who trusts the witness
 * does. Proven by `test/store/fsck/cosignatures.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { splitNote } from '../../../core/note/signed.ts';
import { keyIdText } from '../../../core/note/key.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { Value } from '../../file/connection.ts';

interface Row {
  readonly tree: number;
  readonly size: number;
  readonly key: string;
  readonly line: string;
  readonly note: string | null;
}

export function checkCosignatures({ db, problem }: Check, { no, projectId }: CheckedProject): void {
  const rows = db.prepare<Value[], Row>(
    `SELECT k.tree, k.size, k.key, k.line, c.note FROM cosignature k
     LEFT JOIN checkpoint c ON c.project = k.project AND c.tree = k.tree AND c.size = k.size
     WHERE k.project = ? ORDER BY k.tree, k.size, k.key`,
  );
  for (const { tree, size, key, line, note } of rows.iterate(no)) {
    const position = `${projectId}/${tree === 0 ? 'audit' : 'metering'}/checkpoint/${size}`;
    const expected = `a signed checkpoint, and one signature line of ${key}`;
    const got = note === null ? 'no checkpoint' : signerOf(line);
    if (got !== key) problem(position, 'checkpoint_mismatch', { expected, got });
  }
}

/** Cosignatures of no project, which the check of a project does not read. */
export function checkStrayCosignatures({ db, problem }: Check): void {
  const rows = db.prepare<[], { project: number; key: string }>(
    'SELECT DISTINCT project, key FROM cosignature WHERE project NOT IN (SELECT project FROM project) LIMIT 100',
  );
  for (const { project, key } of rows.iterate())
    problem(`cosignature/${project}`, 'checkpoint_mismatch', {
      expected: 'a project',
      got: `none, of ${key}`,
    });
}

/** Returns `<name>+<key id>` of the one signature line in a text, or a text with its fault. */
function signerOf(line: string): string {
  try {
    const [signature, ...more] = splitNote(`text\n\n${line}`).signatures;
    if (signature === undefined || more.length > 0) return `${more.length + 1} lines`;
    return `${signature.name}+${keyIdText(signature.keyId)}`;
  } catch (error) {
    if (error instanceof GovError) return error.message;
    throw error;
  }
}
