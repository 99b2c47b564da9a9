/** Replays of a run: whether its recorded decisions come out the same, and where they drift. */
import { limits } from '../../contract/limits.ts';
import type { ReplayResult, ReplaySummary } from '../../contract/replay.ts';
import { useLoad } from '../browser/load.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { jobEnd, useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status, toneOf } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

interface ReplayProps {
  readonly runId: string;
  /** The one that the address names; null for the newest. */
  readonly replayId: string | null;
}

export function ReplayView({ runId, replayId }: ReplayProps) {
  const { client } = useSession();
  const { data, error, reload } = useLoad(
    async (signal) =>
      (await client.listReplays({ query: { runId, limit: limits.pageMax }, signal })).body.data,
    `replays ${runId}`,
  );
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  if (data === undefined) return <Loading what="the replays" />;
  const shown = data.find((replay) => replay.replayId === replayId) ?? data[0];
  return (
    <div class="stack pad">
      {shown === undefined ? (
        <Empty title="This run was not replayed yet" action={<Start runId={runId} done={reload} />}>
          A replay decides again what was decided, from the recorded inputs, and compares. It runs no model
          and no tool.
        </Empty>
      ) : (
        <>
          <div class="proof-head">
            <Summary replay={shown} />
            <Start runId={runId} done={reload} />
          </div>
          {shown.status === 'completed' && <Result key={shown.replayId} replayId={shown.replayId} />}
          {data.length > 1 && <Others replays={data} shown={shown} />}
        </>
      )}
    </div>
  );
}

const Summary = ({
  replay: { status, createdAt, driftCount, warningsCount, error },
}: {
  readonly replay: ReplaySummary;
}) => (
  <p>
    {/* a replay without a snapshot to compare says so in a warning */}
    <Status tone={driftCount > 0 ? 'bad' : warningsCount > 0 ? 'plain' : toneOf(status)}>
      {status !== 'completed'
        ? status
        : driftCount > 0
          ? `${driftCount} drifted`
          : warningsCount > 0
            ? 'no drift found'
            : 'no drift'}
    </Status>{' '}
    Replayed <Time at={createdAt} exact />
    {error !== null && <>: {error.message}</>}
  </p>
);

function Start({ runId, done }: { readonly runId: string; readonly done: () => void }) {
  const { client, can } = useSession();
  const { isBusy, error, run } = useAction(done);
  if (!can('replay:write')) return null;
  const start = (): void =>
    run(async (signal) => {
      const { jobId } = (await client.createReplay({ body: { runId }, signal })).body;
      await jobEnd(client, jobId, signal);
    });
  return (
    <>
      <Button kind="main" onClick={start} isBusy={isBusy}>
        {isBusy ? 'Replaying…' : 'Replay the decisions'}
      </Button>
      {error !== null && <ErrorBox error={error} />}
    </>
  );
}

function Result({ replayId }: { readonly replayId: string }) {
  const { client } = useSession();
  const { data, error, reload } = useLoad(
    async (signal) => (await client.getReplay({ params: { replayId }, signal })).body,
    `replay ${replayId}`,
  );
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  if (data === undefined) return <Loading what="the result" />;
  const { summary, driftDiagnostics, warnings } = data;
  return (
    <>
      <dl class="facts">
        <dt>Steps</dt>
        <dd>
          {summary.steps}: {summary.match} match, {summary.mismatch} differ, {summary.missing} missing,{' '}
          {summary.extra} extra, {summary.notReplayable} not replayable
        </dd>
        {summary.firstDivergence !== null && (
          <>
            <dt>First difference</dt>
            <dd>at step {summary.firstDivergence}</dd>
          </>
        )}
      </dl>
      {warnings.map((warning) => (
        <p key={warning}>
          <RemoteLine text={warning} />
        </p>
      ))}
      {driftDiagnostics.length > 0 && <Drifts drifts={driftDiagnostics} />}
      <Differences result={data} />
    </>
  );
}

const Drifts = ({ drifts }: { readonly drifts: ReplayResult['driftDiagnostics'] }) => (
  <section>
    <h2>Drift</h2>
    <Table
      caption="Drift"
      rows={drifts}
      keyOf={({ field }) => field}
      columns={[
        { name: 'What', cell: ({ field }) => <RemoteLine text={field} /> },
        { name: 'Recorded', cell: ({ expected }) => <RemoteLine text={expected} /> },
        { name: 'Now', cell: ({ actual }) => <RemoteLine text={actual} />, kind: 'wide' },
        {
          name: 'Severity',
          cell: ({ severity }) => (
            <Status tone={severity === 'high' || severity === 'critical' ? 'bad' : 'wait'}>{severity}</Status>
          ),
        },
      ]}
    />
  </section>
);

/** Steps that are listed; the export of replays has all of them. */
const listedSteps = 100;

function Differences({ result: { steps, runId, truncated } }: { readonly result: ReplayResult }) {
  const differing = steps.filter(({ status }) => status !== 'match');
  if (differing.length === 0) return null;
  return (
    <section>
      <h2>Steps that do not match</h2>
      <Table
        caption="Steps that do not match"
        rows={differing.slice(0, listedSteps)}
        keyOf={({ index }) => String(index)}
        columns={[
          {
            name: 'Step',
            cell: ({ index, eventId }) => <a href={linkTo(['runs', runId], { event: eventId })}>{index}</a>,
          },
          { name: 'Status', cell: ({ status }) => status.replace('_', ' ') },
          { name: 'Event', cell: ({ eventType }) => <RemoteLine text={eventType} /> },
          { name: 'Difference', cell: ({ detail = '' }) => <RemoteLine text={detail} />, kind: 'wide' },
        ]}
      />
      {(differing.length > listedSteps || truncated === true) && (
        <p class="cut">There are more than the {Math.min(listedSteps, differing.length)} steps above.</p>
      )}
    </section>
  );
}

const Others = ({
  replays,
  shown,
}: {
  readonly replays: readonly ReplaySummary[];
  readonly shown: ReplaySummary;
}) => (
  <p class="quiet">
    Other replays:{' '}
    {replays
      .filter(({ replayId }) => replayId !== shown.replayId)
      .slice(0, 10)
      .map(({ replayId, runId, createdAt }) => (
        <a key={replayId} class="listed" href={linkTo(['runs', runId], { tab: 'replay', replay: replayId })}>
          <Time at={createdAt} />
        </a>
      ))}
  </p>
);
