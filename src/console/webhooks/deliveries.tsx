/** What was sent to the endpoints in the last 30 days. */
import type { WebhookDelivery } from '../../contract/webhooks.ts';
import { useSession } from '../browser/session.tsx';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

export function Deliveries() {
  const { client, can } = useSession();
  const paged = usePaged({
    key: 'deliveries',
    load: (query, signal) => client.listWebhookDeliveries({ query, signal }),
    idOf: ({ deliveryId }) => deliveryId,
    perPage: 25,
  });
  const { rows = [], error, reload } = paged;
  if (rows.length === 0) return error === null ? null : <ErrorBox error={error} retry={reload} />;
  return (
    <section class="section">
      <h2>Messages</h2>
      <PagedTable
        paged={paged}
        noun="messages"
        caption="Messages"
        columns={[
          { name: 'Event', cell: ({ eventType }) => eventType },
          { name: 'Status', cell: ({ status }) => <Status>{status}</Status> },
          { name: 'Attempts', kind: 'number', cell: ({ attempt }) => attempt },
          {
            name: 'Answer',
            kind: 'wide',
            cell: ({ statusCode, errorSummary }) => (
              <>
                {statusCode} <RemoteLine text={errorSummary ?? ''} />
              </>
            ),
          },
          { name: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            name: 'Actions',
            cell: (delivery) => can('webhooks:write') && <Again delivery={delivery} changed={reload} />,
          },
        ]}
      />
    </section>
  );
}

interface AgainProps {
  readonly delivery: WebhookDelivery;
  readonly changed: () => void;
}

function Again({ delivery: { deliveryId, status }, changed }: AgainProps) {
  const { client } = useSession();
  const { isBusy, error, run } = useAction(changed);
  if (status === 'pending') return null;
  const send = (): void =>
    run((signal) => client.redeliverWebhook({ params: { webhookDeliveryId: deliveryId }, signal }));
  return (
    <>
      <Button onClick={send} isBusy={isBusy}>
        Send again
      </Button>
      {error !== null && <ErrorBox error={error} />}
    </>
  );
}
