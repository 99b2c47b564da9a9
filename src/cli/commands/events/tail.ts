/**
 * `gov events tail`: prints live events until interrupted: JSON lines into a pipe, coloured lines with decisions on a
 * terminal.
 * Tested by `test/cli/commands/events/tail.test.ts` against a real WebSocket server.
 */
import { tailEvents } from '../../../client/tail.ts';
import type { AuditEvent } from '../../../contract/events.ts';
import { policyActions } from '../../../contract/policy-words.ts';
import type { Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import type { Out } from '../../terminal/out.ts';
import { partyName } from '../../runs/party.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import type { Styles } from '../../terminal/safe.ts';
import type { eventsTail as spec } from '../../specs/record/events.ts';
import { followOnScreen } from '../../screens/events/follow.ts';
import { canShow } from '../../screens/start.ts';
import { yamlLines } from '../../terminal/yaml.ts';

function colored(eventType: string, { red, green, yellow, cyan }: Styles): Safe {
  if (/blocked|error|denied|rejected|exceeded/.test(eventType)) return red(eventType);
  if (/approv|granted/.test(eventType)) return green(eventType);
  return /^(policy|risk|secret)/.test(eventType) ? yellow(eventType) : cyan(eventType);
}

/** ` deny`, or ` escalate apr_…` with the approval that a person decides; empty for an event without a decision. */
function decisionOf({ metadata }: AuditEvent, { red, green, yellow }: Styles): Safe {
  const { decision, approvalId } = metadata;
  const action = policyActions.find((each) => each === decision);
  if (action === undefined) return safe``;
  const style = { allow: green, warn: yellow, escalate: yellow, deny: red }[action];
  return typeof approvalId === 'string' ? safe` ${style(action)} ${approvalId}` : safe` ${style(action)}`;
}

/** `12:03:04 #42 run-1 tool.evaluated planner → search: evaluate deny`. */
function humanLine(event: AuditEvent, styles: Styles): Safe {
  const time = event.serverTimestamp.slice(11, 19);
  const resource = partyName(event.resource);
  const target = resource === '' ? safe`` : safe` → ${resource}`;
  const head = safe`${styles.dim(time)} ${styles.dim(`#${event.sequence}`)} ${event.runId} `;
  const what = safe`${colored(event.eventType, styles)} ${partyName(event.actor)}${target}: ${event.action}`;
  return safe`${head}${what}${decisionOf(event, styles)}`;
}

async function print(event: AuditEvent, out: Out): Promise<void> {
  switch (out.format) {
    case 'table':
    case 'wide':
      return out.line(humanLine(event, out.styles));
    case 'yaml':
      return out.lines([Safe.cell('---'), ...yamlLines(event)]);
    case 'id':
      return out.line(Safe.cell(event.eventId));
    default:
      // a stream has no end, so it cannot be one JSON value
      return out.json(event, 0);
  }
}

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session, signal } = call;
  if (out.format === 'json' || out.format === 'csv') {
    throw usage(
      `--output: expected ndjson, table, yaml or id for a stream, got ${out.format}`,
      'gov events tail -o ndjson',
    );
  }
  const client = await session.client();
  if (flags.tui && (await canShow(call))) {
    const target = session.context()?.name ?? session.baseUrl().value;
    const { run: runId, type: eventType, after, ascii } = flags;
    await followOnScreen(call, { client, target, ascii, runId, eventType, after });
    return exit.ok;
  }
  const events = tailEvents(client, {
    runId: flags.run,
    eventType: flags.type,
    after: flags.after,
    signal,
    observe: (note) => {
      if (note.kind === 'connected')
        void out.detail(safe`following events of ${client.connection.base.origin}`);
      else
        void out.note(safe`connection lost (${note.reason}); again in ${Math.ceil(note.delayMs / 1000)} s`);
    },
  });
  let left = flags.count ?? Infinity;
  for await (const event of events) {
    await print(event, out);
    left -= 1;
    if (left <= 0) break;
  }
  return exit.ok;
};
