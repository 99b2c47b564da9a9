/**
 * One run: what happened, why, and whether it holds. Tested by `test/console/runs/page.long.test.ts` and
 * `test/console/runs/open.test.ts`.
 */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useLoad } from '../browser/load.ts';
import type { PageProps } from '../browser/page.ts';
import { goTo, linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { counted } from '../parts/counted.ts';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { NotLoaded } from '../parts/not-loaded.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Status } from '../parts/status.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { Time } from '../parts/time.tsx';
import { RunActions } from './actions.tsx';
import { EntryDetails } from './entry-details.tsx';
import { GraphView } from './graph-view.tsx';
import { useRun, type LoadedRun, type OpenRun } from './loaded.ts';
import { ProofView } from './proof-view.tsx';
import { ReplayView } from './replay-view.tsx';
import { TimelineView } from './timeline-view.tsx';
import { timelineOf, type Entry } from './timeline.ts';
import { coverageWords, recordingWords } from './words.ts';

const tabs = [
  { id: 'timeline', name: 'Timeline' },
  { id: 'graph', name: 'Causes' },
  { id: 'proof', name: 'Proof' },
  { id: 'replay', name: 'Replay' },
] as const;

export function RunPage({ params, query }: PageProps) {
  const { runId = '' } = params;
  const { client } = useSession();
  const run = useRun(client, runId);
  const tab = tabs.find(({ id }) => id === query.get('tab'))?.id ?? 'timeline';
  const eventId = query.get('event');
  const addressOf = (more: Readonly<Record<string, string | null>>): string =>
    linkTo(['runs', runId], { ...Object.fromEntries(query), ...more });
  if (run.events.length === 0 && run.error !== null)
    return <NotLoaded title={runId} up={up} what="the run" error={run.error} retry={run.reload} />;
  if (run.events.length === 0 && run.isComplete)
    return (
      <>
        <PageHead title={runId} up={up} />
        <Empty title="This project has no events of this run">
          The id may be mistyped, or retention has removed the run.
        </Empty>
      </>
    );
  return (
    <>
      <PageHead title={runId} up={up} actions={<RunActions runId={runId} events={run.events} />}>
        <RunLine run={run} />
      </PageHead>
      <CoverageLine runId={runId} news={run.news} />
      {run.isComplete && <RecordingLine events={run.events} />}
      <Tabs
        label="Views of the run"
        tabs={tabs.map(({ id, name }) => ({
          title: name,
          address: addressOf({ tab: id === 'timeline' ? null : id }),
          isCurrent: id === tab,
        }))}
      />
      {tab === 'timeline' && (
        <Timeline run={run} query={query} change={(members) => goTo(addressOf(members), { replace: true })} />
      )}
      {tab === 'graph' && (
        <GraphView
          runId={runId}
          events={run.events}
          selected={eventId}
          select={(id) => goTo(addressOf({ event: id }), { replace: true })}
        />
      )}
      {tab === 'proof' && <ProofView runId={runId} proofId={query.get('proof')} />}
      {tab === 'replay' && <ReplayView runId={runId} replayId={query.get('replay')} />}
    </>
  );
}

const up = { name: 'Runs', path: ['runs'] } as const;

function RunLine({ run: { events, isComplete } }: { readonly run: LoadedRun }) {
  const [first] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined) return <>Loading…</>;
  return (
    <>
      {first.aiSystemId !== null && <>{first.aiSystemId} · </>}
      {counted(events.length, 'event')}
      {isComplete ? '' : ' so far'} · recorded <Time at={first.serverTimestamp} exact /> to{' '}
      <Time at={last.serverTimestamp} exact />
    </>
  );
}

function CoverageLine({ runId, news }: { readonly runId: string; readonly news: number }) {
  const { client } = useSession();
  const { data, error, reload } = useLoad(
    async (signal) => coverageWords((await client.getRunCoverage({ params: { runId }, signal })).body),
    `coverage ${runId}`,
  );
  useEffect(() => {
    if (news > 0) reload();
  }, [news, reload]);
  if (error !== null) return <ErrorBox error={error} />;
  return (
    <p class="coverage-line">
      {data === undefined ? (
        <span class="quiet">Coverage…</span>
      ) : (
        <>
          <Status tone={data.tone}>{data.verdict}</Status> {data.line}
        </>
      )}
    </p>
  );
}

function RecordingLine({ events }: Pick<LoadedRun, 'events'>) {
  const words = useMemo(() => recordingWords(events), [events]);
  if (words === null) return null;
  return (
    <p class="coverage-line">
      <Status tone={words.tone}>{words.verdict}</Status> {words.line}
    </p>
  );
}

const shows = [
  { id: 'all', name: 'All' },
  { id: 'calls', name: 'Tool calls' },
  { id: 'decisions', name: 'Decisions' },
  { id: 'stopped', name: 'Denied or escalated' },
] as const;

const stopped = new Set(['deny', 'denied', 'escalate']);

function isShown({ kind, outcome }: Entry, show: string): boolean {
  if (show === 'calls') return kind === 'call' || kind === 'result';
  if (show === 'decisions') return kind === 'decision' || kind === 'approval';
  if (show === 'stopped') return kind !== 'call' && outcome !== null && stopped.has(outcome);
  return true;
}

interface TimelineProps {
  readonly run: OpenRun;
  readonly query: URLSearchParams;
  /** Sets members of the address. */
  readonly change: (members: Readonly<Record<string, string | null>>) => void;
}

function Timeline({ run, query, change }: TimelineProps) {
  const { events, evaluations, approvals, cut, error, isComplete } = run;
  const show = shows.find(({ id }) => id === query.get('show'))?.id ?? 'all';
  const all = useMemo(() => timelineOf({ events, evaluations, approvals }), [events, evaluations, approvals]);
  const entries = useMemo(() => all.filter((entry) => isShown(entry, show)), [all, show]);
  const selected = query.get('event');
  // an entry that nobody chose stays, too, while new ones arrive
  const kept = useRef<string | null>(null);
  const entry =
    all.find(({ id }) => id === selected) ??
    entries.find(({ id }) => id === kept.current) ??
    entries.find((each) => isShown(each, 'stopped')) ??
    entries[0];
  useEffect(() => {
    if (isComplete) kept.current = entry?.id ?? null;
  });
  if (all.length === 0) return <Loading what="the events" />;
  return (
    <div class="run-body">
      <div class="run-main">
        <div class="chips" role="group" aria-label="Show">
          {shows.map(({ id, name }) => (
            <button
              key={id}
              type="button"
              class="chip"
              aria-pressed={id === show}
              onClick={() => change({ show: id === 'all' ? null : id })}
            >
              {name}
            </button>
          ))}
        </div>
        {entries.length === 0 ? (
          <p class="quiet pad">{isComplete ? 'The run has none.' : 'None so far.'}</p>
        ) : (
          <TimelineView
            key={show}
            entries={entries}
            isFlat={show !== 'all'}
            selected={entry?.id ?? null}
            select={({ id }) => change({ event: id })}
          />
        )}
        {error !== null && <ErrorBox error={error} retry={isComplete ? undefined : run.reload} />}
        {cut.length > 0 && (
          <p class="cut" role="status">
            The run has more {cut.join(', ')} than this page reads. Export the run to get all of them.
          </p>
        )}
      </div>
      <aside class="run-details" aria-label="Details">
        {entry === undefined ? (
          <p class="quiet">Select a row to see all of it.</p>
        ) : (
          <>
            <EntryDetails entry={entry} />
            {entry.event !== null && <Jumps runId={entry.event.runId} eventId={entry.event.eventId} />}
          </>
        )}
      </aside>
    </div>
  );
}

const Jumps = ({ runId, eventId }: { readonly runId: string; readonly eventId: string }) => (
  <p class="jumps">
    <a href={linkTo(['runs', runId], { tab: 'graph', event: eventId })}>Causes and effects</a>
    <a href={linkTo(['runs', runId], { tab: 'proof', event: eventId })}>Proof</a>
  </p>
);
