/**
 * `gov policy explain --command LINE --client NAME`: the canonical action of a call that somebody types, and what policies decide.
 * Tested by `test/cli/commands/policy/explain.test.ts`.
 */
import { resolve } from 'node:path';
import type { PolicyAction, PolicyOutcome } from '../../../contract/policy-words.ts';
import { clientTools } from '../../../core/action/client-tools.ts';
import { withAction } from '../../../core/action/recorded.ts';
import type { Action } from '../../../core/action/shape.ts';
import type { JsonObject } from '../../../core/json/parse.ts';
import { isObject } from '../../../core/json/object.ts';
import { combine, counts, decide } from '../../../core/policies/evaluate/decision.ts';
import { compile } from '../../../core/policies/evaluate/compile.ts';
import { reasoning } from '../../../core/policies/explain/reasoning.ts';
import { factsOf, workspaceOf } from '../../agents/facts.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { readPolicies } from '../../policies/file.ts';
import { painted } from '../../policies/decisions.ts';
import { usage } from '../../program/exit.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import type { policyExplain as spec } from '../../specs/decide/policy.ts';

const columns = textColumns(['policyId', 'decision', 'outcome', 'reasoning']);

/** A type, because a row is any record. */
type Explained = {
  readonly policyId: string;
  readonly decision: PolicyAction;
  readonly outcome: PolicyOutcome;
  readonly reasoning: string;
};

export const run: Run<typeof spec> = async (invocation) => {
  const { args, out } = invocation;
  const { context, action, actionHash } = withAction(contextOf(invocation));
  const decisions =
    args.file.length === 0 ? await ofPlane(invocation, context) : await ofFiles(invocation, context);
  const combined = combine(decisions);
  await printReport(out, {
    whole: { action, actionHash, combined, decisions },
    columns,
    rows: out.isHuman ? decisions.filter(({ outcome }) => counts(outcome)) : decisions,
    head: [...actionLines(action), safe``, headLine(decisions, invocation)],
    result: { facts: { actionHash, combined }, rowKind: 'decision' },
  });
};

function headLine(decisions: readonly Explained[], { out }: Invocation<typeof spec>): Safe {
  const deciding = decisions.filter(({ outcome }) => counts(outcome)).length;
  return safe`${painted(combine(decisions), out.styles)}  ${String(deciding)} of ${String(decisions.length)} policies matched or could not be decided`;
}

/** Where `gov plane init` lets a plane serve. */
const usualPlane = '127.0.0.1:7460';

/** The context of the call, without its action. */
function contextOf({ flags, io, session }: Invocation<typeof spec>): JsonObject {
  const client = flags.client ?? 'claude-code';
  const cwd = resolve(io.cwd, flags.cwd ?? '.');
  const { tool, given } = callOf(flags, client);
  const server = flags.server ?? null;
  const facts = factsOf({
    client,
    tool,
    server,
    arguments: given,
    cwd,
    workspace: workspaceOf(cwd),
    // without a plane, no endpoint is its own
    plane: session.hasTarget() ? (URL.parse(session.baseUrl().value)?.host ?? null) : usualPlane,
  });
  return {
    tool: { name: tool, ...(server === null ? {} : { server }) },
    arguments: given,
    facts: { ...facts, client: { name: client } },
  };
}

/** The tool and its arguments. Errors: exit 2 for flags that name no call. */
function callOf(
  flags: Invocation<typeof spec>['flags'],
  client: string,
): { readonly tool: string; readonly given: JsonObject } {
  const { command, tool, arguments: given } = flags;
  if ((command === undefined) === (tool === undefined))
    throw usage('expected --command LINE, or --tool NAME with --arguments');
  if (given !== undefined && !isObject(given)) throw usage('expected an object as --arguments');
  if (tool !== undefined) return { tool, given: given ?? {} };
  if (given !== undefined) throw usage('expected --arguments only with --tool');
  const [name, { command: member = 'command' } = {}] =
    [...(clientTools.get(client)?.tools ?? [])].find(([, { kind }]) => kind === 'shell') ?? [];
  return { tool: name ?? 'shell', given: { [member]: command ?? '' } };
}

async function ofFiles(
  { args, io, signal }: Invocation<typeof spec>,
  context: JsonObject,
): Promise<Explained[]> {
  const policies = await readPolicies(args.file, { io, signal });
  const input = { context };
  return policies.map(({ policyId, action, onIndeterminate, node }) => ({
    policyId,
    ...decide(action, compile(node).evaluate(input), onIndeterminate),
    reasoning: reasoning({ action, onIndeterminate, version: 1, node, input }),
  }));
}

/** The active policies of the plane decide, and nothing is recorded. */
async function ofPlane({ session }: Invocation<typeof spec>, context: JsonObject): Promise<Explained[]> {
  const client = await session.client();
  const { body } = await client.simulatePolicies({ body: { checkpoint: { context } } });
  return body.decisions.map(({ policyId, decision, outcome, reasoning: text }) => ({
    policyId,
    decision,
    outcome,
    reasoning: text,
  }));
}

/** The members of an action that say something, one a line. */
function actionLines(action: Action): Safe[] {
  const { kind, commands, paths, hosts, endpoints, code, mcp, money } = action;
  const list = <Item>(name: string, items: readonly Item[] | null, text: (item: Item) => string): Safe[] =>
    items === null ? [safe`${name}: unknown`] : items.map((item) => safe`${name}: ${text(item)}`);
  return [
    safe`kind: ${kind}`,
    ...(mcp === null ? [] : [safe`mcp: ${mcp.tool} of ${mcp.server}`]),
    ...list('command', commands, ({ program, args, cwd }) =>
      [program, ...args.map((arg) => arg ?? '?'), `(in ${cwd ?? '?'})`].join(' '),
    ),
    ...list('path', paths, ({ access, path, places }) =>
      path === null ? `${access} ?` : `${access} ${path} (${places?.join(', ') ?? '?'})`,
    ),
    ...list('host', hosts, (host) => host ?? '?'),
    ...list('endpoint', endpoints, (endpoint) => endpoint ?? '?'),
    ...list('code', code, (each) => each),
    ...(money === undefined ? [] : [safe`money: ${String(money.amount ?? '?')} ${money.currency ?? '?'}`]),
  ];
}
