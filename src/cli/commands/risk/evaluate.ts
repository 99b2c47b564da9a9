/**
 * `gov risk evaluate [FILE]`: scores an input, and shows the parts of the score.
 * Tested by `test/cli/commands/policy/change.test.ts`.
 */
import type { RiskDecision, RiskInput } from '../../../contract/risk.ts';
import { riskActions } from '../../../contract/risk-words.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { failsOn } from '../../program/fail-on.ts';
import { objectOf, readInput } from '../../terminal/input.ts';
import type { Out } from '../../terminal/out.ts';
import { printReport } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { Safe } from '../../terminal/safe.ts';
import type { riskEvaluate as spec } from '../../specs/decide/risk.ts';

const columns = [
  { name: 'name', kind: 'text' },
  { name: 'weight', kind: 'count' },
  { name: 'value', kind: 'count' },
  { name: 'contribution', kind: 'count' },
] as const;

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings } = invocation;
  const input = await inputOf(invocation);
  const client = await session.client();
  const { body } = await client.evaluateRisk({ body: input, idempotencyKey: settings.idempotencyKey });
  out.verdict = failsOn(flags.failOn, body.action, riskActions) ? exit.checkFailed : exit.ok;
  await printReport(out, {
    whole: body,
    columns,
    rows: body.factors,
    head: [headLine(body, out)],
    foot: [out.styles.dim(safe`recorded as ${body.id}, inputs ${body.deterministicInputsHash}`)],
    result: { facts: factsOf(body), rowKind: 'factor' },
  });
  return out.verdict;
};

async function inputOf({ args, flags, io, signal }: Invocation<typeof spec>): Promise<RiskInput> {
  const given = args.file === undefined ? {} : objectOf(await readInput(args.file, { io, signal }));
  const { evaluationSignals = [] } = given;
  if (!Array.isArray(evaluationSignals)) throw usage('evaluationSignals: expected a list, got another type');
  const signals = [...evaluationSignals, ...flags.signal.map(signalOf)];
  const merged = {
    ...given,
    ...(flags.run === undefined ? {} : { runId: flags.run }),
    ...(signals.length === 0 ? {} : { evaluationSignals: signals }),
  };
  if (!('runId' in merged)) throw usage('expected --run, or a file that names runId');
  // the service checks the members against its schema
  return merged as unknown as RiskInput;
}

function signalOf(text: string): { signal: string; value: number } {
  const at = text.lastIndexOf('=');
  const value = Number(text.slice(at + 1));
  if (at > 0 && text.slice(at + 1).trim() !== '' && Number.isFinite(value)) {
    return { signal: text.slice(0, at), value };
  }
  throw usage(`--signal: expected NAME=NUMBER, got ${JSON.stringify(text.slice(0, 64))}`);
}

const factsOf = ({ action, score, wouldBeAction, id, deterministicInputsHash }: RiskDecision) => ({
  action,
  score,
  wouldBeAction,
  id,
  deterministicInputsHash,
});

function headLine({ action, wouldBeAction, score }: RiskDecision, { styles }: Out): Safe {
  const paint = { allow: styles.green, flag: styles.yellow, escalate: styles.yellow, block: styles.red };
  const would = wouldBeAction === null ? '' : `  would be ${wouldBeAction}: the router only monitors`;
  return safe`${styles.bold(paint[action](action))}  score ${score}${would}`;
}
