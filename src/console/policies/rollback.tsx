/** Puts an earlier version in force again, after its difference and its effect were shown. */
import { useState } from 'preact/hooks';
import type { Policy, PolicyVersion } from '../../contract/policies.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds } from '../parts/dialogs.tsx';
import { Diff } from './diff.tsx';
import { ImpactLine } from './impact.tsx';
import { AuthorLine, ReasonField, reasonOf } from './reason.tsx';

interface VersionProps {
  readonly policy: Policy;
  readonly version: PolicyVersion;
}

interface RollbackProps extends VersionProps {
  readonly moved: () => void;
}

/** Publishing covers the newest version, but for an archived policy. A draft has nothing to go back to. */
function canRollBack({ status, activeVersion, latestVersion }: Policy, version: number): boolean {
  if (status === 'draft' || status === 'review') return false;
  return status === 'archived' || (version !== activeVersion && version !== latestVersion);
}

export function Rollback({ policy, version, moved }: RollbackProps) {
  const { can } = useSession();
  const { ask, dialogs } = useDialogs(moved);
  if (!can('governance:manage') || !canRollBack(policy, version.version)) return null;
  return (
    <>
      <Button
        onClick={() => ask((ends) => <RollbackDialog policy={policy} version={version} {...ends} />)}
        aria-label={`Roll back to v${version.version}`}
      >
        Roll back
      </Button>
      {dialogs}
    </>
  );
}

function RollbackDialog({ policy, version, ...ends }: VersionProps & DialogEnds) {
  const { client } = useSession();
  const [reason, setReason] = useState('');
  const { id, active, revision } = policy;
  const verb = `Roll back to v${version.version}`;
  const work = (signal: AbortSignal) =>
    client.rollbackPolicy({
      params: { policyId: id },
      // what was compared is what is replaced: a change by somebody else in between is refused
      ifMatch: `"${revision}"`,
      body: { targetVersion: version.version, ...reasonOf(reason) },
      signal,
    });
  return (
    <ConfirmDialog {...ends} title={`${verb}: ${id}`} verb={verb} isWide work={work}>
      <p>
        {active === null
          ? `No version is in force. Version ${version.version} decides again:`
          : `Version ${version.version} decides again, and no longer version ${active.version}:`}
      </p>
      <Diff before={active} after={version} />
      <ImpactLine policyId={id} version={version} />
      <AuthorLine version={version} />
      <ReasonField value={reason} set={setReason} />
    </ConfirmDialog>
  );
}
