/** The data planes that report to this service. Tested by `test/console/hosted.test.ts`. */
import { useState } from 'preact/hooks';
import type { DataPlane } from '../../contract/data-planes.ts';
import { limits } from '../../contract/limits.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { Empty } from '../parts/empty.tsx';
import { Loading } from '../parts/loading.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { TextField } from '../parts/field.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { SecretDialog } from '../parts/secret.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { toneOf } from '../runs/words.ts';

const perPage = 50;

type OpenDialog =
  | { readonly verb: 'create' }
  | { readonly verb: 'token' | 'revoke'; readonly plane: DataPlane };

export function Planes() {
  const { client, can } = useSession();
  const [asking, setAsking] = useState<OpenDialog | null>(null);
  const [token, setToken] = useState<string | null>(null);
  const paged = usePaged({
    key: 'planes',
    load: async (cursor, signal) =>
      (await client.listDataPlanes({ query: { limit: perPage, cursor }, signal })).body,
    idOf: ({ dataPlaneId }) => dataPlaneId,
  });
  const { rows } = paged;
  const close = (): void => setAsking(null);
  const changed = (made: string | null): void => {
    close();
    setToken(made);
    paged.reload();
  };
  const canManage = can('telemetry:manage');
  return (
    <>
      <PageHead
        title="Data planes"
        actions={
          canManage && (
            <Button kind="main" onClick={() => setAsking({ verb: 'create' })}>
              Register a data plane
            </Button>
          )
        }
      >
        They keep their events, and report signed counts to this service.
      </PageHead>
      {rows === undefined && paged.isLoading && <Loading what="the data planes" />}
      {rows?.length === 0 && (
        <Empty title="No data planes yet">Register one to get its enrolment token.</Empty>
      )}
      {rows !== undefined && rows.length > 0 && <PlaneTable rows={rows} ask={setAsking} />}
      <PagedFoot paged={paged} noun="data planes" />
      {asking?.verb === 'create' && <Register close={close} made={changed} />}
      {asking?.verb === 'token' && <NewToken plane={asking.plane} close={close} made={changed} />}
      {asking?.verb === 'revoke' && (
        <Revoke plane={asking.plane} close={close} revoked={() => changed(null)} />
      )}
      {token !== null && (
        <SecretDialog title="The enrolment token" secret={token} close={() => setToken(null)} />
      )}
    </>
  );
}

interface PlaneTableProps {
  readonly rows: readonly DataPlane[];
  readonly ask: (asking: OpenDialog) => void;
}

function PlaneTable({ rows, ask }: PlaneTableProps) {
  const canManage = useSession().can('telemetry:manage');
  return (
    <Table
      caption="Data planes"
      rows={rows}
      keyOf={({ dataPlaneId }) => dataPlaneId}
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
        { name: 'Status', cell: ({ status }) => <Status tone={toneOf(status)}>{status}</Status> },
        {
          name: 'Last report',
          cell: ({ lastReport }) => (lastReport === null ? 'none' : <Time at={lastReport.receivedAt} />),
        },
        { name: 'Attestation', cell: ({ lastReport }) => lastReport?.attestation ?? '–' },
        { name: 'Missing', kind: 'number', cell: ({ missing }) => missing },
        {
          name: 'Actions',
          cell: (plane) =>
            canManage && (
              <div class="row-actions">
                <Button onClick={() => ask({ verb: 'token', plane })}>New token</Button>
                {plane.status !== 'revoked' && (
                  <Button kind="quiet" onClick={() => ask({ verb: 'revoke', plane })}>
                    Revoke
                  </Button>
                )}
              </div>
            ),
        },
      ]}
    />
  );
}

interface MakeProps {
  readonly close: () => void;
  /** Gets the token, which nobody can read again. */
  readonly made: (token: string) => void;
}

function Register({ close, made }: MakeProps) {
  const { client } = useSession();
  const [name, setName] = useState('');
  const work = async (signal: AbortSignal): Promise<void> =>
    made((await client.createDataPlane({ body: { name: name.trim() }, signal })).body.enrolmentToken);
  return (
    <ConfirmDialog title="Register a data plane" verb="Register" work={work} close={close}>
      <TextField label="Name" name="name" value={name} set={setName} maxLength={limits.planeNameChars} />
    </ConfirmDialog>
  );
}

interface OfPlane {
  readonly plane: DataPlane;
  readonly close: () => void;
}

function NewToken({ plane: { dataPlaneId, name }, close, made }: OfPlane & MakeProps) {
  const { client } = useSession();
  const work = async (signal: AbortSignal): Promise<void> =>
    made((await client.issueEnrolmentToken({ params: { dataPlaneId }, signal })).body.enrolmentToken);
  return (
    <ConfirmDialog title={`New token for ${name}`} verb="Issue the token" work={work} close={close}>
      <p>The plane enrols with it once, with new keys. Until then its credentials stay as they are.</p>
    </ConfirmDialog>
  );
}

function Revoke({
  plane: { dataPlaneId, name },
  close,
  revoked,
}: OfPlane & { readonly revoked: () => void }) {
  const { client } = useSession();
  const work = async (signal: AbortSignal): Promise<void> => {
    await client.revokeDataPlane({ params: { dataPlaneId }, signal });
    revoked();
  };
  return (
    <ConfirmDialog title={`Revoke ${name}`} verb="Revoke" isDangerous work={work} close={close}>
      <p>Its credentials stop working. Its reports stay, and it keeps recording on its own.</p>
    </ConfirmDialog>
  );
}
