/** The nouns of commands. Tested by `test/cli/program/manifest.test.ts`. */

/** Nouns with heading and summary, in the order of `gov --help`. */
export const nouns: readonly (readonly [heading: string, noun: string, summary: string])[] = [
  ['Start', 'quickstart', ''],
  ['Record', 'events', 'Audit events: push, list, follow'],
  ['Record', 'run', ''],
  ['Record', 'runs', 'Runs of agents'],
  ['Record', 'sources', 'Sources of received telemetry'],
  ['Record', 'search', ''],
  ['Decide', 'policy', 'Policies: what agents may do'],
  ['Decide', 'risk', 'Risk of what agents do'],
  ['Decide', 'tools', 'Tool calls: decide, and run allowed ones'],
  ['Decide', 'mcp', 'MCP servers under policy: proxy, pins, clients'],
  ['Decide', 'approvals', 'Decisions of a person'],
  ['Decide', 'approvers', 'Keys with which people sign approvals'],
  ['Decide', 'agents', 'Agents on this machine: set up, check, test'],
  ['Decide', 'hook', ''],
  ['Prove', 'proofs', 'Compliance proofs: make, fetch, verify'],
  ['Prove', 'graphs', 'Causal graphs of runs'],
  ['Prove', 'replay', 'Repeat recorded decisions and compare'],
  ['Prove', 'export', 'Files of recorded data, with proofs inside'],
  ['Prove', 'report', 'Reports for auditors, and their verification'],
  ['Prove', 'verify-page', ''],
  ['Prove', 'trust', 'Keys of logs that you trust'],
  ['Prove', 'heads', 'Signed heads of logs that this machine has seen'],
  ['Prove', 'receipts', 'Receipts that a leaf is in the log (RFC 9942)'],
  ['Prove', 'evidence', 'Files that show that a log broke a promise'],
  ['Prove', 'log', 'The log on disk'],
  ['Erase', 'erase', ''],
  ['Erase', 'erasures', 'Erasures of recorded values'],
  ['Operate', 'top', ''],
  ['Operate', 'plane', 'The data plane on this machine'],
  ['Operate', 'service', 'The hosted service on this machine'],
  ['Operate', 'witness', 'A witness, which cosigns checkpoints of logs'],
  ['Operate', 'forward', 'Copies of the log to a SIEM or an object store'],
  ['Operate', 'jobs', 'Jobs of the service'],
  ['Operate', 'operations', 'Whether stored data is whole'],
  ['Operate', 'cron', 'Scheduled work of reports, for a scheduler of your own'],
  ['Operate', 'webhooks', 'Signed messages to your endpoints about what happened'],
  ['Operate', 'console', 'The web page of a plane or service'],
  ['Operate', 'health', ''],
  ['Account', 'auth', 'Sign up, sign in, sign out'],
  ['Account', 'projects', 'Projects of the organization'],
  ['Account', 'keys', 'API keys of a project'],
  ['Account', 'planes', 'Data planes that report to the service'],
  ['Account', 'usage', 'Metered operations and quotas'],
  ['Account', 'billing', 'Billing, and retention of event bodies'],
  ['This tool', 'doctor', ''],
  ['This tool', 'context', 'Services and planes you use'],
  ['This tool', 'alias', 'Words of your own for commands'],
  ['This tool', 'config', 'Your settings of this tool, and where each comes from'],
  ['This tool', 'api', ''],
  ['This tool', 'completion', ''],
  ['This tool', 'commands', ''],
  ['This tool', 'help', ''],
  ['This tool', 'version', ''],
];

/** Returns the hidden singular or plural: event for events, policy for policies. plane and planes differ in meaning. */
export const otherNumber = (noun: string): string | undefined => otherNumbers.get(noun);

const otherNumbers: ReadonlyMap<string, string> = readOtherNumbers();

function readOtherNumbers(): Map<string, string> {
  const shown = new Set(nouns.map(([, noun]) => noun));
  const groups = nouns.filter(([, , summary]) => summary !== '');
  const pairs = groups.map(([, noun]) => [noun, inOtherNumber(noun)] as const);
  return new Map(pairs.filter(([, other]) => !shown.has(other)));
}

/** Returns events for event, and event for events. */
export function inOtherNumber(noun: string): string {
  if (noun.endsWith('as')) return `${noun}es`;
  if (noun.endsWith('ies')) return `${noun.slice(0, -3)}y`;
  if (noun.endsWith('s')) return noun.slice(0, -1);
  return noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}
