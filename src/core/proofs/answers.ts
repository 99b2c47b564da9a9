/**
 * The two answers of a verification. *Authentic*: the file is what the log signed, and no check of it failed. Whether events
 * are missing is the check `completeness`, which a file may lack.
 * *Compliant*: the run obeyed the policies in force, as the layer `policy_compliance` says. A run that broke a policy is
 * authentic evidence of that. Proven by `test/core/proofs/answers.test.ts`.
 */
import { isCount } from '../count.ts';
import { isObject } from '../json/object.ts';
import type { Statement } from './statement.ts';
import { isRecordingCode } from './verdict.ts';
import type { Answers, CheckResult, Compliance, LayerVerification, Violation } from './verdict.ts';

const layerName = 'policy_compliance';

/** `anchored`: every check that ties the layers to the log passed. */
export function answersOf(
  { checks, layers }: { checks: readonly CheckResult[]; layers: readonly LayerVerification[] },
  { anchored, statements }: { anchored: boolean; statements: ReadonlyMap<string, Statement> },
): Answers {
  const broken = checks.some(({ id, result }) => result === 'failed' && id !== 'layers_satisfied');
  const others = layers.filter(({ name }) => name !== layerName);
  const authentic = anchored && !broken && layers.length > 0 && others.every(isRecorded);
  const layer = layers.find(({ name }) => name === layerName);
  const compliant = authentic ? complianceOf(layer) : 'not_checked';
  return {
    authentic,
    compliant,
    violation: compliant === 'no' ? violationIn(statements.get(layerName)) : null,
    ...(compliant === 'yes' || compliant === 'no' ? approvalsIn(statements.get(layerName)) : {}),
  };
}

/**
 * A layer whose subject never happened, such as a replay, says nothing against the record; nor do sources that disagree, of
 * which the record is the evidence.
 */
const isRecorded = ({ name, passed, code }: LayerVerification): boolean =>
  passed ||
  code === 'DECISION_NOT_RUN' ||
  code === 'REPLAY_NOT_RUN' ||
  (name === 'x-coverage' && code === 'LAYER_NOT_SATISFIED') ||
  (name === 'x-recordings' && isRecordingCode(code));

function complianceOf(layer: LayerVerification | undefined): Compliance {
  if (layer === undefined || layer.basis === 'not_checked') return 'not_checked';
  if (!layer.passed) return 'no';
  return layer.code === 'NO_POLICY_ACTIVE' ? 'not_governed' : 'yes';
}

function violationIn(statement: Statement | undefined): Violation | null {
  const first = statement?.claims['firstViolation'];
  if (!isObject(first)) return null;
  const { check, index } = first;
  return typeof check === 'string' && isCount(index) ? { check, index } : null;
}

function approvalsIn(statement: Statement | undefined): Pick<Answers, 'approvals'> {
  const claimed = statement?.claims['approvals'];
  const used = isObject(claimed) ? claimed['n'] : undefined;
  const once = statement?.checks.find(({ id }) => id === 'approvals_used_once')?.pass;
  if (!isCount(used) || used === 0 || once === undefined) return {};
  const listed = signedIn(statement);
  return { approvals: { used, once, ...(listed === null ? {} : { signed: listed.length }) } };
}

/** A used approval that the layer lists as signed. `approved`: the index of its leaf, of any type in a forged layer. */
export interface ListedSignature {
  readonly id: string;
  readonly approverId: string;
  readonly approved: unknown;
}

/** The used approvals that the layer lists as signed; null where the layer says nothing about signatures. */
export function signedIn(statement: Statement | undefined): ListedSignature[] | null {
  if (statement?.checks.some(({ id }) => id === 'escalations_signed') !== true) return null;
  const claimed = statement.claims['approvals'];
  const listed = isObject(claimed) && Array.isArray(claimed['listed']) ? claimed['listed'] : [];
  return listed.flatMap((item) =>
    isObject(item) && typeof item['signed'] === 'string' && typeof item['id'] === 'string'
      ? [{ id: item['id'], approverId: item['signed'], approved: item['approved'] }]
      : [],
  );
}

/** What each check of `policy_compliance` says where it fails. */
export const violationTexts: Readonly<Record<string, string>> = {
  sets_were_in_force: 'it was decided by policies that were not in force',
  decisions_recompute: 'its recorded decision does not follow from the policies',
  every_governed_event_decided: 'it ran without a decision of its own',
  calls_as_evaluated: 'it was not the call that was decided: tool, arguments or actor differ',
  decisions_were_fresh: 'it ran after its decision or approval had expired',
  nothing_ran_after_deny: 'it ran although the policies denied it',
  escalations_approved: 'it ran before anybody approved it',
  approvals_used_once: 'it ran by an approval that another call had used',
  escalations_signed: 'its approval lacks a valid signature of an enrolled approver',
};
