/** API keys: each key is shown once, when it is made. Tested by `test/console/lists.test.ts`. */
import { useState } from 'preact/hooks';
import type { ApiKeyRecord } from '../../contract/keys.ts';
import { limits } from '../../contract/limits.ts';
import { scopes, type Scope } from '../../contract/operation.ts';
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
  | { readonly verb: 'rotate' | 'revoke'; readonly key: ApiKeyRecord };

export function Keys() {
  const { client, can } = useSession();
  const [asking, setAsking] = useState<OpenDialog | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const paged = usePaged({
    key: 'keys',
    load: async (cursor, signal) =>
      (await client.listApiKeys({ query: { limit: perPage, cursor }, signal })).body,
    idOf: ({ keyId }) => keyId,
  });
  const { rows } = paged;
  const close = (): void => setAsking(null);
  const done = (made: string | null): void => {
    close();
    setSecret(made);
    paged.reload();
  };
  const canWrite = can('keys:write');
  return (
    <>
      <PageHead
        title="API keys"
        actions={
          canWrite && (
            <Button kind="main" onClick={() => setAsking({ verb: 'create' })}>
              New key
            </Button>
          )
        }
      >
        What programs may do with this project.
      </PageHead>
      {rows === undefined && paged.isLoading && <Loading what="the keys" />}
      {rows?.length === 0 && <Empty title="No keys">Nothing has access by a key.</Empty>}
      {rows !== undefined && rows.length > 0 && <KeyTable rows={rows} ask={setAsking} />}
      <PagedFoot paged={paged} noun="keys" />
      {asking?.verb === 'create' && <NewKey close={close} made={done} />}
      {asking?.verb === 'rotate' && <RotateKey apiKey={asking.key} close={close} made={done} />}
      {asking?.verb === 'revoke' && (
        <RevokeKey apiKey={asking.key} close={close} revoked={() => done(null)} />
      )}
      {secret !== null && <SecretDialog title="The key" secret={secret} close={() => setSecret(null)} />}
    </>
  );
}

interface KeyTableProps {
  readonly rows: readonly ApiKeyRecord[];
  readonly ask: (asking: OpenDialog) => void;
}

function KeyTable({ rows, ask }: KeyTableProps) {
  const canWrite = useSession().can('keys:write');
  return (
    <Table
      caption="API keys"
      rows={rows}
      keyOf={({ keyId }) => keyId}
      columns={[
        { name: 'Key', kind: 'wide', cell: (key) => <Name apiKey={key} /> },
        { name: 'Status', cell: ({ status }) => <Status tone={toneOf(status)}>{status}</Status> },
        { name: 'Scopes', cell: ({ scopes: held }) => <Scopes held={held} /> },
        {
          name: 'Last used',
          cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
        },
        {
          name: 'Expires',
          cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} ahead />),
        },
        {
          name: 'Actions',
          cell: (key) =>
            canWrite &&
            key.status === 'active' && (
              <div class="row-actions">
                <Button onClick={() => ask({ verb: 'rotate', key })}>Rotate</Button>
                <Button kind="quiet" onClick={() => ask({ verb: 'revoke', key })}>
                  Revoke
                </Button>
              </div>
            ),
        },
      ]}
    />
  );
}

const Name = ({ apiKey: { name, prefix, last4, description } }: { readonly apiKey: ApiKeyRecord }) => (
  <>
    <RemoteLine text={name} />
    <div class="quiet small">
      <code>
        {prefix}…{last4}
      </code>
      {description !== null && (
        <>
          {' '}
          <RemoteLine text={description} />
        </>
      )}
    </div>
  </>
);

const shownScopes = 3;

const Scopes = ({ held }: { readonly held: readonly string[] }) => (
  <span class="small" title={held.join(', ')}>
    {held.includes('*') ? 'all' : held.slice(0, shownScopes).join(', ')}
    {!held.includes('*') && held.length > shownScopes && ` and ${held.length - shownScopes} more`}
  </span>
);

interface MakeProps {
  readonly close: () => void;
  /** Gets the key, which nobody can read again. */
  readonly made: (secret: string) => void;
}

function NewKey({ close, made }: MakeProps) {
  const { client, can } = useSession();
  const [name, setName] = useState('');
  const [days, setDays] = useState('90');
  const [wanted, setWanted] = useState<ReadonlySet<Scope>>(new Set(['events:write']));
  const toggle = (scope: Scope, isWanted: boolean): void => {
    const next = new Set(wanted);
    if (isWanted) next.add(scope);
    else next.delete(scope);
    setWanted(next);
  };
  const work = async (signal: AbortSignal): Promise<void> => {
    const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString();
    const body = { name: name.trim(), scopes: [...wanted], expiresAt };
    made((await client.createApiKey({ body, signal })).body.key);
  };
  return (
    <ConfirmDialog title="New key" verb="Create the key" work={work} close={close}>
      <TextField label="Name" name="name" value={name} set={setName} maxLength={limits.keyNameChars} />
      <label class="field">
        Expires
        <select name="days" value={days} onChange={(event) => setDays(event.currentTarget.value)}>
          <option value="30">in 30 days</option>
          <option value="90">in 90 days</option>
          <option value="365">in a year</option>
          <option value="">never</option>
        </select>
      </label>
      <fieldset class="scopes">
        <legend>Scopes</legend>
        {scopes.filter(can).map((scope) => (
          <label key={scope} class="choice">
            <input
              type="checkbox"
              checked={wanted.has(scope)}
              onChange={(event) => toggle(scope, event.currentTarget.checked)}
            />
            <span>{scope === '*' ? 'all' : scope}</span>
          </label>
        ))}
      </fieldset>
    </ConfirmDialog>
  );
}

interface RotateProps extends MakeProps {
  readonly apiKey: ApiKeyRecord;
}

function RotateKey({ apiKey: { keyId, name }, close, made }: RotateProps) {
  const { client } = useSession();
  const [overlap, setOverlap] = useState('3600');
  const work = async (signal: AbortSignal): Promise<void> => {
    const query = { overlapSeconds: Number(overlap) };
    made((await client.rotateApiKey({ params: { keyId }, query, signal })).body.key);
  };
  return (
    <ConfirmDialog title={`Rotate ${name}`} verb="Rotate the key" work={work} close={close}>
      <p>The new key has the same name and scopes.</p>
      <label class="field">
        The old key stops working
        <select value={overlap} onChange={(event) => setOverlap(event.currentTarget.value)}>
          <option value="0">at once</option>
          <option value="3600">in an hour</option>
          <option value="86400">in a day</option>
        </select>
      </label>
    </ConfirmDialog>
  );
}

interface RevokeProps {
  readonly apiKey: ApiKeyRecord;
  readonly close: () => void;
  readonly revoked: () => void;
}

function RevokeKey({ apiKey: { keyId, name, prefix }, close, revoked }: RevokeProps) {
  const { client, identity } = useSession();
  const work = async (signal: AbortSignal): Promise<void> => {
    await client.revokeApiKey({ params: { keyId }, signal });
    revoked();
  };
  return (
    <ConfirmDialog title={`Revoke ${name}`} verb="Revoke the key" isDangerous work={work} close={close}>
      <p>
        Programs that use <code>{prefix}…</code> are refused within five seconds. A revoked key does not work
        again.
      </p>
      {keyId === identity.id && (
        <p>
          <strong>This is the key of your own session.</strong> You will be signed out.
        </p>
      )}
    </ConfirmDialog>
  );
}
