/** The moves of a policy in its life cycle, each with a reason. The API refuses the author where it requires two people. */
import { useState } from 'preact/hooks';
import type { Policy } from '../../contract/policies.ts';
import type { PolicyStatus } from '../../contract/policy-words.ts';
import { allowedTargets } from '../../core/policies/set/lifecycle.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds } from '../parts/dialogs.tsx';
import { ImpactLine } from './impact.tsx';
import { AuthorLine, ReasonField, reasonOf } from './reason.tsx';

interface MovesProps {
  readonly policy: Policy;
  readonly moved: () => void;
}

type Move = 'publish' | PolicyStatus;

export function PolicyMoves({ policy, moved }: MovesProps) {
  const { can } = useSession();
  const { ask, dialogs } = useDialogs(moved);
  if (!can('governance:manage')) return null;
  const { status, latestVersion, activeVersion } = policy;
  const canPublish = status !== 'archived' && (status !== 'active' || latestVersion !== activeVersion);
  // publish covers what leads to active, but for a disabled policy, which keeps its version
  const targets = allowedTargets(status).filter(
    (target) => target !== status && (target !== 'active' || status === 'disabled'),
  );
  const choose = (chosen: Move): void =>
    ask((ends) => <MoveDialog policy={policy} chosen={chosen} {...ends} />);
  return (
    <>
      {targets.map((target) => (
        <Button key={target} onClick={() => choose(target)}>
          {verbs[target]}
        </Button>
      ))}
      {canPublish && (
        <Button kind="main" onClick={() => choose('publish')}>
          Publish v{latestVersion}
        </Button>
      )}
      {dialogs}
    </>
  );
}

const verbs: Readonly<Record<PolicyStatus, string>> = {
  draft: 'Back to draft',
  review: 'Put in review',
  active: 'Enable',
  disabled: 'Disable',
  archived: 'Archive',
};

const effects: Readonly<Record<PolicyStatus, string>> = {
  draft: 'The policy decides nothing until it is published.',
  review: 'The log records what the policy would decide, and nobody enforces it.',
  active: 'The version that was in force before it was disabled is in force again.',
  disabled: 'The policy decides nothing until it is enabled.',
  archived: 'The policy decides nothing. Its versions and its decisions stay.',
};

interface MoveDialogProps extends DialogEnds {
  readonly policy: Policy;
  readonly chosen: Move;
}

function MoveDialog({ policy, chosen, ...ends }: MoveDialogProps) {
  const { client } = useSession();
  const [reason, setReason] = useState('');
  const { id, latest, latestVersion, revision } = policy;
  const work = async (signal: AbortSignal): Promise<void> => {
    const params = { policyId: id };
    // what was looked at is what is moved: a change by somebody else in between is refused
    const common = { params, ifMatch: `"${revision}"`, signal };
    const said = reasonOf(reason);
    if (chosen === 'publish')
      await client.publishPolicy({ ...common, body: { version: latestVersion, ...said } });
    else await client.transitionPolicy({ ...common, body: { targetStatus: chosen, ...said } });
  };
  const verb = chosen === 'publish' ? `Publish v${latestVersion}` : verbs[chosen];
  return (
    <ConfirmDialog {...ends} title={`${verb}: ${id}`} verb={verb} work={work}>
      {chosen === 'publish' ? (
        <>
          <ImpactLine policyId={id} version={latest} />
          <AuthorLine version={latest} />
        </>
      ) : (
        <p>{effects[chosen]}</p>
      )}
      <ReasonField value={reason} set={setReason} />
    </ConfirmDialog>
  );
}
