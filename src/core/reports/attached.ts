/**
 * Step 5 of the verifier of reports: the attached proof bundles, answers of the log and proofs of units, and by whose word
 * nothing is missing from what they list. The files are attacker controlled, and no content of them makes this throw.
 * Proven by `test/core/reports/verify.test.ts`.
 */
import type { SignedHead } from '../note/heads.ts';
import type { Trust } from '../note/trust.ts';
import { type AnswerVerdict, verifyAnswer } from '../proofs/answer.ts';
import { weakestOf, type Completeness, type DerivedLog } from '../proofs/strength.ts';
import type { ProofVerdict, VerdictCode } from '../proofs/verdict.ts';
import { verifyBundle } from '../proofs/verify.ts';
import { answerEnd, proofEnd, unitsEnd } from './inputs.ts';
import type { Report } from './model.ts';
import { checkUnits } from './units.ts';

export interface AttachedProof {
  readonly name: string;
  readonly verdict: ProofVerdict;
}

export interface AttachedAnswer {
  readonly name: string;
  readonly verdict: AnswerVerdict;
}

export interface AttachedFiles {
  readonly proofs: readonly AttachedProof[];
  readonly answers: readonly AttachedAnswer[];
  /** Files with proofs of units. */
  readonly units: number;
  readonly faults: readonly { readonly code: VerdictCode; readonly detail: string }[];
  /** The weakest of all files that verify; `none` where there is none. */
  readonly completeness: Completeness;
}

interface Options {
  readonly report: Report;
  readonly trust: Trust | null;
  readonly derived?: DerivedLog;
  readonly seen?: (heads: readonly SignedHead[]) => void;
}

export function verifyAttached(files: ReadonlyMap<string, Buffer>, options: Options): AttachedFiles {
  const { report, trust, derived, seen } = options;
  const how = { ...(derived === undefined ? {} : { derived }), ...(seen === undefined ? {} : { seen }) };
  const proofs: AttachedProof[] = [];
  const answers: AttachedAnswer[] = [];
  const faults: { code: VerdictCode; detail: string }[] = [];
  const shown: Completeness[] = [];
  let units = 0;
  const notVerified = (name: string, code: string | null): void => {
    if (code === 'NO_TRUSTED_KEY') faults.push({ code, detail: `${name}: no key is trusted` });
    else faults.push({ code: 'PROOF_NOT_VERIFIED', detail: `${name}: ${code ?? 'not verified'}` });
  };
  for (const [name, bytes] of files) {
    if (name.endsWith(answerEnd)) {
      const verdict = verifyAnswer(bytes, trust, how);
      answers.push({ name, verdict });
      shown.push(verdict.completeness);
      if (!verdict.verified) notVerified(name, verdict.code);
    }
    if (name.endsWith(proofEnd)) {
      const verdict = verifyBundle(bytes, trust, how);
      proofs.push({ name, verdict });
      shown.push(verdict.completeness);
      if (isNotCompliant(verdict)) faults.push({ code: 'RUN_NOT_COMPLIANT', detail: name });
      else if (!verdict.verified) notVerified(name, verdict.code);
    }
    if (name.endsWith(unitsEnd)) {
      units += 1;
      const fault = unitsFault(name, { bytes, report, trust });
      if (fault !== null) faults.push(fault);
      // the metering log counts for itself: no index witness reads it
      const by = [report.log.origin];
      shown.push({ result: 'passed', strength: fault === null ? 'own_index' : 'none', by, quorum: 0 });
    }
  }
  return { proofs, answers, units, faults, completeness: weakestOf(shown) };
}

/** Units that follow from leaves of the metering log, which the same keys signed. */
function unitsFault(
  name: string,
  { bytes, report, trust }: { readonly bytes: Buffer; readonly report: Report; readonly trust: Trust | null },
): { code: VerdictCode; detail: string } | null {
  if (trust === null || trust.keys.length === 0)
    return { code: 'NO_TRUSTED_KEY', detail: `${name}: no key is trusted` };
  const fault = checkUnits(bytes, report, { trust, table: name.slice(0, -unitsEnd.length) });
  return fault && { code: 'PROOF_NOT_VERIFIED', detail: `${name}: ${fault.code}, ${fault.detail}` };
}

/** Authentic, and a broken policy is all that is wrong. */
function isNotCompliant({ verified, authentic, compliant, layers }: ProofVerdict): boolean {
  const failed = layers.filter(({ passed }) => !passed);
  return (
    !verified &&
    authentic &&
    compliant === 'no' &&
    failed.length === 1 &&
    failed[0]?.name === 'policy_compliance'
  );
}
