/**
 * `gov proofs ask`: how many events of a run or type the log has, or that it has none. The answer is a file that is verified
 * without the service; this command verifies it too. Tested by `test/cli/commands/proofs/ask.test.ts`.
 */
import type { AnswerVerdict } from '../../../core/proofs/answer.ts';
import { verifyAnswer } from '../../../core/proofs/answer.ts';
import { requireStrength } from '../../../core/proofs/strength.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { trustFrom } from '../../context/trust.ts';
import { printAnswer } from '../../trust/answer-verdict.ts';
import { derivedFrom } from '../../trust/derived.ts';
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
  const judged: AnswerVerdict = verifyAnswer(bytes, source?.trust ?? null, derived);
  const verdict = requireStrength(judged, flags.requireCompleteness);
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
