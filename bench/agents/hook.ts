/**
 * Benchmark of a hook: from its start to its answer, with a plane on loopback that records each call. The floor is
 * `node -e 0` of the same Node. The environment is as empty as the one that `gov agents install` gives.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alternate, discard, entry, milliseconds, report, scratch, startPlane } from '../support/harness.ts';

const folder = scratch();
const plane = await startPlane();
const config = join(folder, 'agents.json');
writeFileSync(config, JSON.stringify({ dataDir: plane.dataDir, keyFile: join(plane.dataDir, 'local.key') }));
const event = (name: string, more: object = {}): string =>
  JSON.stringify({ session_id: 'bench', hook_event_name: name, ...more });
const tool = { tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 'toolu_bench' };

const spawned =
  (args: readonly string[], input = '') =>
  () =>
    milliseconds(() => {
      const { status, stderr } = spawnSync(process.execPath, args, { env: {}, input, encoding: 'utf8' });
      if (status !== 0) throw new Error(`expected exit code 0, got ${status}: ${stderr}`);
    });
const hook = [entry, 'hook', 'claude-code', '--config', config];
const variants = {
  floor: spawned(['-e', '0']),
  report: spawned(hook, event('Stop')),
  call: spawned(hook, event('PreToolUse', tool)),
};
for (const warm of Object.values(variants)) await warm();
const times = await alternate(variants, 41);
await plane.stop();

const row = (name: 'report' | 'call', what: string) => ({
  ratio: `+${(times[name] - times.floor).toFixed(1)} ms`,
  figure: `${times[name].toFixed(1)} ms`,
  what,
});
report('gov hook (median of 41)', [
  { ratio: '', figure: `${times.floor.toFixed(1)} ms`, what: 'floor: node -e 0' },
  row('report', 'an event that decides nothing: one durable request'),
  row('call', 'a tool call: decision and record, both durable (reach: +60 ms)'),
]);
discard(folder);
discard(join(plane.dataDir, '..'));
