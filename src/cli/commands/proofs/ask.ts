/**
 * `gov proofs ask`: how many events of a run or type the log has, or that it has none. The answer is a file that is verified
 * without the service; this command verifies it too. Tested by `test/cli/commands/proofs/ask.test.ts`.
 */
import type { AnswerVerdict } from '../../../core/proofs/answer.ts';
import { verifyAnswer } from '../../../core/proofs/answer.ts';
import { requireStrength } from '../../../core/proofs/strength.ts';
import { ceilTimestamp, formatTimestamp } from '../../../core/time.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { trustFrom } from '../../context/trust.ts';
import { printAnswer } from '../../trust/answer-verdict.ts';
import { derivedFrom } from '../../trust/derived.ts';
import { FoundHeads, SeenHeads, withHistory } from '../../trust/history.ts';
import { isStdout, refuseTerminal, writeOutput } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import type { proofsAsk as spec } from '../../specs/prove/proofs.ts';
import { counted } from '../../terminal/numbers.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session } = invocation;
  const { run: runId, type, since, until } = flags;
  if ((runId === undefined) === (type === undefined))
    throw usage('--run or --type: expected one of them', 'gov proofs ask --run RUN --since TIME');
  if (flags.out !== undefined) refuseTerminal(flags.out, invocation);
  const client = await session.client();
  const query = {
    ...(runId === undefined ? {} : { runId }),
    ...(type === undefined ? {} : { type }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
  const { bytes } = await client.askLog({ query });
  if (flags.out !== undefined && isStdout(flags.out, invocation)) return out.raw(bytes);
  const source = trustFrom(flags, session);
  const derived = await derivedFrom(invocation, flags, source);
  const seen = new FoundHeads();
  const judged = verifyAnswer(bytes, source?.trust ?? null, { ...derived, seen: seen.seen });
  const own = answersQuestion(judged, query);
  const enough = requireStrength(own, flags.requireCompleteness);
  const verdict = await withHistory(enough, SeenHeads.ofSource(invocation, source, unkept), seen);
  // without a trusted key here, a file is still what somebody else verifies
  const unjudged = flags.out === undefined ? exit.usage : exit.ok;
  out.verdict = verdict.verified ? exit.ok : verdict.code === 'NO_TRUSTED_KEY' ? unjudged : exit.checkFailed;
  if (flags.out !== undefined) {
    await writeOutput(flags.out, bytes, invocation);
    await out.note(
      safe`wrote ${flags.out} (${counted(bytes.length, 'byte')}); verify it: gov proofs verify ${shellWord(flags.out)}`,
    );
  }
  await printAnswer(out, { verdict, source });
  return out.verdict;
};

const unkept = { kept: [], noRemember: false };

/** The verdict, not verified where the service answered another question: a right answer to it says nothing here. */
function answersQuestion(
  verdict: AnswerVerdict,
  asked: { runId?: string; type?: string; since?: string; until?: string },
): AnswerVerdict {
  const { question, verified } = verdict;
  if (!verified || question === null) return verdict;
  const [kind, ...names] = question.key;
  const isKey =
    asked.runId === undefined
      ? (kind === 'type' || kind === 'leaf') && names.join('\0') === asked.type
      : kind === 'run' && names.join('\0') === asked.runId;
  const isPeriod = question.since === boundOf(asked.since) && question.until === boundOf(asked.until);
  if (isKey && isPeriod) return verdict;
  const detail = 'the service answered another question than the one that was asked';
  return { ...verdict, verified: false, code: 'ANSWER_INVALID', detail, count: null };
}

/** The bound as the service states it, in whole milliseconds. */
const boundOf = (time: string | undefined): string | null =>
  time === undefined ? null : formatTimestamp(ceilTimestamp(time) ?? Number.NaN);
