/**
 * All commands by noun, generated and hand-made, as data. The build evaluates this module and keeps the result
 * (`scripts/frozen.ts`), which halves the start of every command: 57 ms instead of 104 ms.
 * Tested by `test/cli/program/manifest.test.ts`.
 */
import type { CommandSpec } from '../program/spec.ts';
import { generatedSpecs } from '../program/manifest.ts';
import * as agents from './decide/agents.ts';
import * as alias from './tool/alias.ts';
import * as api from './tool/api.ts';
import * as approvals from './decide/approvals.ts';
import * as approvers from './decide/approvers.ts';
import * as auth from './account/auth.ts';
import * as billing from './account/billing.ts';
import * as commands from './tool/commands.ts';
import * as completion from './tool/completion.ts';
import * as config from './tool/config.ts';
import * as console from './operate/console.ts';
import * as context from './tool/context.ts';
import * as cron from './operate/cron.ts';
import * as doctor from './tool/doctor.ts';
import * as erase from './record/erase.ts';
import * as events from './record/events.ts';
import * as evidence from './prove/evidence.ts';
import * as exports from './prove/export.ts';
import * as forward from './operate/forward.ts';
import * as graphs from './prove/graphs.ts';
import * as heads from './prove/heads.ts';
import * as help from './tool/help.ts';
import * as hook from './decide/hook.ts';
import * as jobs from './operate/jobs.ts';
import * as keys from './account/keys.ts';
import * as log from './prove/log.ts';
import * as mcp from './decide/mcp.ts';
import * as plane from './operate/plane.ts';
import * as planeTelemetry from './operate/plane-telemetry.ts';
import * as planes from './account/planes.ts';
import * as policy from './decide/policy.ts';
import * as projects from './account/projects.ts';
import * as proofs from './prove/proofs.ts';
import * as quickstart from './tool/quickstart.ts';
import * as receipts from './prove/receipts.ts';
import * as replay from './prove/replay.ts';
import * as report from './prove/report.ts';
import * as reportSchedules from './prove/report-schedules.ts';
import * as reportTemplates from './prove/report-templates.ts';
import * as risk from './decide/risk.ts';
import * as run from './record/run.ts';
import * as runs from './record/runs.ts';
import * as search from './record/search.ts';
import * as service from './operate/service.ts';
import * as tools from './decide/tools.ts';
import * as top from './operate/top.ts';
import * as trust from './prove/trust.ts';
import * as usage from './account/usage.ts';
import * as verifyPage from './prove/verify-page.ts';
import * as version from './tool/version.ts';
import * as webhooks from './operate/webhooks.ts';
import * as witness from './operate/witness.ts';
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
  evidence,
  exports,
  forward,
  graphs,
  heads,
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
  receipts,
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
