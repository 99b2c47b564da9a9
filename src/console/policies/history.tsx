/** Who changed a policy: who wrote each version, who put it in force, and the reasons that they gave. */
import type { AuditEvent } from '../../contract/events.ts';
import { systemRun } from '../../core/events/record.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Time } from '../parts/time.tsx';
import { partyName } from '../runs/timeline.ts';

export function History({ policyId }: { readonly policyId: string }) {
  const { client } = useSession();
  const paged = usePaged({
    key: `history ${policyId}`,
    load: async (page, signal) => {
      const query = { runId: systemRun, resource: policyId, ...page };
      const { body } = await client.searchEvents({ query, signal });
      const data = body.events.filter(({ eventType }) => eventType.startsWith('policy.'));
      return { body: { data, nextCursor: body.nextCursor } };
    },
    idOf: ({ eventId }) => eventId,
  });
  return (
    <section class="card">
      <h2 class="card-head">Changes</h2>
      <PagedTable
        paged={paged}
        noun="changes"
        caption="Changes"
        columns={[
          {
            name: 'Change',
            cell: (event) => <a href={linkTo(['events', event.eventId])}>{changeOf(event)}</a>,
          },
          { name: 'By', cell: ({ actor }) => <code>{partyName(actor)}</code> },
          {
            name: 'Reason',
            kind: 'wide',
            cell: ({ metadata: { reason } }) =>
              typeof reason === 'string' ? <RemoteLine text={reason} /> : '–',
          },
          { name: 'When', cell: ({ serverTimestamp }) => <Time at={serverTimestamp} /> },
        ]}
      />
    </section>
  );
}

function changeOf({ eventType, metadata: { version, from, to } }: AuditEvent): string {
  const name = `v${String(version)}`;
  switch (eventType) {
    case 'policy.created':
      return `${name} written, as a draft`;
    case 'policy.version_added':
      return `${name} written`;
    case 'policy.published':
      return `${name} put in force`;
    case 'policy.rolled_back':
      return `${name} put in force again`;
    default:
      return `${String(from)} → ${String(to)}`;
  }
}
