/** The policies of drills: one denies the call of a drill, one asks a person. Tested by `test/cli/agents/drill.test.ts`. */
import type { Client } from '../../../client/create.ts';
import { canonicalCondition } from '../../../core/policies/language/canonical.ts';
import { parseText } from '../../../core/policies/language/text.ts';
import { findPolicy } from '../../policies/stored.ts';

export const policyId = 'gov-drill';
const askingId = 'gov-drill-ask';

/** The policy denies a command with this text. */
export const forbidden = 'gov-drill-must-not-run';
/** For a command with this text the other policy asks a person. */
export const askedFor = 'gov-drill-ask-a-person';

interface DrillPolicy {
  readonly name: string;
  readonly text: string;
  readonly action: 'deny' | 'escalate';
}

const policies: Readonly<Record<string, DrillPolicy>> = {
  [policyId]: { name: 'The call of a drill', text: forbidden, action: 'deny' },
  [askingId]: { name: 'The call of a drill that needs a person', text: askedFor, action: 'escalate' },
};

/** Makes the policy that denies the call of a drill, where it is missing. */
export const ensurePolicy = (client: Client): Promise<void> => ensure(client, policyId);

/** Makes the policy that asks a person, where it is missing. */
export const ensureAskingPolicy = (client: Client): Promise<void> => ensure(client, askingId);

async function ensure(client: Client, id: string): Promise<void> {
  const policy = policies[id];
  if (policy === undefined || (await findPolicy(client, id)) !== null) return;
  const condition = canonicalCondition(parseText(`"${policy.text}" in default(arguments.command, "")`));
  await client.createPolicy({
    body: {
      policyId: id,
      name: policy.name,
      description: 'gov agents drill lets agents ask for this call, to see that it is stopped and recorded.',
      condition: condition as Record<string, unknown>,
      action: policy.action,
    },
  });
  await client.publishPolicy({ params: { policyId: id }, body: {} });
}
