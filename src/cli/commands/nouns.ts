/** The nouns that commands stand under. */

/** Nouns in the order of `gov --help`, under the headings they stand below. */
export const nouns: readonly (readonly [heading: string, noun: string, summary: string])[] = [
  ['Start', 'quickstart', ''],
  ['Record', 'events', 'Audit events: push, list, follow'],
  ['Record', 'runs', 'Runs of agents'],
  ['Decide', 'policy', 'Policies: what agents may do'],
  ['Decide', 'risk', 'Risk of what they do'],
  ['Decide', 'tools', 'Tool calls: decide, run what is allowed'],
  ['Decide', 'approvals', 'What a person decides'],
  ['Prove', 'proofs', 'Compliance proofs: make, fetch, verify'],
  ['Prove', 'graphs', 'Causal graphs of runs'],
  ['Prove', 'replay', 'Recorded decisions, made again'],
  ['Prove', 'export', 'Files of all that was recorded, which prove themselves'],
  ['Prove', 'log', 'The log on disk'],
  ['Erase', 'erase', ''],
  ['Erase', 'erasures', 'What was erased, and when'],
  ['Operate', 'plane', 'The data plane on this machine'],
  ['Operate', 'service', 'The hosted service on this machine'],
  ['Operate', 'witness', 'A witness of logs, which cosigns their checkpoints'],
  ['Operate', 'jobs', 'Jobs of the service'],
  ['Operate', 'health', ''],
  ['Account', 'auth', 'Sign up, sign in, sign out'],
  ['Account', 'projects', 'Projects of the organization'],
  ['Account', 'keys', 'API keys of a project'],
  ['Account', 'planes', 'Data planes that report to the service'],
  ['Account', 'usage', 'Metered operations and quotas'],
  ['Account', 'billing', 'Billing, and how long bodies are kept'],
  ['This tool', 'context', 'Services you talk to'],
  ['This tool', 'completion', ''],
  ['This tool', 'commands', ''],
  ['This tool', 'help', ''],
  ['This tool', 'version', ''],
];

/** The other number of a noun, accepted but not shown: event for events, policy for policies; plane and planes are two. */
export const otherNumber = (noun: string): string | undefined => otherNumbers.get(noun);

const otherNumbers: ReadonlyMap<string, string> = readOtherNumbers();

function readOtherNumbers(): Map<string, string> {
  const shown = new Set(nouns.map(([, noun]) => noun));
  const groups = nouns.filter(([, , summary]) => summary !== '');
  const pairs = groups.map(([, noun]) => [noun, inOtherNumber(noun)] as const);
  return new Map(pairs.filter(([, other]) => !shown.has(other)));
}

function inOtherNumber(noun: string): string {
  if (noun.endsWith('ies')) return `${noun.slice(0, -3)}y`;
  if (noun.endsWith('s')) return noun.slice(0, -1);
  return noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}
