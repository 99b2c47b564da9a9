/**
 * Prints the result of a proof's verification, and warns about vacuous layers.
 * Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import type { Explanation } from '../../core/proofs/bundle.ts';
import { violationTexts } from '../../core/proofs/answers.ts';
import { isVacuous, vacuousCodes, verdictCodes } from '../../core/proofs/verdict.ts';
import type { CheckResult, Compliance, VacuousCode, ProofVerdict } from '../../core/proofs/verdict.ts';
import { completenessOf, strengthText, type Completeness } from '../../core/proofs/strength.ts';
import { signedByText, unsigned } from '../../core/note/signed-by.ts';
import { shellWord } from '../../core/shell-word.ts';
import { exit } from '../program/exit.ts';
import { historyLines, historyRows, type History } from './history.ts';
import type { Out } from './out.ts';
import { Safe, safe } from './safe.ts';
import type { Paint, Styles } from './safe.ts';
import { csvLine, tabbedLine } from './table.ts';
import { plainView } from './view.ts';
import { wrapped } from './width.ts';
import { counted } from './numbers.ts';

interface Layer {
  readonly name: string;
  readonly passed: boolean;
  readonly basis: 'recomputed' | 'attested' | 'not_checked';
  readonly code?: string | undefined;
  readonly says?: string | undefined;
}

/** The event that broke a policy, as far as the bundle shows it. */
export interface BrokenBy {
  readonly eventId: string;
  readonly tool: string | null;
}

/** A verdict of this machine, or the service's response, which has fewer members. */
export interface ShownVerdict extends Partial<Omit<ProofVerdict, 'layers' | 'code'>> {
  readonly source: 'offline' | 'service';
  readonly verified: boolean;
  readonly proofId: string | null;
  readonly code?: string | null | undefined;
  readonly layers: readonly Layer[];
  readonly checks: readonly CheckResult[];
  readonly notes: readonly string[];
  readonly trustedOrigin?: string | null;
  readonly trustFrom?: string | null;
  readonly explanations?: readonly Explanation[];
  readonly brokenBy?: BrokenBy | null;
  readonly history?: History;
}

/** What the exit code follows from. */
export type VerdictFacts = Pick<ShownVerdict, 'verified' | 'code' | 'authentic' | 'compliant' | 'layers'>;

/** Codes of a raw recording that differs from the proof, whatever its policies say. */
const takesBack = /^(?:RECORDING|BALANCE)_/;

/** 0 verified; 11 authentic, but a policy was broken, and nothing else is wrong; 3 otherwise. */
export function exitOfVerdict({
  verified,
  code,
  authentic = false,
  compliant,
  layers,
}: VerdictFacts): number {
  if (verified) return exit.ok;
  if (code === 'SPLIT_VIEW' || takesBack.test(code ?? '')) return exit.checkFailed;
  const failed = layers.filter(({ passed }) => !passed);
  const isAlone = failed.length === 1 && failed[0]?.name === 'policy_compliance';
  return authentic && compliant === 'no' && isAlone ? exit.notCompliant : exit.checkFailed;
}

export const meaningOf = (code: string | undefined): string =>
  code !== undefined && Object.hasOwn(verdictCodes, code)
    ? verdictCodes[code as keyof typeof verdictCodes]
    : (code ?? '');

export async function printVerdict(out: Out, shown: ShownVerdict): Promise<void> {
  const has = (vacuous: VacuousCode): boolean => shown.layers.some(({ code }) => code === vacuous);
  // a preimage has several lines, which tab-separated output could only escape
  const asText = out.isHuman || (out.format === 'tsv' && shown.explanations !== undefined);
  const { styles, settings } = out;
  if (asText) await out.lines(verdictLines(shown, { styles, columns: settings.columns }));
  else if (out.format === 'tsv' || out.format === 'csv') await out.lines(rows(shown, out.format === 'csv'));
  else await out.one(shown, plainView(['proofId'], 'proofId'));
  if (asText && shown.notes.length > 0) return;
  if (has('NO_POLICY_ACTIVE')) {
    await out.warn(
      safe`NO POLICY WAS ACTIVE during this run: policy_compliance holds because nothing was governed`,
    );
  }
  if (has('NO_DECISION_REPLAYED')) {
    await out.warn(
      safe`NO DECISION WAS REPLAYED: replay_determinism holds because this run has no decisions`,
    );
  }
}

/** One line each: `kind name result …`. */
function rows(shown: ShownVerdict, asCsv: boolean): Safe[] {
  const cells: (readonly (string | null | undefined)[])[] = [
    ['proof', shown.proofId, shown.verified ? 'verified' : 'not verified', shown.code],
    ['authentic', shown.authentic ? 'yes' : 'no'],
    ['compliant', compliantText(shown)],
    ...signedRows(shown),
    ...historyRows(shown.history),
    ...shown.layers.map((layer) => [
      'layer',
      layer.name,
      resultOf(layer),
      layer.basis,
      layer.code,
      ...(layer.says === undefined ? [] : [layer.says]),
    ]),
    ...shown.checks.map(({ id, result, code, detail }) => ['check', id, result, code, detail]),
  ];
  return cells.map((line) => (asCsv ? csvLine(line) : tabbedLine(line)));
}

/** Who signed, and by whose word nothing is missing; none of the answer of a service. */
export const signedRows = ({
  signatures = [],
  missingAlgorithms = [],
  completeness,
}: Partial<Pick<ProofVerdict, 'signatures' | 'missingAlgorithms' | 'completeness'>>): string[][] => [
  ...signatures.map(({ algorithm, keyId }) => ['signed', algorithm, keyId]),
  ...missingAlgorithms.map((algorithm) => ['signed', algorithm, 'missing', 'SIGNATURE_MISSING']),
  ...(completeness === undefined ? [] : [['completeness', completeness.result, completeness.strength]]),
];

/** The verdict for people, with the answers to the two questions at the top. */
export function verdictLines(
  shown: ShownVerdict,
  { styles, columns }: { styles: Styles; columns: number },
): Safe[] {
  const checks = shown.checks.filter(
    ({ result, detail }) => result !== 'not_checked' || detail !== undefined,
  );
  const { bold, green, red, yellow, dim } = styles;
  const head = shown.verified
    ? green('✓ verified')
    : exitOfVerdict(shown) === exit.notCompliant
      ? red('✗ NOT COMPLIANT')
      : red('✗ NOT VERIFIED');
  const facts: readonly (readonly [string, string | null | undefined])[] = [
    ['why', shown.verified || shown.compliant === 'no' ? null : meaningOf(shown.code ?? undefined)],
    ['authentic', shown.authentic ? 'yes: the log signed it, and nothing in it was changed' : 'no'],
    ['compliant', compliantText(shown)],
    ...brokenFacts(shown),
    ['signed by', signedByText({ ...unsigned, ...shown })],
    ['approvals', approvalsText(shown)],
    ['run', shown.runId],
    ['log', shown.trustedOrigin],
    ['trust', shown.trustFrom],
  ];
  const width = Math.max(
    0,
    ...[...shown.layers.map(({ name }) => name), ...checks.map(({ id }) => id)].map((name) => name.length),
  );
  return [
    safe`${bold(head)}  ${shown.proofId ?? ''}`,
    ...facts.flatMap(([name, value]) => (!value ? [] : [safe`  ${name.padEnd(9)} ${value}`])),
    ...completenessLines(shown, styles),
    ...(shown.history === undefined ? [] : historyLines(shown.history, styles)),
    ...(shown.layers.length === 0
      ? []
      : [bold('Layers'), ...shown.layers.map((layer) => layerLine(layer, width, styles))]),
    ...(checks.length === 0
      ? []
      : [bold('Checks'), ...checks.map((check) => checkLine(check, width, styles))]),
    ...legend(shown).map((text) => dim(text)),
    ...shown.notes.flatMap((text) => wrapped(text, columns).map((line) => yellow(line))),
    ...(shown.explanations ?? []).flatMap((each) => explanationLines(each, styles)),
  ];
}

/** Whether nothing is missing from a file, and by whose word. `check`: that of a verdict which lists its checks. */
export function completenessLine(
  completeness: Completeness,
  check: Pick<CheckResult<string>, 'code' | 'detail'> | undefined,
  { bold, green, red, yellow }: Styles,
): Safe {
  const why = check?.detail === undefined ? '' : ` (${check.detail})`;
  const { result, strength } = completeness;
  if (result === 'failed') return safe`  none missing: ${bold(red(check?.code ?? 'no'))}${why}`;
  const paint = strength === 'witnessed' || strength === 'derived' ? green : yellow;
  return safe`  none missing: ${bold(paint(strengthText(completeness)))}${why}`;
}

/** That of a verdict, which the answer of a service lacks. */
export const completenessLines = (
  {
    completeness,
    checks,
  }: { readonly checks: readonly CheckResult<string>[]; readonly completeness?: Completeness },
  styles: Styles,
): Safe[] => {
  const check = checks.find(({ id }) => id === 'completeness');
  if (check === undefined) return [];
  return [completenessLine(completeness ?? completenessOf(checks, null), check, styles)];
};

const complianceTexts: Readonly<Record<Compliance, string>> = {
  yes: 'yes',
  no: 'no',
  not_governed: 'not governed',
  not_checked: 'not checked',
};

const compliantText = ({ compliant = 'not_checked' }: ShownVerdict): string => complianceTexts[compliant];

function approvalsText({ approvals }: ShownVerdict): string | null {
  if (approvals === undefined) return null;
  const { used, once, signed } = approvals;
  const what = `${counted(used, 'call')} ran by an approval`;
  const signatures =
    signed === undefined
      ? '; none is signed: they rest on API keys'
      : `; ${signed} signed by enrolled approvers`;
  return `${what}${once ? ', each approval was used once' : ', and an approval was USED TWICE'}${signatures}`;
}

/** What broke a policy, and the command that shows the policy and its clause. */
function brokenFacts({ violation, brokenBy, runId }: ShownVerdict): [string, string | null][] {
  if (!violation) return [];
  const { check, index } = violation;
  const tool = !brokenBy?.tool ? '' : ` (tool ${brokenBy.tool})`;
  const what = !brokenBy ? `leaf ${index}` : `event ${brokenBy.eventId}, leaf ${index}${tool}`;
  return [
    ['broken by', `${what}: ${violationTexts[check] ?? check}`],
    ['policy', !runId ? null : `gov policy evaluations --run ${shellWord(runId)}`],
  ];
}

const mark = (result: 'passed' | 'failed' | 'not_checked', { green, red, dim }: Styles): Safe =>
  result === 'passed' ? green('✓') : result === 'failed' ? red('✗') : dim('-');

/** What was not checked has not failed. */
const resultOf = ({ passed, basis }: Pick<Layer, 'passed' | 'basis'>): 'passed' | 'failed' | 'not_checked' =>
  basis === 'not_checked' ? 'not_checked' : passed ? 'passed' : 'failed';

function layerLine({ name, passed, basis, code, says }: Layer, width: number, styles: Styles): Safe {
  const vacuous = isVacuous(code);
  const sign = vacuous ? styles.yellow('!') : mark(resultOf({ passed, basis }), styles);
  const shout: Paint = (text) => styles.bold(styles.yellow(text));
  const found = [meaningOf(code), says ?? ''].filter((text) => text !== '').join(': ');
  const said = vacuous ? shout(vacuousCodes[code].toUpperCase()) : safe`${found}`;
  return safe`  ${sign} ${name.padEnd(width)}  ${basis.replace('_', ' ').padEnd(11)}  ${said}`;
}

export function checkLine(
  { id, result, code, detail }: CheckResult<string>,
  width: number,
  styles: Styles,
): Safe {
  const said = [code === undefined ? '' : meaningOf(code), detail ?? '']
    .filter((text) => text !== '')
    .join(': ');
  const note = result === 'not_checked' ? `not checked${said === '' ? '' : `: ${said}`}` : said;
  return safe`  ${mark(result, styles)} ${id.padEnd(width)}  ${styles.dim(note)}`;
}

function legend({ layers, source }: ShownVerdict): string[] {
  const has = (basis: Layer['basis']): boolean => layers.some((layer) => layer.basis === basis);
  const where =
    source === 'offline' ? 'on this machine from what the bundle encloses' : 'by the service from its store';
  return [
    ...(has('recomputed') ? [`recomputed: computed again ${where}`] : []),
    ...(has('attested')
      ? ['attested: the signed word of the log; the bundle does not enclose the events behind it']
      : []),
  ];
}

function explanationLines({ name, preimage, hash, how }: Explanation, { bold, cyan }: Styles): Safe[] {
  return [
    safe``,
    bold(name),
    safe`  hash      ${hash}`,
    safe`  repeat    ${cyan(how)}`,
    safe`  of these ${Buffer.byteLength(preimage)} bytes:`,
    Safe.clean(preimage),
  ];
}
