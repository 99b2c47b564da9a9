/**
 * `gov approvals inbox`: pending approvals, the longest waiting first; one in full, with its question.
 * Tested by `test/cli/screens/approvals.test.ts`.
 */
import type { ShownApproval } from '../../../contract/approvals.ts';
import { hiddenSummary } from '../../../core/hidden-text.ts';
import { partyName } from '../../runs/party.ts';
import { aboutDuration } from '../../../core/duration.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import { cut, widthOf } from '../../terminal/width.ts';
import { dimmed, remote, type ScreenStyle } from '../draw.ts';
import { faultLines, filterLine, listText, still, typingLine, whenReady, type Text } from '../lists.ts';
import type { KeyAction } from '../keys.ts';
import type { Frame } from '../shell.ts';
import { approvalText } from './text.ts';
import { chosenApproval, isUnread, shownApprovals, type ApprovalsState } from './state.ts';

export function approvalsView(state: ApprovalsState, look: ScreenStyle): Frame {
  const approval = state.openId === null ? undefined : chosenApproval(state);
  const { failure } = state;
  const { lines, lastScroll } = approval === undefined ? inbox(state, look) : approvalText(approval, state);
  const isStale = failure !== null && state.approvals.state === 'ready';
  const age = isStale ? `  ! ${aboutDuration(state.nowMs - state.readMs)} old: ${failure}` : '';
  const open = approval === undefined ? `  ${state.target}` : ` › ${approval.approvalId}`;
  return {
    title: safe` ${look.styles.bold('gov approvals')}${open}${age}`,
    body: [...refusal(state, look), ...(isStale ? dimmed(lines, look) : lines)],
    status: statusOf(state, look),
    idle: idleOf(state),
    lastScroll,
  };
}

/** A message that the last line cannot hold. */
const isLong = ({ message, columns }: ApprovalsState): boolean =>
  message !== null && widthOf(remote(message.text)) > columns - 3;

function refusal(state: ApprovalsState, look: ScreenStyle): readonly Safe[] {
  if (state.message === null || !isLong(state)) return [];
  return [...faultLines(state.message.text, state.columns, look), safe``];
}

function idleOf(state: ApprovalsState): readonly KeyAction[] {
  if (state.openId !== null) return ['open', 'filter'];
  const none = chosenApproval(state) === undefined ? (['approve', 'deny', 'open'] as const) : [];
  return state.list.filter === '' ? [...none, 'back'] : none;
}

function statusOf(state: ApprovalsState, { styles: { bold, red, green } }: ScreenStyle): Safe | undefined {
  const { typing, asking, wanted, message, columns } = state;
  if (typing?.purpose === 'filter') return filterLine(typing.text, columns);
  const verb = (asking ?? wanted)?.outcome === 'approved' ? green('approve') : red('deny');
  const tool = chosenApproval(state)?.tool?.name ?? 'this';
  if (typing?.purpose === 'comment')
    return typingLine(
      { label: safe`${bold(verb)}, comment:`, text: typing.text, hint: 'enter continues, esc cancels' },
      columns,
    );
  if (asking !== null) {
    const shown = cut(remote(tool), Math.max(8, columns - 54));
    if (isUnread(state, asking))
      return safe` ${bold(verb)} ${shown}: read the call to its end first (space), then y. esc: no`;
    return safe` ${bold(verb)} ${shown}${asking.comment === '' ? '' : ' with your comment'}? y: yes, any other key: no`;
  }
  if (wanted !== null) return safe` sending: ${bold(verb)} ${wanted.approvalId} …`;
  if (message === null || isLong(state)) return undefined;
  return safe` ${message.isBad ? red('✗') : green('✓')} ${message.text}`;
}

function inbox(state: ApprovalsState, look: ScreenStyle): Text {
  const { columns, nowMs } = state;
  return whenReady(state.approvals, { what: 'approvals', columns, look }, (rows) => {
    if (rows.length === 0)
      return still([safe``, safe` ${look.styles.green('✓')} nobody waits for a decision`]);
    return listText(
      state,
      {
        rows: shownApprovals(state),
        all: rows.length,
        noun: 'pending approval',
        note: ', the longest waiting first',
        columns: [
          {
            name: 'waits',
            width: 6,
            cell: ({ requestedAt }) => aboutDuration(nowMs - Date.parse(requestedAt)),
          },
          { name: 'tool', width: columns < 160 ? 16 : 28, cell: ({ tool }) => tool?.name ?? '-' },
          { name: 'server', width: 12, from: 150, cell: ({ tool }) => tool?.server ?? '-' },
          { name: 'arguments', width: 'grow', cell: (each) => argumentsText(each) },
          { name: 'run', width: columns < 160 ? 16 : 28, cell: ({ runId }) => runId },
          {
            name: 'agent',
            width: 16,
            from: 130,
            cell: ({ actor, requestedBy }) => partyName(actor) || requestedBy,
          },
          {
            name: 'policy',
            width: 16,
            from: 100,
            cell: ({ policies }) => policies.map(({ policyId }) => policyId).join(', '),
          },
        ],
      },
      look,
    );
  });
}

/** The beginning of the arguments, after a word on what is hidden; the full view has everything. */
function argumentsText(approval: ShownApproval): string {
  const { arguments: values } = approval;
  if (values === null) return 'erased';
  const hidden = hiddenSummary(approval);
  const said = hidden === null ? '' : `! ${hidden} · `;
  const texts = Object.entries(values).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${said}${texts.join(', ').slice(0, 400)}`;
}
