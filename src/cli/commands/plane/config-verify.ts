/**
 * `gov plane config verify FILE`: checks whether a plane would accept it. Exit 3 if not.
 * Tested by `test/cli/context/plane-directory.test.ts`.
 */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { readInput } from '../../terminal/input.ts';
import { refusalOf, printRefusal } from '../../context/plane-directory.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeConfigVerify as spec } from '../../specs/operate/plane.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, io, signal }) => {
  const { bytes } = await readInput(args.file, { io, signal });
  const context = session.context()?.context;
  const known = flags.data ?? (context?.kind === 'plane' ? context.dataDir : undefined);
  const { verifyConfig } = await import('../../../../plane/config/verify.ts');
  try {
    const { bundle, hash, signedBy, findings } = await verifyConfig(bytes, {
      dataDir: known === undefined ? null : resolve(io.cwd, known),
      keys: flags.key,
      projectId: flags.projectId,
      environment: flags.environment,
    });
    const { bundleVersion, projectId, environment, issuedAt, policies } = bundle;
    const told = { bundleVersion, bundleHash: hash, projectId, environment, issuedAt, signedBy };
    const whole = { taken: true, ...told, policies: policies.length, findings };
    if (!out.isHuman) return await out.one(whole, plainView(Object.keys(whole)));
    await out.lines([
      safe`${out.styles.green('✓ acceptable')}  configuration ${bundleVersion}  ${hash}`,
      safe`  of        ${projectId} (${environment}), changed ${issuedAt}`,
      safe`  signed    by ${signedBy}`,
      safe`  policies  ${policies.length}${findings === 0 ? '' : `, with ${findings} certain errors`}`,
    ]);
  } catch (error) {
    const refused = refusalOf(error);
    if (refused === null) throw error;
    return printRefusal(out, refused, 'a plane would not accept it');
  }
};
