/** Events of all runs by what they were about: which calls were denied, what an agent did with a tool. */
import { useMemo } from 'preact/hooks';
import type { AuditEvent } from '../../contract/events.ts';
import { policyActions, type PolicyAction } from '../../contract/policy-words.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { Empty } from '../parts/empty.tsx';
import { anyOf, Filters, periods, startOf, type Filter } from '../parts/filters.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { partyName } from '../runs/timeline.ts';

const filters: readonly Filter[] = [
  { name: 'decision', label: 'Decision', options: anyOf(policyActions) },
  { name: 'tool', label: 'Tool', placeholder: 'Name' },
  { name: 'actor', label: 'Actor', placeholder: 'Id or name' },
  { name: 'resource', label: 'Resource', placeholder: 'Id or name' },
  { name: 'type', label: 'Event type', placeholder: 'tool.call' },
  { name: 'days', label: 'Happened in', options: periods },
];

export function Events({ query }: PageProps) {
  const { client } = useSession();
  const text = (name: string): string | undefined => query.get(name) ?? undefined;
  const days = query.get('days');
  // from the time when it was chosen: a list that begins later each minute would load again
  const startTime = useMemo(() => startOf(days), [days]);
  const asked = {
    decision: policyActions.find((action): action is PolicyAction => action === query.get('decision')),
    tool: text('tool'),
    actor: text('actor'),
    resource: text('resource'),
    eventType: text('type'),
    startTime,
  };
  const paged = usePaged({
    key: `events ${JSON.stringify(asked)}`,
    load: async (page, signal) => {
      const { body } = await client.searchEvents({ query: { ...asked, ...page }, signal });
      return { body: { data: body.events, nextCursor: body.nextCursor } };
    },
    idOf: ({ eventId }) => eventId,
  });
  return (
    <>
      <PageHead title="Events">Of all runs, newest first.</PageHead>
      <Filters path={['events']} query={query} filters={filters} />
      <PagedTable
        paged={paged}
        noun="events"
        caption="Events"
        columns={columns}
        empty={
          <Empty title={paged.isCut ? 'None among the newest events' : 'No event matches'}>
            {paged.isCut ? 'Older events were not searched yet: show more.' : 'Change the filters.'}
          </Empty>
        }
      />
    </>
  );
}

const columns: readonly Column<AuditEvent>[] = [
  {
    name: 'Event',
    cell: ({ eventId, eventType }) => (
      <a class="word" href={linkTo(['events', eventId])}>
        <RemoteLine text={eventType} />
      </a>
    ),
  },
  {
    name: 'Decision',
    cell: ({ metadata: { decision } }) =>
      typeof decision === 'string' ? <Status>{decision.slice(0, 32)}</Status> : null,
  },
  { name: 'Actor', cell: ({ actor }) => <RemoteLine text={partyName(actor) ?? ''} /> },
  { name: 'Resource', cell: ({ resource }) => <RemoteLine text={partyName(resource) ?? ''} /> },
  {
    name: 'Run',
    cell: ({ runId, eventId }) => (
      <a class="word" href={linkTo(['runs', runId], { event: eventId })}>
        {runId}
      </a>
    ),
  },
  { name: 'Recorded', cell: ({ serverTimestamp }) => <Time at={serverTimestamp} /> },
];
