/**
 * `gov policy verify`: shows without the service that a version of a policy was in force. The text of the policy has the
 * hash of the proof; the proof leads from this hash to that of a set; evaluations of the log name this set, and the export
 * that has them is verified with a trusted key. Exit 0 in force, 3 not shown, 2 no trusted key or unreadable.
 * Tested by `test/cli/commands/policy/verify.test.ts`, which changes each part.
 */
import { resolve } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import { isObject } from '../../../core/json/object.ts';
import { verifyExport, type ExportVerdict } from '../../../core/exports/verify.ts';
import { type InForceClaim, verifyInForce } from '../../../core/policies/language/hash.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { trustFrom } from '../../context/trust.ts';
import { readPolicy, versionOf } from '../../policies/file.ts';
import { exit, usage } from '../../program/exit.ts';
import { fileChunks } from '../../program/file-chunks.ts';
import { readText, unreadable } from '../../program/flags.ts';
import { counted } from '../../terminal/numbers.ts';
import { safe } from '../../terminal/safe.ts';
import { meaningOf } from '../../terminal/verdict.ts';
import { plainView } from '../../terminal/view.ts';
import { exitOfExport } from '../../trust/export-verdict.ts';
import type { policyVerify as spec } from '../../specs/decide/policy.ts';

type Call = Invocation<typeof spec>;

interface Claim extends InForceClaim {
  readonly policyId: string;
  readonly version: number;
}

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session, io } = call;
  const claim = claimIn(args.proof, io.cwd);
  const policy = versionOf(await readPolicy(flags.policy, call), claim.version);
  const source = trustFrom(flags, session);
  const named = new SetNameCheck(claim.policySetHash);
  const evaluations = await verifyExport(
    named.watch(chunksOf(flags.evaluations, call)),
    source?.trust ?? null,
  );
  const fault = faultOf(claim, { policy, evaluations, named });
  const verified = fault === null;
  out.verdict = verified ? exit.ok : evaluations.verified ? exit.checkFailed : exitOfExport(evaluations);
  const { policyId, version, policyHash, policySetHash } = claim;
  const { count, first, last } = named;
  const shown = {
    verified,
    code: fault?.code ?? null,
    detail: fault?.detail ?? null,
    policyId,
    version,
    policyHash,
    policySetHash,
    evaluations: verified ? count : null,
    firstEvaluatedAt: verified ? first : null,
    lastEvaluatedAt: verified ? last : null,
    trustedOrigin: source?.trust.origin ?? null,
    signatures: evaluations.signatures,
    notes: evaluations.notes,
  };
  if (!out.isHuman) await out.one(shown, plainView(['verified', 'code', 'policyId', 'version']));
  else {
    const { bold, green, red, yellow } = out.styles;
    const what = safe`${policyId} version ${version}`;
    await out.lines([
      verified
        ? safe`${bold(green('✓ was in force'))}  ${what}`
        : safe`${bold(red('✗ NOT SHOWN TO BE IN FORCE'))}  ${what}`,
      ...(fault === null
        ? [safe`  at     ${counted(count, 'evaluation')}, from ${first ?? ''} to ${last ?? ''}`]
        : [safe`  why    ${fault.detail}`]),
      safe`  set    ${policySetHash}`,
      ...(source === null ? [] : [safe`  trust  ${source.trust.origin} (${source.from})`]),
      ...evaluations.notes.map((note) => safe`${yellow(note)}`),
    ]);
  }
  return out.verdict;
};

interface PolicyReport {
  readonly policy: { readonly policyId: string; readonly policyHash: string };
  readonly evaluations: ExportVerdict;
  readonly named: SetNameCheck;
}

/** The first step that does not hold. */
function faultOf(
  claim: Claim,
  { policy, evaluations, named }: PolicyReport,
): { readonly code: string; readonly detail: string } | null {
  if (policy.policyId !== claim.policyId)
    return {
      code: 'POLICY_DIFFERS',
      detail: `the file has the policy ${policy.policyId}, the proof ${claim.policyId}`,
    };
  if (policy.policyHash !== claim.policyHash)
    return {
      code: 'POLICY_DIFFERS',
      detail: `the policy of the file has the hash ${policy.policyHash}, the proof ${claim.policyHash}`,
    };
  if (!verifyInForce(claim))
    return { code: 'NOT_IN_SET', detail: 'the hashes of the proof do not lead from the policy to the set' };
  if (!evaluations.verified)
    return { code: evaluations.code ?? 'MALFORMED_EXPORT', detail: meaningOf(evaluations.code ?? undefined) };
  if (evaluations.resource !== 'policy_evaluations' || named.count === 0)
    return { code: 'SET_NOT_RECORDED', detail: 'no evaluation of the export names the set of the proof' };
  return null;
}

/** Evaluations that name a set, in an export that passes on its way to the verifier. */
class SetNameCheck {
  readonly #hash: string;
  count = 0;
  first: string | null = null;
  last: string | null = null;

  constructor(hash: string) {
    this.#hash = hash;
  }

  async *watch(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    let held = Buffer.alloc(0);
    for await (const chunk of chunks) {
      held = Buffer.concat([held, chunk]);
      for (let end = held.indexOf(10); end !== -1; end = held.indexOf(10)) {
        this.#line(held.toString('utf8', 0, end));
        held = held.subarray(end + 1);
      }
      // the verifier refuses such a line
      if (held.length > limits.exportLineBytes) held = Buffer.alloc(0);
      yield chunk;
    }
  }

  /** Only the row's own member counts: a client can put the same text into the input of an evaluation. */
  #line(line: string): void {
    if (!line.startsWith('{"evidence":') || !line.includes(this.#hash)) return;
    let row: unknown;
    try {
      row = JSON.parse(line.replace(/,$/, ''));
    } catch {
      return; // the verifier refuses the line
    }
    if (!isObject(row)) return;
    const { policySetHash, evaluatedAt } = row;
    if (policySetHash !== this.#hash || typeof evaluatedAt !== 'string') return;
    this.count++;
    if (this.first === null || evaluatedAt < this.first) this.first = evaluatedAt;
    if (this.last === null || evaluatedAt > this.last) this.last = evaluatedAt;
  }
}

async function* chunksOf(file: string, { io, signal }: Call): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* fileChunks(resolve(io.cwd, file), signal);
  } catch (cause) {
    throw signal.aborted ? cause : unreadable(file, cause);
  }
}

/** Errors: exit 2 for a file that is no answer of `gov policy in-force`. */
function claimIn(file: string, cwd: string): Claim {
  const text = readText(file, cwd);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  const claim = value as Partial<Claim> | null;
  const isClaim =
    typeof claim?.policyId === 'string' &&
    Number.isSafeInteger(claim.version) &&
    typeof claim.policyHash === 'string' &&
    typeof claim.policySetHash === 'string' &&
    Array.isArray(claim.hashes);
  if (isClaim) return value as Claim;
  throw usage(
    `${file}: expected the JSON of gov policy in-force`,
    'gov policy in-force POLICY -o json > FILE',
  );
}
