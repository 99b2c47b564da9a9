/** The approvers: passkeys and SSH keys that sign approvals; enrol and revoke. Tested by `test/console/passkey.test.ts`. */
import { useState } from 'preact/hooks';
import type { Approver } from '../../contract/approvers.ts';
import { limits } from '../../contract/limits.ts';
import { visibleLine } from '../../core/visible.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds, type Dialogs } from '../parts/dialogs.tsx';
import { Empty } from '../parts/empty.tsx';
import { TextField } from '../parts/field.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Status } from '../parts/status.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Time } from '../parts/time.tsx';
import { hasPasskeys, passkeysNeed } from '../browser/passkey.ts';
import { enrolPasskey } from './passkey.ts';

export function Approvers() {
  const { client, can } = useSession();
  const paged = usePaged({
    key: 'approvers',
    load: (query, signal) => client.listApprovers({ query, signal }),
    idOf: ({ approverId }) => approverId,
  });
  const { ask, dialogs } = useDialogs(paged.reload);
  const enrol = can('approvals:decide') && hasPasskeys() && (
    <Button kind="main" onClick={() => ask(Enrol)}>
      Enrol a passkey
    </Button>
  );
  return (
    <>
      <PageHead title="Approvers" up={{ name: 'Approvals', path: ['approvals'] }} actions={enrol}>
        Passkeys and SSH keys with which people sign approvals. {!hasPasskeys() && passkeysNeed}
      </PageHead>
      <PagedTable
        paged={paged}
        noun="approvers"
        caption="Approvers"
        empty={<Empty title="Nobody is enrolled">Without an approver, decisions rest on keys alone.</Empty>}
        columns={[
          {
            name: 'Name',
            kind: 'wide',
            cell: ({ name, fingerprint }) => (
              <>
                <span class="strong">
                  <RemoteLine text={name} />
                </span>
                <p class="quiet mono">{fingerprint}</p>
              </>
            ),
          },
          { name: 'Kind', cell: ({ kind }) => (kind === 'ssh' ? 'SSH key' : 'Passkey') },
          { name: 'Signs for', cell: ({ principal }) => <span class="mono">{principal}</span> },
          {
            name: 'State',
            cell: ({ status }) => <Status tone={status === 'active' ? 'good' : 'plain'}>{status}</Status>,
          },
          { name: 'Enrolled', cell: ({ enrolledAt }) => <Time at={enrolledAt} /> },
          {
            name: 'Action',
            cell: (approver) =>
              approver.status === 'active' &&
              can('approvals:decide') && <Revoke approver={approver} ask={ask} />,
          },
        ]}
      />
      {dialogs}
    </>
  );
}

function Enrol(ends: DialogEnds) {
  const { client } = useSession();
  const [name, setName] = useState('');
  return (
    <ConfirmDialog
      {...ends}
      title="Enrol a passkey"
      verb="Create the passkey"
      work={() => enrolPasskey(client, name.trim())}
    >
      <TextField
        label="Name of the person and the device"
        name="name"
        maxLength={limits.approverNameChars}
        placeholder="Ada, laptop"
        value={name}
        set={setName}
      />
      <p class="quiet">It signs only approvals that are asked for after its enrolment.</p>
    </ConfirmDialog>
  );
}

interface RevokeProps extends Pick<Dialogs, 'ask'> {
  readonly approver: Approver;
}

function Revoke({ approver: { approverId, name }, ask }: RevokeProps) {
  const { client } = useSession();
  const revoke = (): void =>
    ask((ends) => (
      <ConfirmDialog
        {...ends}
        title="Revoke this approver?"
        verb="Revoke"
        isDangerous
        work={(signal) => client.revokeApprover({ params: { approverId }, signal })}
      >
        <p>
          <RemoteLine text={name} /> signs no approval from now on. What it signed before stays valid.
        </p>
      </ConfirmDialog>
    ));
  return (
    <Button onClick={revoke} aria-label={`Revoke ${visibleLine(name)}`}>
      Revoke
    </Button>
  );
}
