/** Endpoints of webhooks and what was sent to them. A secret is shown once. Tested by `test/console/lists.test.ts`. */
import { useState } from 'preact/hooks';
import { limits } from '../../contract/limits.ts';
import type { WebhookEndpoint } from '../../contract/webhooks.ts';
import { useSession } from '../browser/session.tsx';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds, type Dialogs } from '../parts/dialogs.tsx';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { TextField } from '../parts/field.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Deliveries } from './deliveries.tsx';

export function Webhooks() {
  const { client, can } = useSession();
  const [round, setRound] = useState(0);
  const paged = usePaged({
    key: 'endpoints',
    load: (query, signal) => client.listWebhookEndpoints({ query, signal }),
    idOf: ({ endpointId }) => endpointId,
  });
  const changed = (): void => {
    setRound(round + 1);
    paged.reload();
  };
  const { ask, dialogs } = useDialogs(changed, 'The key of the signatures');
  return (
    <>
      <PageHead
        title="Webhooks"
        actions={
          can('webhooks:write') && (
            <Button kind="main" onClick={() => ask(NewEndpoint)}>
              New endpoint
            </Button>
          )
        }
      >
        Signed messages to your programs about what happened.
      </PageHead>
      <PagedTable
        paged={paged}
        noun="endpoints"
        caption="Endpoints"
        empty={<Empty title="No endpoints yet">An endpoint is an address that gets the messages.</Empty>}
        columns={[
          { name: 'Endpoint', kind: 'wide', cell: (endpoint) => <Name endpoint={endpoint} /> },
          { name: 'Status', cell: (endpoint) => <State endpoint={endpoint} /> },
          { name: 'Events', cell: ({ events }) => (events.includes('*') ? 'all' : events.join(', ')) },
          {
            name: 'Actions',
            cell: (endpoint) =>
              can('webhooks:write') && <Actions endpoint={endpoint} ask={ask} changed={changed} />,
          },
        ]}
      />
      <Deliveries key={round} />
      {dialogs}
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

interface ActionsProps extends Pick<Dialogs, 'ask'> {
  readonly endpoint: WebhookEndpoint;
  readonly changed: () => void;
}

function Actions({ endpoint, ask, changed }: ActionsProps) {
  const { client } = useSession();
  const { isBusy, error, run } = useAction(changed);
  const params = { endpointId: endpoint.endpointId };
  const test = (): void => run((signal) => client.testWebhookEndpoint({ params, signal }));
  const toggle = (): void =>
    run((signal) => client.updateWebhookEndpoint({ params, body: { enabled: !endpoint.enabled }, signal }));
  const rotate = (): void =>
    ask(({ close, done }) => (
      <ConfirmDialog
        title="Replace the secret"
        verb="Replace the secret"
        close={close}
        work={async (signal) => done(keyOf((await client.rotateWebhookSecret({ params, signal })).body))}
      >
        <p>For {limits.webhookOverlapSeconds / 3600} hours, messages carry the signatures of both secrets.</p>
      </ConfirmDialog>
    ));
  const remove = (): void =>
    ask((ends) => (
      <ConfirmDialog
        {...ends}
        title="Delete the endpoint"
        verb="Delete"
        isDangerous
        work={(signal) => client.deleteWebhookEndpoint({ params, signal })}
      >
        <p>
          <RemoteLine text={endpoint.url} /> gets no more messages. Messages that wait are cancelled.
        </p>
      </ConfirmDialog>
    ));
  return (
    <div class="row-actions">
      <Button onClick={test} isBusy={isBusy}>
        Test
      </Button>
      <Button onClick={toggle} isBusy={isBusy}>
        {endpoint.enabled ? 'Disable' : 'Enable'}
      </Button>
      <Button onClick={rotate}>Rotate</Button>
      <Button kind="quiet" onClick={remove}>
        Delete
      </Button>
      {error !== null && <ErrorBox error={error} />}
    </div>
  );
}

function NewEndpoint({ close, done }: DialogEnds) {
  const { client } = useSession();
  const [url, setUrl] = useState('');
  const [description, setDescription] = useState('');
  const work = async (signal: AbortSignal): Promise<void> => {
    const body = { url: url.trim(), description: description.trim() };
    done(keyOf((await client.createWebhookEndpoint({ body, signal })).body));
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

/** The secret of `v1`, which nobody can read again, or the public key of `v1a`. */
const keyOf = ({ secret, endpoint }: IssuedSecret): string =>
  secret ?? endpoint.publicKeys[0]?.publicKey ?? '';

interface IssuedSecret {
  readonly secret: string | null;
  readonly endpoint: WebhookEndpoint;
}
