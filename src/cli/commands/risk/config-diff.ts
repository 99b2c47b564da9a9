/**
 * `gov risk config diff FILE`: shows changes by setting. Missing signals have their built-in rules.
 * Tested by `test/cli/commands/policy/change.test.ts`.
 */
import { defaultRiskConfig, effectiveConfig, type RiskSettings } from '../../../core/risk/config.ts';
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { objectOf, readInput } from '../../terminal/input.ts';
import { isObject } from '../../../core/json/object.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { riskConfigDiff as spec } from '../../specs/decide/risk.ts';

const columns = textColumns(['setting', 'now', 'proposed']);

export const run: Run<typeof spec> = async ({ args, flags, out, io, session, signal }) => {
  const { bands: _, ...proposed } = objectOf(await readInput(args.file, { io, signal }));
  const client = await session.client();
  const { bands: __, ...now } = (await client.getRiskConfig()).body;
  const builtIn = effectiveConfig(defaultRiskConfig);
  const before = settingsOf(now);
  const after = settingsOf({ signals: builtIn.signals, ...proposed });
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const rows = names
    .filter((name) => before.get(name) !== after.get(name))
    .map((setting) => ({ setting, now: before.get(setting), proposed: after.get(setting) }));
  out.verdict = flags.failOn !== undefined && rows.length > 0 ? exit.checkFailed : exit.ok;
  await printReport(out, {
    whole: { changed: rows.length > 0, changes: rows },
    columns,
    rows,
    foot: rows.length === 0 ? [safe`no difference`] : [],
  });
  return out.verdict;
};

const ruleDefaults = { direction: 'higher_is_riskier', min: 0, max: 1 } satisfies Partial<
  NonNullable<RiskSettings['signals']>[string]
>;

/** Returns every setting by its path, as JSON, with the router's defaults. */
function settingsOf(config: Readonly<Record<string, unknown>>): Map<string, string> {
  const settings = new Map<string, string>();
  const walk = (value: unknown, path: readonly string[]): void => {
    const isRule = path.length === 2 && path[0] === 'signals';
    if (!isObject(value)) settings.set(path.join('.'), JSON.stringify(value));
    else
      for (const [name, each] of Object.entries(isRule ? { ...ruleDefaults, ...value } : value))
        walk(each, [...path, name]);
  };
  walk(config, []);
  return settings;
}
