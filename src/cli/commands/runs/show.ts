/** `gov runs show RUN`. Tested by `test/cli/commands/runs/show.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { standing } from '../../approvals/standing.ts';
import type { Run } from '../../context/command.ts';
import { coverageLine, gapLines } from '../../runs/coverage.ts';
import { gatherRun, type Cut, type RunView, type ShownCall, type ShownProof } from '../../runs/gather.ts';
import type { Out, Row } from '../../terminal/out.ts';
import { printReport } from '../../terminal/report.ts';
import { safe, type Safe, type Styles } from '../../terminal/safe.ts';
import type { Column } from '../../terminal/view.ts';
import type { runsShow as spec } from '../../specs/record/runs.ts';
import { counted } from '../../terminal/numbers.ts';

const columns: readonly Column[] = [
  { name: 'decision', kind: 'text' },
  { name: 'tool', kind: 'text' },
  { name: 'callId', kind: 'id' },
  { name: 'policy', kind: 'text' },
  { name: 'coverage', kind: 'text' },
  { name: 'sources', kind: 'text' },
  { name: 'ending', kind: 'text' },
  { name: 'why', kind: 'text' },
];

export const run: Run<typeof spec> = async ({ args, io, out, session }) => {
  const view = await gatherRun(await session.client(), args.runId);
  if (out.format === 'tsv' && out.settings.formatFrom === 'default') return out.json(view);
  const calls = out.isHuman ? view.calls.slice(0, limits.runShowCalls) : view.calls;
  return printReport(out, {
    whole: view,
    columns,
    rows: calls.map(rowOf),
    head: headOf(view, out),
    foot: footOf(view, { out, now: io.now(), shownCalls: calls.length }),
  });
};

/** A call that several programs decided has each of their decisions. */
function rowOf({ callId, tool, verdict, decision, ending, sources, detail, decisions }: ShownCall): Row {
  const policies = decisions.flatMap((each) => each.policies);
  const named = policies.map(({ policyId, version }) => `${policyId} v${version ?? '?'}`);
  return {
    decision: listed(decisions.map((each) => each.decision)) || (decision ?? 'none'),
    tool,
    callId,
    policy: listed(named),
    coverage: verdict,
    sources: sources.join(', '),
    ending,
    why: detail ?? listed(policies.map(({ reasoning }) => reasoning)),
  };
}

const listed = (texts: readonly string[]): string => [...new Set(texts)].join(', ');

function headOf({ runId, events, coverage, models }: RunView, { styles }: Out): Safe[] {
  const { count, firstTimestamp, lastTimestamp, byType } = events;
  const types = byType.map((each) => `${each.eventType} ${each.count}`).join(', ');
  const bySource = (all: RunView['models']['sources']): string =>
    all.map(({ source, calls }) => `${source} ${calls}`).join(', ');
  const sources = bySource(coverage.sources);
  return [
    safe`${styles.bold(runId)}  ${counted(count, 'event')}, ${firstTimestamp ?? '?'} to ${lastTimestamp ?? '?'}`,
    safe`events   ${types}`,
    ...(sources === '' ? [] : [safe`calls    ${sources} (by source)`]),
    ...(models.calls === 0
      ? []
      : [
          safe`models   ${counted(models.calls, 'call')}, ${bySource(models.sources)} (by source), ${models.confirmed} seen by two or more`,
        ]),
    coverageLine(coverage, styles),
    ...gapLines(coverage),
  ];
}

function footOf(
  { runId, calls, approvals, proof, cut }: RunView,
  { out, now, shownCalls }: { readonly out: Out; readonly now: number; readonly shownCalls: number },
): Safe[] {
  const { styles } = out;
  const { bold, yellow } = styles;
  const left: Cut[] =
    shownCalls < calls.length
      ? [
          {
            part: 'calls',
            shown: shownCalls,
            of: calls.length,
            next: `gov runs show ${shellWord(runId)} -o json`,
          },
        ]
      : [];
  return [
    ...approvals.map(
      (approval) =>
        safe`approval ${approval.approvalId} ${bold(approval.status)}  ${approval.tool?.name ?? ''}  ${standing(approval, now)}`,
    ),
    ...(proof === null
      ? [safe`${yellow('not proved')}: gov proofs create --run ${shellWord(runId)}`]
      : proofLines(proof, styles)),
    ...[...left, ...cut].map(
      ({ part, shown, of, next }) =>
        safe`${yellow('cut')}: ${shown}${of === null ? '' : ` of ${of}`} ${part} shown; the rest: ${next}`,
    ),
  ];
}

const compliance: Readonly<Record<ShownProof['compliant'], string>> = {
  yes: 'yes, the proof states',
  no: 'no, the proof states',
  yes_or_not_governed: 'yes, or no policy was active, the proof states',
  not_checked: 'not checked: the proof has no layer policy_compliance',
};

function proofLines({ createdAt, layers, compliant, verify }: ShownProof, { bold, red }: Styles): Safe[] {
  const failed = layers.filter(({ verified }) => !verified).map(({ name }) => name);
  const answer = compliance[compliant];
  return [
    safe`${bold('proved')} at ${createdAt}, not verified here: ${verify}`,
    safe`  authentic  not checked here`,
    safe`  compliant  ${compliant === 'no' ? red(answer) : answer}`,
    ...(failed.length === 0 ? [] : [safe`  failed     ${failed.join(', ')}`]),
  ];
}
