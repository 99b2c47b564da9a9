/** Endpoints of webhooks and what was sent to them. A secret is shown once. Tested by `test/console/lists.test.ts`. */
import { useState } from 'preact/hooks';
import { limits } from '../../contract/limits.ts';
import type { WebhookEndpoint } from '../../contract/webhooks.ts';
import { useSession } from '../browser/session.tsx';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog, DeleteDialog } from '../parts/confirm.tsx';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { TextField } from '../parts/field.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { SecretDialog } from '../parts/secret.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Deliveries } from './deliveries.tsx';

const perPage = 50;

type OpenDialog =
  | { readonly verb: 'create' }
  | { readonly verb: 'rotate' | 'delete'; readonly endpoint: WebhookEndpoint };

export function Webhooks() {
  const { client, can } = useSession();
  const [asking, setAsking] = useState<OpenDialog | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  const paged = usePaged({
    key: 'endpoints',
    load: async (cursor, signal) =>
      (await client.listWebhookEndpoints({ query: { limit: perPage, cursor }, signal })).body,
    idOf: ({ endpointId }) => endpointId,
  });
  const { rows } = paged;
  const changed = (made: string | null = null): void => {
    setAsking(null);
    setSecret(made);
    setRound(round + 1);
    paged.reload();
  };
  return (
    <>
      <PageHead
        title="Webhooks"
        actions={
          can('webhooks:write') && (
            <Button kind="main" onClick={() => setAsking({ verb: 'create' })}>
              New endpoint
            </Button>
          )
        }
      >
        Signed messages to your programs about what happened.
      </PageHead>
      {rows === undefined && paged.isLoading && <Loading what="the endpoints" />}
      {rows?.length === 0 && (
        <Empty title="No endpoints yet">An endpoint is an address that gets the messages.</Empty>
      )}
      {rows !== undefined && rows.length > 0 && (
        <Table
          caption="Endpoints"
          rows={rows}
          keyOf={({ endpointId }) => endpointId}
          columns={[
            { name: 'Endpoint', kind: 'wide', cell: (endpoint) => <Name endpoint={endpoint} /> },
            { name: 'Status', cell: (endpoint) => <State endpoint={endpoint} /> },
            { name: 'Events', cell: ({ events }) => (events.includes('*') ? 'all' : events.join(', ')) },
            {
              name: 'Actions',
              cell: (endpoint) =>
                can('webhooks:write') && <Actions endpoint={endpoint} ask={setAsking} changed={changed} />,
            },
          ]}
        />
      )}
      <PagedFoot paged={paged} noun="endpoints" />
      <Deliveries key={round} />
      {asking?.verb === 'create' && <NewEndpoint close={() => setAsking(null)} made={changed} />}
      {asking?.verb === 'rotate' && (
        <Rotate endpoint={asking.endpoint} close={() => setAsking(null)} made={changed} />
      )}
      {asking?.verb === 'delete' && (
        <Delete endpoint={asking.endpoint} close={() => setAsking(null)} deleted={() => changed()} />
      )}
      {secret !== null && (
        <SecretDialog title="The key of the signatures" secret={secret} close={() => setSecret(null)} />
      )}
    </>
  );
}

const Name = ({ endpoint: { url, description } }: { readonly endpoint: WebhookEndpoint }) => (
  <>
    <RemoteLine text={url} />
    {description !== '' && (
      <div class="quiet small">
        <RemoteLine text={description} />
      </div>
    )}
  </>
);

function State({
  endpoint: { enabled, failingSince, disabledReason },
}: {
  readonly endpoint: WebhookEndpoint;
}) {
  if (disabledReason !== null)
    return <Status tone="bad">{disabledReason === 'gone' ? 'disabled: gone' : 'disabled: failing'}</Status>;
  if (!enabled) return <Status tone="plain">disabled</Status>;
  return failingSince === null ? <Status tone="good">enabled</Status> : <Status tone="wait">failing</Status>;
}

interface ActionsProps {
  readonly endpoint: WebhookEndpoint;
  readonly ask: (asking: OpenDialog) => void;
  readonly changed: () => void;
}

function Actions({ endpoint, ask, changed }: ActionsProps) {
  const { client } = useSession();
  const { isBusy, error, run } = useAction();
  const params = { endpointId: endpoint.endpointId };
  const test = (): void =>
    run(async (signal) => {
      await client.testWebhookEndpoint({ params, signal });
      changed();
    });
  const toggle = (): void =>
    run(async (signal) => {
      await client.updateWebhookEndpoint({ params, body: { enabled: !endpoint.enabled }, signal });
      changed();
    });
  return (
    <div class="row-actions">
      <Button onClick={test} isBusy={isBusy}>
        Test
      </Button>
      <Button onClick={toggle} isBusy={isBusy}>
        {endpoint.enabled ? 'Disable' : 'Enable'}
      </Button>
      <Button onClick={() => ask({ verb: 'rotate', endpoint })}>Rotate</Button>
      <Button kind="quiet" onClick={() => ask({ verb: 'delete', endpoint })}>
        Delete
      </Button>
      {error !== null && <ErrorBox error={error} />}
    </div>
  );
}

interface MakeProps {
  readonly close: () => void;
  /** Gets the secret, which nobody can read again. */
  readonly made: (secret: string) => void;
}

function NewEndpoint({ close, made }: MakeProps) {
  const { client } = useSession();
  const [url, setUrl] = useState('');
  const [description, setDescription] = useState('');
  const work = async (signal: AbortSignal): Promise<void> => {
    const body = { url: url.trim(), description: description.trim() };
    made(keyOf((await client.createWebhookEndpoint({ body, signal })).body));
  };
  return (
    <ConfirmDialog title="New endpoint" verb="Create the endpoint" work={work} close={close}>
      <TextField
        label="Address"
        name="url"
        type="url"
        placeholder="https://example.com/hooks"
        maxLength={limits.outboundUrlChars}
        value={url}
        set={setUrl}
      />
      <TextField
        label="Description"
        name="description"
        isRequired={false}
        maxLength={limits.webhookDescriptionChars}
        value={description}
        set={setDescription}
      />
    </ConfirmDialog>
  );
}

interface OfEndpoint {
  readonly endpoint: WebhookEndpoint;
  readonly close: () => void;
}

function Rotate({ endpoint: { endpointId }, close, made }: OfEndpoint & MakeProps) {
  const { client } = useSession();
  return (
    <ConfirmDialog
      title="Replace the secret"
      verb="Replace the secret"
      close={close}
      work={async (signal) =>
        made(keyOf((await client.rotateWebhookSecret({ params: { endpointId }, signal })).body))
      }
    >
      <p>For {limits.webhookOverlapSeconds / 3600} hours, messages carry the signatures of both secrets.</p>
    </ConfirmDialog>
  );
}

function Delete({
  endpoint: { endpointId, url },
  close,
  deleted,
}: OfEndpoint & { readonly deleted: () => void }) {
  const { client } = useSession();
  return (
    <DeleteDialog
      title="Delete the endpoint"
      remove={(signal) => client.deleteWebhookEndpoint({ params: { endpointId }, signal })}
      deleted={deleted}
      close={close}
    >
      <p>
        <RemoteLine text={url} /> gets no more messages. Messages that wait are cancelled.
      </p>
    </DeleteDialog>
  );
}

/** The secret of `v1`, which nobody can read again, or the public key of `v1a`. */
const keyOf = ({ secret, endpoint }: IssuedSecret): string =>
  secret ?? endpoint.publicKeys[0]?.publicKey ?? '';

interface IssuedSecret {
  readonly secret: string | null;
  readonly endpoint: WebhookEndpoint;
}
