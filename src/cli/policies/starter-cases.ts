/**
 * Cases of the starter policies: checkpoints as the plane makes them from the calls in
 * `starter-calls.ts` and `starter-calls-asking.ts`.
 * Proven by `test/cli/commands/policy/starter.test.ts`.
 */
import type { PolicyAction } from '../../contract/policy-words.ts';
import { withAction } from '../../core/action/recorded.ts';
import type { JsonObject } from '../../core/json/canonical.ts';
import type { Call } from './starter-call.ts';
import { askingCalls } from './starter-calls-asking.ts';
import { denyingCalls } from './starter-calls.ts';
import type { Starter } from './starters.ts';
import { parsePolicyText } from './text-form.ts';

interface StarterCase {
  readonly name: string;
  readonly checkpoint: { readonly context: JsonObject };
  readonly expect: PolicyAction;
}

/** The cases of a starter. */
export function casesOf({ id, text }: Starter): readonly StarterCase[] {
  const { passes, caught, unclear } = denyingCalls[id] ??
    askingCalls[id] ?? { passes: [], caught: [], unclear: [] };
  const { action, onIndeterminate } = parsePolicyText(text);
  const expecting =
    (expect: PolicyAction) =>
    (call: Call): StarterCase => ({ name: nameOf(call), checkpoint: checkpointOf(call), expect });
  return [
    { name: 'no tool call', checkpoint: { context: {} }, expect: 'allow' },
    ...passes.map(expecting('allow')),
    ...caught.map(expecting(action)),
    ...unclear.map(expecting(onIndeterminate ?? action)),
  ];
}

const nameOf = (call: Call): string =>
  typeof call === 'string'
    ? call
    : `${call.client} ${String(call.tool['name'])} ${JSON.stringify(call.arguments)}`;

const facts = { cwd: '/srv/app', home: '/home/a', workspace: '/srv/app', plane: '127.0.0.1:7460' };

function checkpointOf(call: Call): StarterCase['checkpoint'] {
  const { client, ...members } =
    typeof call === 'string'
      ? { tool: { name: 'Bash' }, arguments: { command: call }, client: 'claude-code' }
      : call;
  const { context } = withAction({ ...members, facts: { ...facts, client: { name: client } } });
  return { context };
}
