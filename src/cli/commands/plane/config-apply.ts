/**
 * `gov plane config apply FILE`: by the serving process, else in the data directory. Exit 3 after a refusal.
 * Tested by `test/cli/context/plane-directory.test.ts`.
 */
import { resolve } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import type { Run } from '../../context/command.ts';
import { readInput } from '../../terminal/input.ts';
import { askOr, refusalOf, printRefusal } from '../../context/plane-directory.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeConfigApply as spec } from '../../specs/operate/plane.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, io, signal }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  session.usePlane(dataDir);
  const { older } = flags;
  const { bytes } = await readInput(args.file, { io, signal });
  try {
    const applied = await askOr(
      { session, dataDir },
      async (client) =>
        (await client.applyConfigBundle({ body: { parts: partsOf(bytes), ...(older ? { older } : {}) } }))
          .body,
      async () => {
        const { withHeldConfig } = await import('../../../../plane/config/direct.ts');
        const by = { id: 'operator', type: 'operator' };
        return withHeldConfig({ dataDir, env: io.env }, ({ held }) => held.apply(bytes, by, { older }));
      },
    );
    if (!out.isHuman) return await out.one(applied, plainView(Object.keys(applied)));
    const { bundleVersion, bundleHash, added, changed, archived, unchanged, riskConfig, findings } = applied;
    const what = applied.applied ? 'is in force' : 'was in force already';
    await out.lines([
      safe`${out.styles.green('✓')} configuration ${bundleVersion} ${what}  ${bundleHash}`,
      safe`  policies  ${added} added, ${changed} changed, ${archived} archived, ${unchanged} unchanged`,
      ...(riskConfig ? [safe`  risk      the router has a new configuration`] : []),
    ]);
    if (findings > 0) await out.warn(safe`${findings} certain errors in its conditions: see gov policy lint`);
  } catch (error) {
    const refused = refusalOf(error);
    if (refused === null) throw error;
    return printRefusal(out, refused, 'the current configuration stays');
  }
};

/** Splits the bytes at character boundaries. */
function partsOf(bytes: Uint8Array): string[] {
  const text = Buffer.from(bytes).toString();
  const parts: string[] = [];
  for (let at = 0; at < text.length || parts.length === 0;) {
    let end = Math.min(at + limits.planeConfigPartChars, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    parts.push(text.slice(at, end));
    at = end;
    if (text.length === 0) break;
  }
  return parts;
}
