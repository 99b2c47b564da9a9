/** The data planes that report to this service. Tested by `test/console/hosted.test.ts`. */
import { useState } from 'preact/hooks';
import type { DataPlane } from '../../contract/data-planes.ts';
import { limits } from '../../contract/limits.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds, type Dialogs } from '../parts/dialogs.tsx';
import { Empty } from '../parts/empty.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { TextField } from '../parts/field.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

export function Planes() {
  const { client, can } = useSession();
  const paged = usePaged({
    key: 'planes',
    load: (query, signal) => client.listDataPlanes({ query, signal }),
    idOf: ({ dataPlaneId }) => dataPlaneId,
  });
  const { ask, dialogs } = useDialogs(paged.reload, 'The enrolment token');
  const canManage = can('telemetry:manage');
  return (
    <>
      <PageHead
        title="Data planes"
        actions={
          canManage && (
            <Button kind="main" onClick={() => ask(Register)}>
              Register a data plane
            </Button>
          )
        }
      >
        They keep their events, and report signed counts to this service.
      </PageHead>
      <PagedTable
        paged={paged}
        noun="data planes"
        caption="Data planes"
        empty={<Empty title="No data planes yet">Register one to get its enrolment token.</Empty>}
        columns={[
          {
            name: 'Data plane',
            kind: 'wide',
            cell: ({ name, dataPlaneId }) => (
              <>
                <RemoteLine text={name} />
                <div class="quiet small">
                  <code>{dataPlaneId}</code>
                </div>
              </>
            ),
          },
          { name: 'Status', cell: ({ status }) => <Status>{status}</Status> },
          {
            name: 'Last report',
            cell: ({ lastReport }) => (lastReport === null ? 'none' : <Time at={lastReport.receivedAt} />),
          },
          { name: 'Attestation', cell: ({ lastReport }) => lastReport?.attestation ?? '–' },
          { name: 'Missing', kind: 'number', cell: ({ missing }) => missing },
          {
            name: 'Actions',
            cell: (plane) => canManage && <Actions plane={plane} ask={ask} />,
          },
        ]}
      />
      {dialogs}
    </>
  );
}

interface ActionsProps extends Pick<Dialogs, 'ask'> {
  readonly plane: DataPlane;
}

function Actions({ plane: { dataPlaneId, name, status }, ask }: ActionsProps) {
  const { client } = useSession();
  const params = { dataPlaneId };
  const renew = (): void =>
    ask(({ close, done }) => (
      <ConfirmDialog
        title={`New token for ${name}`}
        verb="Issue the token"
        close={close}
        work={async (signal) =>
          done((await client.issueEnrolmentToken({ params, signal })).body.enrolmentToken)
        }
      >
        <p>The plane enrols with it once, with new keys. Until then its credentials stay as they are.</p>
      </ConfirmDialog>
    ));
  const revoke = (): void =>
    ask((ends) => (
      <ConfirmDialog
        {...ends}
        title={`Revoke ${name}`}
        verb="Revoke"
        isDangerous
        work={(signal) => client.revokeDataPlane({ params, signal })}
      >
        <p>Its credentials stop working. Its reports stay, and it keeps recording on its own.</p>
      </ConfirmDialog>
    ));
  return (
    <div class="row-actions">
      <Button onClick={renew}>New token</Button>
      {status !== 'revoked' && (
        <Button kind="quiet" onClick={revoke}>
          Revoke
        </Button>
      )}
    </div>
  );
}

function Register({ close, done }: DialogEnds) {
  const { client } = useSession();
  const [name, setName] = useState('');
  const work = async (signal: AbortSignal): Promise<void> =>
    done((await client.createDataPlane({ body: { name: name.trim() }, signal })).body.enrolmentToken);
  return (
    <ConfirmDialog title="Register a data plane" verb="Register" work={work} close={close}>
      <TextField label="Name" name="name" value={name} set={setName} maxLength={limits.planeNameChars} />
    </ConfirmDialog>
  );
}
