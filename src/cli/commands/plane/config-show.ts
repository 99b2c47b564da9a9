/**
 * `gov plane config show`: exit 3 if the plane refuses the newest configuration of the service.
 * Tested by `test/cli/context/plane-directory.test.ts`.
 */
import { resolve } from 'node:path';
import type { HeldPlaneConfig } from '../../../contract/plane-config.ts';
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { askOr } from '../../context/plane-directory.ts';
import type { Row } from '../../terminal/out.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import type { planeConfigShow as spec } from '../../specs/operate/plane.ts';

const columns = textColumns(['policyId', 'version', 'action', 'severity', 'name']);

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  session.usePlane(dataDir);
  const held = await askOr(
    { session, dataDir },
    async (client) => (await client.getConfigBundle()).body,
    async () => {
      const { withHeldConfig } = await import('../../../../plane/config/direct.ts');
      return withHeldConfig({ dataDir, env: io.env }, (direct) => direct.held.held());
    },
  );
  const refused = held.plane?.refused ?? null;
  out.verdict = refused === null ? exit.ok : exit.checkFailed;
  await printReport(out, {
    whole: held,
    columns,
    rows: held.signed?.bundle.policies.map((policy) => ({ ...policy })) ?? [],
    head: told(held),
    foot:
      held.signed === null
        ? [safe`the copy of the current configuration is lost; the service sends it again`]
        : [],
    result: { facts: factsOf(held), rowKind: 'policy' },
  });
  return out.verdict;
};

/** What `told` says, for a pipe. */
function factsOf({ bundleVersion, bundleHash, signed, plane }: HeldPlaneConfig): Row {
  const { projectId, environment, issuedAt, riskConfig, settings } = signed?.bundle ?? {};
  const { mode, appliedAt, from, contentCapture, refused } = plane ?? {};
  const about = { projectId, environment, issuedAt, risk: riskConfig?.config.mode };
  return {
    bundleVersion,
    bundleHash,
    ...about,
    redactionKeys: settings?.redactionKeys.join(' '),
    contentCapture: contentCapture?.value,
    mode,
    appliedAt,
    from,
    refused: refused ? `${refused.since} ${refused.reason}: ${refused.detail}` : null,
  };
}

const sourceText = {
  default: 'the default',
  'plane.json': 'plane.json',
  service: 'the service',
} as const;

function told({ bundleVersion, bundleHash, signed, plane }: HeldPlaneConfig): Safe[] {
  const lines = [safe`configuration ${bundleVersion}  ${bundleHash}`];
  if (signed !== null) {
    const { projectId, environment, issuedAt, riskConfig, settings } = signed.bundle;
    lines.push(
      safe`  of        ${projectId} (${environment}), changed ${issuedAt}`,
      safe`  risk      ${riskConfig === null ? 'the plane’s own' : riskConfig.config.mode}`,
      safe`  redacted  ${settings.redactionKeys.join(' ') || 'nothing'}`,
    );
  }
  if (plane === null) return lines;
  const { value, from } = plane.contentCapture;
  lines.push(safe`  content   ${value} (${sourceText[from]})`);
  lines.push(safe`  in force  since ${plane.appliedAt}, from ${plane.from}; policies: ${plane.mode}`);
  if (plane.refused !== null) {
    const { reason, since, detail } = plane.refused;
    lines.push(safe`  REFUSED   a newer one since ${since}: ${reason}: ${detail}`);
  }
  return lines;
}
