/** Events of all runs by what they were about: which calls were denied, what an agent did with a tool. */
import { useMemo } from 'preact/hooks';
import type { AuditEvent } from '../../contract/events.ts';
import { policyActions, type PolicyAction } from '../../contract/policy-words.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { Empty } from '../parts/empty.tsx';
import { Filters, periods, startOf, type Filter } from '../parts/filters.tsx';
import { Loading } from '../parts/loading.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { partyName } from '../runs/timeline.ts';
import { toneOf } from '../runs/words.ts';

const filters: readonly Filter[] = [
  {
    name: 'decision',
    label: 'Decision',
    options: [
      { value: '', text: 'Any' },
      ...policyActions.map((action) => ({ value: action, text: action })),
    ],
  },
  { name: 'tool', label: 'Tool', placeholder: 'Name' },
  { name: 'actor', label: 'Actor', placeholder: 'Id or name' },
  { name: 'resource', label: 'Resource', placeholder: 'Id or name' },
  { name: 'type', label: 'Event type', placeholder: 'tool.call' },
  { name: 'days', label: 'Happened in', options: periods },
];

const perPage = 50;

export function Events({ query }: PageProps) {
  const { client } = useSession();
  const text = (name: string): string | undefined => query.get(name) ?? undefined;
  const days = query.get('days');
  // from the time when it was chosen: a list that begins later each minute would load again
  const startTime = useMemo(() => startOf(days), [days]);
  const asked = {
    limit: perPage,
    decision: policyActions.find((action): action is PolicyAction => action === query.get('decision')),
    tool: text('tool'),
    actor: text('actor'),
    resource: text('resource'),
    eventType: text('type'),
    startTime,
  };
  const paged = usePaged({
    key: `events ${JSON.stringify(asked)}`,
    load: async (cursor, signal) => {
      const { body } = await client.searchEvents({ query: { ...asked, cursor }, signal });
      return { data: body.events, nextCursor: body.nextCursor };
    },
    idOf: ({ eventId }) => eventId,
  });
  const { rows } = paged;
  return (
    <>
      <PageHead title="Events">Of all runs, newest first.</PageHead>
      <Filters path={['events']} query={query} filters={filters} />
      {rows === undefined && paged.isLoading && <Loading what="the events" />}
      {rows !== undefined && rows.length > 0 && (
        <Table caption="Events" columns={columns} rows={rows} keyOf={({ eventId }) => eventId} />
      )}
      {rows !== undefined && rows.length === 0 && (
        <Empty title={paged.isCut ? 'None among the newest events' : 'No event matches'}>
          {paged.isCut ? 'Older events were not searched yet: show more.' : 'Change the filters.'}
        </Empty>
      )}
      <PagedFoot paged={paged} noun="events" />
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
      typeof decision === 'string' ? <Status tone={toneOf(decision)}>{decision.slice(0, 32)}</Status> : null,
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
