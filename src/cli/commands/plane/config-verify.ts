/** `gov plane config verify FILE`: whether a plane would take it. Exit 3 where it would not. */
import { resolve } from 'node:path';
import type { Run } from '../../program/command.ts';
import { readInput } from '../../program/input.ts';
import { refusalOf, tellRefusal } from '../../context/plane-directory.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeConfigVerify as spec } from './config-spec.ts';
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
      safe`${out.styles.green('✓ would be taken')}  configuration ${bundleVersion}  ${hash}`,
      safe`  of        ${projectId} (${environment}), changed ${issuedAt}`,
      safe`  signed    by ${signedBy}`,
      safe`  policies  ${policies.length}${findings === 0 ? '' : `, with ${findings} certain faults`}`,
    ]);
  } catch (error) {
    const refused = refusalOf(error);
    if (refused === null) throw error;
    return tellRefusal(out, refused, 'a plane would not take it');
  }
};
