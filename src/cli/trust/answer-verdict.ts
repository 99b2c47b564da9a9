/**
 * Prints the result of an answer's verification. Tested by `test/cli/commands/proofs/ask.test.ts`.
 */
import { signedByText } from '../../core/note/signed-by.ts';
import type { AnswerVerdict } from '../../core/proofs/answer.ts';
import type { TrustSource } from '../context/trust.ts';
import { historyLines, type History } from '../terminal/history.ts';
import type { Out } from '../terminal/out.ts';
import { safe, type Safe } from '../terminal/safe.ts';
import { completenessLine, meaningOf } from '../terminal/verdict.ts';
import { plainView } from '../terminal/view.ts';

interface AnswerReport {
  readonly verdict: AnswerVerdict & { readonly history?: History };
  readonly source: TrustSource | null;
}

export async function printAnswer(out: Out, { verdict, source }: AnswerReport): Promise<void> {
  if (!out.isHuman) return out.one(verdict, plainView(['verified', 'code', 'count', 'below']));
  const { bold, green, red, yellow } = out.styles;
  const { verified, code, detail } = verdict;
  const head = verified ? green('✓ verified') : red('✗ NOT VERIFIED');
  const signed = signedByText(verdict);
  const lines: Safe[] = [
    safe`${bold(head)}  ${sentence(verdict)}`,
    ...(verified
      ? []
      : [safe`  why    ${meaningOf(code ?? undefined)}${detail === null ? '' : `: ${detail}`}`]),
    ...(signed === '' ? [] : [safe`  signed ${signed}`]),
    ...(verified ? [completenessLine(verdict.completeness, undefined, out.styles)] : []),
    ...(source === null ? [] : [safe`  trust  ${source.trust.origin} (${source.from})`]),
    ...(verdict.history === undefined ? [] : historyLines(verdict.history, out.styles)),
  ];
  lines.push(...verdict.notes.map((note) => safe`${yellow(note)}`));
  if (verified && verdict.witnesses === 0) {
    lines.push(
      safe`${yellow('UNWITNESSED: no trusted witness cosigned; the owner of the log key could show another history')}`,
    );
  }
  return out.lines(lines);
}

/** The question, and what a verified answer says. */
function sentence({ question, count, below }: AnswerVerdict): string {
  if (question === null) return 'an answer';
  const what = listText(question.key);
  const since = question.since === null ? '' : ` recorded since ${question.since}`;
  const until = question.until === null ? '' : `${since === '' ? ' recorded' : ''} before ${question.until}`;
  if (count === null) return `${what}${since}${until}`;
  const where = question.until === null ? ` below leaf ${below}` : '';
  return `${count === 0 ? 'no' : `exactly ${count}`} ${what}${since}${until}${where}`;
}

/** What a list of the index has, so that no name of its key is left out. */
function listText([kind, ...names]: readonly string[]): string {
  const [name = '', of] = names;
  switch (kind) {
    case 'run':
      return `events of run ${name}`;
    case 'type':
      return `events of type ${name}`;
    case 'day':
      return `events of the client day ${name}`;
    case 'leaf':
      return `${name} records`;
    case 'of':
      return `${name} records of run ${of ?? ''}`;
    default:
      return `entries of the list ${[kind, ...names].join(' ')}`;
  }
}
