import type { PolicyName } from '../../../src/contract/policy-words.ts';

/**
 * Everything that a person can say of a policy, each with a value that no other policy has. The type asks for a new
 * member, and the tests that send it then find each place that loses it.
 */
export const said: PolicyName = { name: 'No shell at night', description: 'Not on our servers' };
