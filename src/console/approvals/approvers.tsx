/** The approvers: passkeys and SSH keys that sign approvals; enrol and revoke. Tested by `test/console/passkey.test.ts`. */
import { useState } from 'preact/hooks';
import type { Approver } from '../../contract/approvers.ts';
import { limits } from '../../contract/limits.ts';
import { visibleLine } from '../../core/visible.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { Empty } from '../parts/empty.tsx';
import { Loading } from '../parts/loading.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Time } from '../parts/time.tsx';
import { enrolPasskey, hasPasskeys, passkeysNeed } from './passkey.ts';

const perPage = 50;

export function Approvers() {
  const { client, can } = useSession();
  const [open, setOpen] = useState<'enrol' | Approver | null>(null);
  const paged = usePaged({
    key: 'approvers',
    load: async (cursor, signal) =>
      (await client.listApprovers({ query: { limit: perPage, cursor }, signal })).body,
    idOf: ({ approverId }) => approverId,
  });
  const { rows } = paged;
  const close = (): void => setOpen(null);
  const done = (): void => {
    close();
    paged.reload();
  };
  const enrol = can('approvals:decide') && hasPasskeys() && (
    <Button kind="main" onClick={() => setOpen('enrol')}>
      Enrol a passkey
    </Button>
  );
  return (
    <>
      <PageHead title="Approvers" up={{ name: 'Approvals', path: ['approvals'] }} actions={enrol}>
        Passkeys and SSH keys with which people sign approvals. {!hasPasskeys() && passkeysNeed}
      </PageHead>
      {rows === undefined && paged.isLoading && <Loading what="the approvers" />}
      {rows?.length === 0 && (
        <Empty title="Nobody is enrolled">Without an approver, decisions rest on keys alone.</Empty>
      )}
      {rows !== undefined && rows.length > 0 && <ApproverTable rows={rows} revoke={setOpen} />}
      <PagedFoot paged={paged} noun="approvers" />
      {open === 'enrol' && <Enrol close={close} done={done} />}
      {open !== null && open !== 'enrol' && <Revoke approver={open} close={close} done={done} />}
    </>
  );
}

function ApproverTable({
  rows,
  revoke,
}: {
  readonly rows: readonly Approver[];
  readonly revoke: (approver: Approver) => void;
}) {
  const { can } = useSession();
  return (
    <Table
      caption="Approvers"
      keyOf={({ approverId }) => approverId}
      rows={rows}
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
            approver.status === 'active' && can('approvals:decide') ? (
              <Button onClick={() => revoke(approver)} aria-label={`Revoke ${visibleLine(approver.name)}`}>
                Revoke
              </Button>
            ) : null,
        },
      ]}
    />
  );
}

interface AskProps {
  readonly close: () => void;
  readonly done: () => void;
}

function Enrol({ close, done }: AskProps) {
  const { client } = useSession();
  const [name, setName] = useState('');
  const work = async (): Promise<void> => {
    await enrolPasskey(client, name.trim());
    done();
  };
  return (
    <ConfirmDialog title="Enrol a passkey" verb="Create the passkey" work={work} close={close}>
      <div class="field">
        <label for="approver-name">Name of the person and the device</label>
        <input
          id="approver-name"
          required
          maxLength={limits.approverNameChars}
          placeholder="Ada, laptop"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </div>
      <p class="quiet">It signs only approvals that are asked for after its enrolment.</p>
    </ConfirmDialog>
  );
}

function Revoke({ approver: { approverId, name }, close, done }: AskProps & { readonly approver: Approver }) {
  const { client } = useSession();
  const work = async (signal: AbortSignal): Promise<void> => {
    await client.revokeApprover({ params: { approverId }, signal });
    done();
  };
  return (
    <ConfirmDialog title="Revoke this approver?" verb="Revoke" isDangerous work={work} close={close}>
      <p>
        <RemoteLine text={name} /> signs no approval from now on. What it signed before stays valid.
      </p>
    </ConfirmDialog>
  );
}
