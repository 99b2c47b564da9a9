/** API keys: each key is shown once, when it is made. Tested by `test/console/lists.test.ts`. */
import { useState } from 'preact/hooks';
import type { ApiKeyRecord } from '../../contract/keys.ts';
import { limits } from '../../contract/limits.ts';
import { scopes, type Scope } from '../../contract/operation.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds } from '../parts/dialogs.tsx';
import { Empty } from '../parts/empty.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { Choices, SelectField, TextField } from '../parts/field.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

export function Keys() {
  const { client, can } = useSession();
  const paged = usePaged({
    key: 'keys',
    load: (query, signal) => client.listApiKeys({ query, signal }),
    idOf: ({ keyId }) => keyId,
  });
  const { ask, dialogs } = useDialogs(paged.reload, 'The key');
  const canWrite = can('keys:write');
  return (
    <>
      <PageHead
        title="API keys"
        actions={
          canWrite && (
            <Button kind="main" onClick={() => ask(NewKey)}>
              New key
            </Button>
          )
        }
      >
        What programs may do with this project.
      </PageHead>
      <PagedTable
        paged={paged}
        noun="keys"
        caption="API keys"
        empty={<Empty title="No keys">Nothing has access by a key.</Empty>}
        columns={[
          { name: 'Key', kind: 'wide', cell: (key) => <Name apiKey={key} /> },
          { name: 'Status', cell: ({ status }) => <Status>{status}</Status> },
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
                  <Button onClick={() => ask((ends) => <RotateKey apiKey={key} {...ends} />)}>Rotate</Button>
                  <Button kind="quiet" onClick={() => ask((ends) => <RevokeKey apiKey={key} {...ends} />)}>
                    Revoke
                  </Button>
                </div>
              ),
          },
        ]}
      />
      {dialogs}
    </>
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

function NewKey({ close, done }: DialogEnds) {
  const { client, can } = useSession();
  const [name, setName] = useState('');
  const [days, setDays] = useState('90');
  const [wanted, setWanted] = useState<readonly Scope[]>(['events:write']);
  const work = async (signal: AbortSignal): Promise<void> => {
    const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString();
    const body = { name: name.trim(), scopes: [...wanted], expiresAt };
    done((await client.createApiKey({ body, signal })).body.key);
  };
  return (
    <ConfirmDialog title="New key" verb="Create the key" work={work} close={close}>
      <TextField label="Name" name="name" value={name} set={setName} maxLength={limits.keyNameChars} />
      <SelectField
        label="Expires"
        name="expiresAt"
        value={days}
        set={setDays}
        options={[
          ['30', 'in 30 days'],
          ['90', 'in 90 days'],
          ['365', 'in a year'],
          ['', 'never'],
        ]}
      />
      <fieldset class="scopes">
        <legend>Scopes</legend>
        <Choices
          values={scopes.filter(can)}
          chosen={wanted}
          choose={setWanted}
          text={(scope) => (scope === '*' ? 'all' : scope)}
        />
      </fieldset>
    </ConfirmDialog>
  );
}

interface KeyDialogProps extends DialogEnds {
  readonly apiKey: ApiKeyRecord;
}

function RotateKey({ apiKey: { keyId, name }, close, done }: KeyDialogProps) {
  const { client } = useSession();
  const [overlap, setOverlap] = useState('3600');
  const work = async (signal: AbortSignal): Promise<void> => {
    const query = { overlapSeconds: Number(overlap) };
    done((await client.rotateApiKey({ params: { keyId }, query, signal })).body.key);
  };
  return (
    <ConfirmDialog title={`Rotate ${name}`} verb="Rotate the key" work={work} close={close}>
      <p>The new key has the same name and scopes.</p>
      <SelectField
        label="The old key stops working"
        name="overlapSeconds"
        value={overlap}
        set={setOverlap}
        options={[
          ['0', 'at once'],
          ['3600', 'in an hour'],
          ['86400', 'in a day'],
        ]}
      />
    </ConfirmDialog>
  );
}

function RevokeKey({ apiKey: { keyId, name, prefix }, ...ends }: KeyDialogProps) {
  const { client, identity } = useSession();
  return (
    <ConfirmDialog
      {...ends}
      title={`Revoke ${name}`}
      verb="Revoke the key"
      isDangerous
      work={(signal) => client.revokeApiKey({ params: { keyId }, signal })}
    >
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
