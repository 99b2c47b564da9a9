/** `gov receipts verify`: offline. Tested by `test/cli/commands/receipts/verify.test.ts`. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { GovError } from '../../../contract/problems.ts';
import { parseHash } from '../../../core/hash.ts';
import { leafHash } from '../../../core/merkle/tree.ts';
import { signatureCode, type VerdictCode } from '../../../core/proofs/verdict.ts';
import { NoteError } from '../../../core/note/signed.ts';
import { readReceipt, verifyReceipt } from '../../../core/receipt/cose.ts';
import { formatTimestamp } from '../../../core/time.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { requireTrust } from '../../context/trust.ts';
import { exit, usage } from '../../program/exit.ts';
import { unreadable } from '../../program/flags.ts';
import { safe } from '../../terminal/safe.ts';
import { meaningOf } from '../../terminal/verdict.ts';
import { plainView } from '../../terminal/view.ts';
import type { receiptsVerify as spec } from '../../specs/prove/receipts.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session } = call;
  const { trust, from } = requireTrust(flags, session);
  const bytes = fileOf(args.file, call);
  const receipt = orUsage(args.file, () => readReceipt(bytes));
  const leaves = leavesOf(call) ?? receipt.leaves;
  if (leaves === null)
    throw usage('expected the leaf, which this receipt does not list: --leaf HASH or --record FILE');
  const { origin, size, atSeconds, paths } = receipt;
  const shown = { origin, size, index: paths[0].index, signedAt: formatTimestamp(atSeconds * 1000) };
  let fault: { readonly code: VerdictCode; readonly detail: string } | null = null;
  try {
    verifyReceipt(bytes, leaves, trust);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    const code = error instanceof NoteError ? signatureCode(error) : 'NOT_INCLUDED';
    fault = { code, detail: error.message };
  }
  const verified = fault === null;
  if (!verified) out.verdict = exit.checkFailed;
  if (!out.isHuman) {
    const { code, detail } = fault ?? { code: null, detail: null };
    await out.one({ verified, code, detail, ...shown }, plainView(['verified', 'code', 'size', 'index']));
    return out.verdict;
  }
  const { bold, green, red } = out.styles;
  const until = shown.index + leaves.length - 1;
  await out.lines([
    safe`${bold(verified ? green('✓ verified') : red('✗ NOT VERIFIED'))}  ${leaves.length === 1 ? `leaf ${shown.index}` : `leaves ${shown.index} to ${until}`} of ${String(size)}`,
    ...(fault === null ? [] : [safe`  why    ${meaningOf(fault.code)}: ${fault.detail}`]),
    safe`  signed ${shown.signedAt}`,
    safe`  trust  ${origin} (${from})`,
  ]);
  return out.verdict;
};

/** Hashes of the leaves that the flags name; null for none. Errors: exit 2. */
function leavesOf(call: Call): Buffer[] | null {
  const { leaf, record } = call.flags;
  if (leaf.length > 0 && record !== undefined)
    throw usage('expected --leaf HASH or --record FILE, got both of them');
  if (leaf.length === 0 && record === undefined) return null;
  if (record !== undefined) return [leafHash(fileOf(record, call))];
  return leaf.map((text) => {
    const hash = parseHash(text.startsWith('sha256:') ? text : `sha256:${text}`);
    if (hash === null)
      throw usage(`--leaf: expected sha256: and 64 hex digits, got ${JSON.stringify(text.slice(0, 80))}`);
    return hash;
  });
}

function fileOf(name: string, { io }: Call): Buffer {
  try {
    return readFileSync(resolve(io.cwd, name));
  } catch (cause) {
    throw unreadable(name, cause);
  }
}

function orUsage<Value>(file: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof GovError) throw usage(`${file}: ${cause.message}`);
    throw cause;
  }
}
