/** What was sent to the endpoints in the last 30 days. */
import type { WebhookDelivery } from '../../contract/webhooks.ts';
import { useSession } from '../browser/session.tsx';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { toneOf } from '../runs/words.ts';

const perPage = 25;

export function Deliveries() {
  const { client, can } = useSession();
  const paged = usePaged({
    key: 'deliveries',
    load: async (cursor, signal) =>
      (await client.listWebhookDeliveries({ query: { limit: perPage, cursor }, signal })).body,
    idOf: ({ deliveryId }) => deliveryId,
  });
  const { rows = [] } = paged;
  if (rows.length === 0) return paged.error === null ? null : <PagedFoot paged={paged} noun="messages" />;
  return (
    <section class="section">
      <h2>Messages</h2>
      <Table
        caption="Messages"
        rows={rows}
        keyOf={({ deliveryId }) => deliveryId}
        columns={[
          { name: 'Event', cell: ({ eventType }) => eventType },
          { name: 'Status', cell: ({ status }) => <Status tone={toneOf(status)}>{status}</Status> },
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
            cell: (delivery) => can('webhooks:write') && <Again delivery={delivery} changed={paged.reload} />,
          },
        ]}
      />
      <PagedFoot paged={paged} noun="messages" />
    </section>
  );
}

interface AgainProps {
  readonly delivery: WebhookDelivery;
  readonly changed: () => void;
}

function Again({ delivery: { deliveryId, status }, changed }: AgainProps) {
  const { client } = useSession();
  const { isBusy, error, run } = useAction();
  if (status === 'pending') return null;
  const send = (): void =>
    run(async (signal) => {
      await client.redeliverWebhook({ params: { webhookDeliveryId: deliveryId }, signal });
      changed();
    });
  return (
    <>
      <Button onClick={send} isBusy={isBusy}>
        Send again
      </Button>
      {error !== null && <ErrorBox error={error} />}
    </>
  );
}
