/**
 * A verdict in sentences for an auditor: the verdict itself, what the file is, and each check. Pure; tested by
 * `test/verify-page/words.test.ts`, which also requires a sentence for every check.
 */
import type { Verdict } from '../client/verify.ts';
import type { HistoryVerdict } from '../core/evidence/history.ts';
import { signedByText } from '../core/note/signed-by.ts';
import { strengthSentence } from '../core/proofs/strength.ts';
import { isVacuous, vacuousCodes, verdictCodes, type CheckResult } from '../core/proofs/verdict.ts';

type Tone = 'good' | 'wait' | 'bad';

export interface VerdictText {
  readonly tone: Tone;
  /** One line; its words alone say what the color says. */
  readonly verdict: string;
  /** Why, and what was not checked; with the command that checks it. */
  readonly reasons: readonly string[];
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly checks: readonly ShownCheck[];
  readonly layers: readonly ShownCheck[];
}

export interface ShownCheck {
  readonly result: CheckResult['result'];
  readonly word: 'Passed' | 'Failed' | 'Not checked';
  readonly text: string;
}

/** What each check asks, by its id. */
export const checkSentences: Readonly<Record<string, string>> = {
  format: 'The file has exactly the form that gov writes.',
  commitment: 'Run, version and time of the proof agree with each other.',
  proof_hash: 'The hash of the proof is that of its members.',
  layer_statements: 'Each statement has the hash that the proof names, and all are about the same events.',
  checkpoint_signatures: 'A key that you trust signed the state of the log.',
  proof_inclusion: 'The log contains the proof.',
  consistency: 'The later state of the log extends the earlier one.',
  tree_root: 'The statements are about the signed state of the log.',
  witnesses: 'As many witnesses as you require cosigned the state of the log.',
  completeness: 'The log has no more entries than the file shows.',
  evidence: 'No honest log signs what the file shows.',
  approval_signatures: 'Each signed approval verifies under the key of an enrolled approver.',
  attestation: 'The attached statement is about this proof.',
  events: 'The events in the file are the events that the log has of the run.',
  disclosures: 'Each disclosed value is the one that was recorded.',
  graph: 'The causal graph is the one that the log recorded.',
  graph_derivation: 'The causal graph follows from the events.',
  layers_recomputed: 'The statements were computed again from the events, with the same result.',
  layers_satisfied: 'Every statement holds.',
  rows: 'Each row follows from its entry of the log.',
  manifest: 'The file has exactly the rows that its manifest names.',
  request: 'The log contains the request for this export.',
  data_hash: 'The data hash is the one that you require.',
  signature: 'A key that you trust signed the data of the report, and how it is printed.',
  attachments: 'Each attached file is the one that the data names.',
  checkpoint: 'A key that you trust signed the state of the log that the report was read from.',
  proofs: 'Each attached proof verifies.',
  pages: 'The printed pages are those that the data gives.',
};

const layerSentences: Readonly<Record<string, string>> = {
  event_integrity: 'The events of the run are numbered without a gap, each once and in order',
  causal_consistency: 'No event happened before its cause',
  policy_compliance: 'The run kept to the policies that were active',
  decision_lineage: 'Every risk decision follows from its inputs',
  replay_determinism: 'A replay gave the same decisions',
  log_inclusion: 'The signed log contains the events',
  'x-coverage': 'A second source agrees on the tool calls',
  'x-recordings': 'Every recording of the run was read whole',
};

const kinds: Readonly<Record<Verdict['kind'], string>> = {
  proof: 'Proof of a run',
  export: 'Export of recorded data',
  answer: 'Answer of the log on how many entries there are',
  evidence: 'Evidence that a log broke a promise',
  report: 'Report',
};

const words = { passed: 'Passed', failed: 'Failed', not_checked: 'Not checked' } as const;

const meaningOf = (code: string | null | undefined): string =>
  code !== null && code !== undefined && Object.hasOwn(verdictCodes, code)
    ? verdictCodes[code as keyof typeof verdictCodes]
    : '';

/**
 * Returns the verdict in sentences. `fileName`: for the command that checks the rest. `history`: what its signed states say
 * of those that were seen before; null for a file without any.
 */
export function shownOf(
  verdict: Verdict,
  fileName: string,
  history: HistoryVerdict | null = null,
): VerdictText {
  const checks = checksOf(verdict);
  const missing = 'completeness' in verdict ? strengthSentence(verdict.completeness) : '';
  const head = headOf(verdict, fileName);
  return {
    ...(history?.split ? splitHead(history.split.detail) : head),
    facts: [...factsOf(verdict), ...(history === null ? [] : [historyFact(history)])],
    checks: checks
      .filter(({ result, detail }) => result !== 'not_checked' || detail !== undefined)
      .map((check) => shownCheck(check, missing)),
    layers: verdict.kind === 'proof' ? verdict.layers.map(shownLayer) : [],
  };
}

function headOf(verdict: Verdict, fileName: string): Pick<VerdictText, 'tone' | 'verdict' | 'reasons'> {
  const notes = 'notes' in verdict ? verdict.notes : [];
  if (!verdict.verified) {
    const { code } = verdict;
    if (code === 'NO_TRUSTED_KEY')
      return {
        tone: 'wait',
        verdict: 'Not verified: no key is trusted',
        reasons: [
          'Give the key of the log or a trust file in step 1. What could be checked without a key is below.',
        ],
      };
    const isAuthentic =
      code === 'RUN_NOT_COMPLIANT' ||
      (verdict.kind === 'proof' &&
        verdict.authentic &&
        verdict.compliant === 'no' &&
        isAlone(verdict.layers));
    if (isAuthentic)
      return {
        tone: 'bad',
        verdict: 'Not compliant: authentic, but the run broke a policy',
        reasons: ['Nothing was changed. The log itself shows that the run broke a policy.', ...notes],
      };
    if (verdict.kind === 'proof' && verdict.authentic && code === 'LAYER_NOT_SATISFIED')
      return {
        tone: 'bad',
        verdict: 'Not verified: authentic, but a layer does not hold',
        reasons: ['Nothing was changed. What the log shows of the run fails below.', ...notes],
      };
    return {
      tone: 'bad',
      verdict: 'Not verified: do not rely on this file',
      reasons: [`${meaningOf(code)}.`, ...notes],
    };
  }
  if (verdict.kind === 'evidence' && verdict.shows === 'index_omission')
    return {
      tone: 'good',
      verdict: 'Verified: the log signed an index that leaves out an event',
      reasons: [
        'The holder of the log key signed the index and the event. An honest index lists every event.',
      ],
    };
  if (verdict.kind === 'evidence')
    return {
      tone: 'good',
      ...(verdict.shows === 'broken_receipt'
        ? {
            verdict: 'Verified: the log lacks an entry that it acknowledged',
            reasons: [
              `The holder of the log key signed both the receipt and the later state: ${verdict.detail}.`,
            ],
          }
        : {
            verdict: 'Verified: the log signed two histories',
            reasons: ['The holder of the log key signed both states. An append-only log cannot have both.'],
          }),
    };
  if (verdict.kind !== 'report') return { tone: 'good', verdict: 'Verified', reasons: notes };
  if (verdict.artifact === 'json') return { tone: 'good', verdict: 'Verified', reasons: [] };
  return {
    tone: 'wait',
    verdict: 'The attached data is verified, the printed pages are not',
    reasons: [
      'The signature, the data and every attached file are those of the log. This page does not compare what is printed: read the figures in the attached files, or run this command, which renders the pages again and compares them:',
      `gov report verify ${/^[\w.-]+$/.test(fileName) ? fileName : 'report.pdf'} --trust FILE`,
    ],
  };
}

const splitHead = (detail: string): ReturnType<typeof headOf> => ({
  tone: 'bad',
  verdict: 'Not verified: the log signed two histories',
  reasons: [
    `This file and an earlier one cannot both be of an append-only log: ${detail}. Save the evidence: anybody can check it.`,
  ],
});

function historyFact({ result, kept }: HistoryVerdict): [string, string] {
  const said = {
    first: 'this is the first signed state of this log here',
    extends: `one history with the state of ${kept} entries that was seen before`,
    not_compared: `not compared with the state of ${kept} entries that was seen before`,
    split: `contradicts the state of ${kept} entries that was seen before`,
  };
  return ['History', said[result]];
}

const isAlone = (layers: readonly { readonly name: string; readonly passed: boolean }[]): boolean => {
  const failed = layers.filter(({ passed }) => !passed);
  return failed.length === 1 && failed[0]?.name === 'policy_compliance';
};

const checksOf = (verdict: Verdict): readonly CheckResult<string>[] =>
  verdict.kind === 'answer' || verdict.kind === 'evidence'
    ? [
        {
          id: verdict.kind,
          result: verdict.verified ? 'passed' : 'failed',
          ...(verdict.code === null ? {} : { code: verdict.code }),
          ...(verdict.detail === null ? {} : { detail: verdict.detail }),
        },
      ]
    : verdict.checks;

/**
 * A detail as a sentence: codes inside of it, such as that of an attached proof, become their meanings, and its first word
 * gets a capital unless it is a name.
 */
const spoken = (text: string): string =>
  text
    .replace(/\b[A-Z]+(?:_[A-Z]+)+\b/g, (code) => meaningOf(code) || code)
    // the page names checks by their sentences, not by their ids
    .replace(/^it rests on [a-z_]+, which failed$/, 'this rests on a check that failed')
    .replace(/^(?!gov )[a-z]+(?=[ :])/, (word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);

const sentence = (text: string): string => (text === '' || /[.:?!]$/.test(text) ? text : `${text}.`);

/** `missing`: by whose word nothing is missing from the file. */
function shownCheck({ id, result, code, detail = '' }: CheckResult<string>, missing: string): ShownCheck {
  const isAbout = (id === 'completeness' && result !== 'failed') || (id === 'answer' && result === 'passed');
  const asked = isAbout ? missing : (checkSentences[id] ?? 'The index of the log gives this answer.');
  const meaning = result === 'failed' ? meaningOf(code) : '';
  const text = [asked, sentence(meaning), sentence(spoken(detail))].filter((part) => part !== '').join(' ');
  return { result, word: words[result], text };
}

function shownLayer(layer: {
  readonly name: string;
  readonly passed: boolean;
  readonly basis: string;
  readonly code?: string;
  readonly says?: string;
}): ShownCheck {
  const { name, passed, basis, code, says } = layer;
  const result = basis === 'not_checked' ? 'not_checked' : passed ? 'passed' : 'failed';
  const said = layerSentences[name] ?? name;
  const how =
    basis === 'recomputed'
      ? 'computed again from the events'
      : basis === 'attested'
        ? 'stated by the log'
        : '';
  const vacuous = isVacuous(code) ? `, only because ${vacuousCodes[code]}` : '';
  const meaning = passed || code === undefined ? '' : ` ${sentence(meaningOf(code))}`;
  return {
    result,
    word: words[result],
    text: `${said}${how === '' ? '' : ` (${how})`}${vacuous}.${meaning}${says === undefined ? '' : ` ${sentence(spoken(says))}`}`,
  };
}

function factsOf(verdict: Verdict): [string, string][] {
  const facts: [string, string | number | null | undefined][] = [['What it is', kinds[verdict.kind]]];
  switch (verdict.kind) {
    case 'proof':
      facts.push(['Proof', verdict.proofId], ['Run', verdict.runId]);
      break;
    case 'export':
      facts.push(['Export', verdict.exportId], ['Resource', verdict.resource], ['Made', verdict.generatedAt]);
      break;
    case 'evidence':
      facts.push(['Log', verdict.origin]);
      break;
    case 'answer':
      facts.push(['Asked for', verdict.question?.key.join(' ')], ['Entries', verdict.count]);
      break;
    case 'report':
      facts.push(
        ['Title', verdict.title],
        ['Report', verdict.executionId],
        ['Period', verdict.startTime === null ? null : `${verdict.startTime} to ${verdict.endTime ?? ''}`],
        ['Data hash', verdict.dataHash],
        ['Log', verdict.origin === null ? null : `${verdict.origin}, ${verdict.treeSize ?? 0} entries`],
        ['Attached files', verdict.files.length === 0 ? null : verdict.files.join(', ')],
        ['What they list', verdict.artifact === 'json' ? null : strengthSentence(verdict.completeness)],
      );
  }
  if ('signatures' in verdict) facts.push(['Signed by', signedByText(verdict) || null]);
  return facts.flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
}
