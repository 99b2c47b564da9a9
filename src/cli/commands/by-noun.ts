/**
 * All commands by noun, generated and hand-made, as data. The build evaluates this module and keeps the result
 * (`scripts/frozen.ts`), which halves the start of every command: 57 ms instead of 104 ms.
 * Tested by `test/cli/program/manifest.test.ts`.
 */
import type { CommandSpec } from '../program/spec.ts';
import { generatedSpecs } from '../program/manifest.ts';
import * as agents from './agents/spec.ts';
import * as alias from './alias/spec.ts';
import * as api from './api/spec.ts';
import * as approvals from './approvals/spec.ts';
import * as approvers from './approvers/spec.ts';
import * as auth from './auth/spec.ts';
import * as billing from './billing/spec.ts';
import * as commands from './commands/spec.ts';
import * as completion from './completion/spec.ts';
import * as config from './config/spec.ts';
import * as console from './console/spec.ts';
import * as context from './context/spec.ts';
import * as cron from './cron/spec.ts';
import * as doctor from './doctor/spec.ts';
import * as erase from './erase/spec.ts';
import * as events from './events/spec.ts';
import * as exports from './export/spec.ts';
import * as forward from './forward/spec.ts';
import * as graphs from './graphs/spec.ts';
import * as help from './help/spec.ts';
import * as hook from './hook/spec.ts';
import * as jobs from './jobs/spec.ts';
import * as keys from './keys/spec.ts';
import * as log from './log/spec.ts';
import * as mcp from './mcp/spec.ts';
import * as plane from './plane/spec.ts';
import * as planeTelemetry from './plane/telemetry-spec.ts';
import * as planes from './planes/spec.ts';
import * as policy from './policy/spec.ts';
import * as projects from './projects/spec.ts';
import * as proofs from './proofs/spec.ts';
import * as quickstart from './quickstart/spec.ts';
import * as replay from './replay/spec.ts';
import * as report from './report/spec.ts';
import * as reportSchedules from './report/schedules-spec.ts';
import * as reportTemplates from './report/templates-spec.ts';
import * as risk from './risk/spec.ts';
import * as run from './run/spec.ts';
import * as runs from './runs/spec.ts';
import * as search from './search/spec.ts';
import * as service from './service/spec.ts';
import * as tools from './tools/spec.ts';
import * as top from './top/spec.ts';
import * as trust from './trust/spec.ts';
import * as usage from './usage/spec.ts';
import * as verifyPage from './verify-page/spec.ts';
import * as version from './version/spec.ts';
import * as webhooks from './webhooks/spec.ts';
import * as witness from './witness/spec.ts';
import { nouns } from './nouns.ts';

const handMade: readonly CommandSpec[] = [
  agents,
  alias,
  api,
  approvals,
  approvers,
  auth,
  billing,
  commands,
  completion,
  config,
  console,
  context,
  cron,
  doctor,
  erase,
  events,
  exports,
  forward,
  graphs,
  help,
  hook,
  jobs,
  keys,
  log,
  mcp,
  plane,
  planeTelemetry,
  planes,
  policy,
  projects,
  proofs,
  quickstart,
  replay,
  report,
  reportSchedules,
  reportTemplates,
  risk,
  run,
  runs,
  search,
  service,
  tools,
  top,
  trust,
  usage,
  verifyPage,
  version,
  webhooks,
  witness,
].flatMap((noun) => Object.values<CommandSpec>(noun));

/** Order of verbs in help and completion. Other verbs follow: generated ones, then hand-made ones by alphabet. */
const verbOrder =
  'signup login push create list get show use set update count tail verify init serve status token';
const nounOrder: Readonly<Record<string, string>> = {
  report: 'templates sections create list get download share shared unshare branding logo',
  log: 'checkpoint recover fsck index-build prune compact',
  plane: 'config backup doctor restore enroll rotate-credentials telemetry usage keys',
};

function rank({ name }: CommandSpec): number {
  const [noun = '', verb = ''] = name.split(' ');
  const order = `${verbOrder} ${nounOrder[noun] ?? ''}`.split(' ');
  const at = order.indexOf(verb);
  return at < 0 ? order.length : at;
}

/** A hand-made command replaces a generated one with the same name. */
function under(noun: string): readonly CommandSpec[] {
  const byName = new Map<string, CommandSpec>();
  const mine = handMade.filter(({ name }) => name.split(' ')[0] === noun);
  for (const spec of [...generatedSpecs(noun), ...mine]) byName.set(spec.name, spec);
  return [...byName.values()].sort((one, other) => rank(one) - rank(other));
}

export const specsByNoun: Readonly<Record<string, readonly CommandSpec[]>> = Object.fromEntries(
  nouns.map(([, noun]) => [noun, under(noun)]),
);
