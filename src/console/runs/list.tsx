/** The runs, newest first: what was denied, and which have gaps. Tested by `test/console/runs/page.long.test.ts`. */
import { useMemo } from 'preact/hooks';
import type { Run } from '../../contract/events.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { counted } from '../parts/counted.ts';
import { Empty } from '../parts/empty.tsx';
import { Filters, periods, startOf, type Filter } from '../parts/filters.tsx';
import { Loading } from '../parts/loading.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useRowFacts, type RowFacts } from './row-facts.ts';

const filters: readonly Filter[] = [
  { name: 'q', label: 'Run', placeholder: 'Part of the id' },
  { name: 'system', label: 'AI system', placeholder: 'Id' },
  { name: 'type', label: 'Has event type', placeholder: 'tool.denied' },
  { name: 'days', label: 'Active in', options: periods },
  {
    name: 'show',
    label: 'Show',
    options: [
      { value: '', text: 'All' },
      { value: 'denied', text: 'With denied calls' },
      { value: 'gaps', text: 'With alarms' },
    ],
  },
];

export function Runs({ query }: PageProps) {
  const session = useSession();
  const [system, type, days] = [query.get('system'), query.get('type'), query.get('days')];
  // from the time when it was chosen: a list that begins later each minute would load again
  const startTime = useMemo(() => startOf(days), [days]);
  const asked = {
    startTime,
    aiSystemId: system ?? undefined,
    eventType: type ?? undefined,
  };
  const paged = usePaged({
    key: `runs ${JSON.stringify([system, type, startTime])}`,
    load: (page, signal) => session.client.listRuns({ query: { ...asked, ...page }, signal }),
    idOf: ({ runId }) => runId,
    perPage: 25,
  });
  const loaded = paged.rows ?? noRuns;
  const facts = useRowFacts(session, loaded);
  const shown = loaded.filter((run) => isShown(run, facts.get(run.runId), query));
  return (
    <>
      <PageHead title="Runs">What agents did, newest first.</PageHead>
      <Filters path={['runs']} query={query} filters={filters} />
      {paged.rows === undefined && paged.isLoading && <Loading what="the runs" />}
      {shown.length > 0 && (
        <Table caption="Runs" columns={columnsOf(facts)} rows={shown} keyOf={({ runId }) => runId} />
      )}
      {paged.rows !== undefined && shown.length === 0 && (
        <NoRuns isNone={loaded.length === 0 && query.size === 0} />
      )}
      {shown.length < loaded.length && (
        <p class="quiet">
          {shown.length.toLocaleString('en')} of {counted(loaded.length, 'loaded run')}.
        </p>
      )}
      <PagedFoot paged={paged} noun="runs" />
    </>
  );
}

const noRuns: readonly Run[] = [];

const NoRuns = ({ isNone }: { readonly isNone: boolean }) =>
  isNone ? (
    <Empty title="No runs yet">
      A run appears with its first event: <code>gov quickstart</code> records one.
    </Empty>
  ) : (
    <Empty title="No run matches">Change the filters, or show more runs.</Empty>
  );

function isShown({ runId }: Run, facts: RowFacts | undefined, query: URLSearchParams): boolean {
  const part = query.get('q') ?? '';
  if (!runId.toLowerCase().includes(part.toLowerCase())) return false;
  const show = query.get('show');
  if (show === 'denied') return (facts?.denied?.count ?? 0) > 0;
  if (show === 'gaps') return facts?.coverage?.tone === 'bad';
  return true;
}

const columnsOf = (facts: ReadonlyMap<string, RowFacts>): readonly Column<Run>[] => [
  {
    name: 'Run',
    kind: 'wide',
    cell: ({ runId, aiSystemId }) => (
      <>
        <a href={linkTo(['runs', runId])}>{runId}</a>
        {aiSystemId !== null && (
          <div class="quiet small">
            <RemoteLine text={aiSystemId} />
          </div>
        )}
      </>
    ),
  },
  {
    name: 'Last decision',
    cell: ({ lastDecision }) => (lastDecision === null ? <Dash /> : <Status>{lastDecision}</Status>),
  },
  { name: 'Events', kind: 'number', cell: ({ events }) => events.toLocaleString('en') },
  { name: 'Denied', kind: 'number', cell: ({ runId }) => <Denied facts={facts.get(runId)} /> },
  { name: 'Coverage', cell: ({ runId }) => <Coverage facts={facts.get(runId)} /> },
  { name: 'Proofs', kind: 'number', cell: ({ proofs }) => (proofs === 0 ? <Dash /> : proofs) },
  { name: 'Last activity', cell: ({ lastServerTimestamp }) => <Time at={lastServerTimestamp} /> },
];

const Dash = () => <span class="quiet">–</span>;

function Denied({ facts }: { readonly facts: RowFacts | undefined }) {
  if (facts === undefined) return <span class="quiet">…</span>;
  if (facts.denied === null || facts.denied.count === 0) return <Dash />;
  const { count, isMore } = facts.denied;
  return <strong class="bad-text">{isMore ? `${count}+` : count}</strong>;
}

function Coverage({ facts }: { readonly facts: RowFacts | undefined }) {
  if (facts === undefined) return <span class="quiet">…</span>;
  if (facts.coverage === null) return <Dash />;
  return <Status tone={facts.coverage.tone}>{facts.coverage.verdict}</Status>;
}
